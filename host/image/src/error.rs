//! Why nothing was built

use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use bulkhead_model::source::Sources;
use bulkhead_model::system::{Span, System};
use bulkhead_model::{Diagnostic, Severity};
use bulkhead_plan::PlanError;

/// An error of a build: fact, place, remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BuildError {
    /// Stable name of the kind of error.
    pub id: &'static str,
    /// The part of the description concerned.
    pub span: Option<Span>,
    /// The fact, in the names of the description.
    pub message: String,
    /// The remedy.
    pub help: String,
    /// Output of a program that was called; of a compiler, its messages.
    pub detail: Option<String>,
}

impl BuildError {
    pub(crate) fn new(id: &'static str, message: String, help: &str) -> Self {
        Self {
            id,
            span: None,
            message,
            help: help.into(),
            detail: None,
        }
    }

    pub(crate) fn at(mut self, span: &Span) -> Self {
        self.span = Some(span.clone());
        self
    }

    pub(crate) fn detail(mut self, detail: String) -> Self {
        self.detail = Some(detail).filter(|text| !text.trim().is_empty());
        self
    }

    /// A part of the project itself is not as it must be.
    pub(crate) fn internal(message: String) -> Self {
        let help = "this is a defect of bulkhead; please report it with the description";
        Self::new("internal", message, help)
    }

    /// A file that cannot be read.
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Self {
        let message = format!("cannot read `{}`: {error}", path.display());
        Self::new(
            "file-unreadable",
            message,
            "check the path and its permissions",
        )
    }

    /// A file that cannot be written.
    pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Self {
        let message = format!("cannot write `{}`: {error}", path.display());
        let help = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "free some space there; nothing half-written was left behind"
            }
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                "choose another output folder, or change its permissions"
            }
            _ => "check the output folder",
        };
        Self::new("output-unwritable", message, help)
    }

    /// The error as the description's own errors are shown; without [`Self::detail`].
    #[must_use]
    pub fn diagnostic(&self, system: &System) -> Diagnostic {
        let found = match (self.in_source(), &self.span) {
            (Some(found), _) => found,
            (None, Some(span)) => system.error(self.id, span, self.message.clone()),
            // Of no place in the description: none is shown.
            (None, None) => self.at_span(&(0..0)),
        };
        found.help(self.help.clone())
    }

    fn at_span(&self, span: &Span) -> Diagnostic {
        Diagnostic::new(self.id, Severity::Error, span, self.message.clone())
    }

    /// The first error of a compiler, at its place in that file.
    fn in_source(&self) -> Option<Diagnostic> {
        let lines = self.detail.as_deref()?.lines();
        let place = Place::first(lines)?;
        let source = fs::read_to_string(place.file).ok()?;
        let before: usize = source
            .split_inclusive('\n')
            .take(place.line.saturating_sub(1))
            .map(str::len)
            .sum();
        let at = before + place.column.saturating_sub(1);
        let at = source.floor_char_boundary(at.min(source.len()));
        let mut sources = Sources::default();
        sources.add(place.file.to_owned(), &source);
        let found = self.at_span(&(at..at)).here(place.text.to_owned());
        Some(found.within(&Arc::new(sources)))
    }
}

/// An error of a compiler and its place.
#[derive(Debug, PartialEq, Eq)]
struct Place<'t> {
    file: &'t str,
    line: usize,
    column: usize,
    text: &'t str,
}

impl<'t> Place<'t> {
    /// The first of some messages.
    fn first(lines: impl Iterator<Item = &'t str>) -> Option<Self> {
        // The text of an error of rustc, which precedes its place.
        let mut text = None;
        for line in lines {
            if line.starts_with("error") {
                text = line.split_once(": ").map(|(_, text)| text);
            }
            let found = match (line.trim_start().strip_prefix("--> "), text) {
                (Some(place), Some(text)) => Self::at(place, text),
                _ => Self::of(line),
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// `FILE:LINE:COLUMN: error: TEXT` of gcc, or `FILE:LINE: undefined reference to TEXT` of the linker.
    fn of(line: &'t str) -> Option<Self> {
        for mark in [": error: ", ": fatal error: "] {
            if let Some((place, text)) = line.split_once(mark) {
                return Self::at(place, text);
            }
        }
        let at = line.find(": undefined reference to ")?;
        let (place, text) = (line.get(..at)?, line.get(at + 2..)?);
        // The linker's own name may precede the place.
        let place = place.rsplit_once(": ").map_or(place, |(_, place)| place);
        let (file, line) = place.rsplit_once(':')?;
        Some(Self {
            file,
            line: line.parse().ok()?,
            column: 1,
            text,
        })
    }

    /// `FILE:LINE:COLUMN`.
    fn at(place: &'t str, text: &'t str) -> Option<Self> {
        let mut parts = place.rsplitn(3, ':');
        let column = parts.next()?.parse().ok()?;
        let line = parts.next()?.parse().ok()?;
        let file = parts.next()?;
        Some(Self {
            file,
            line,
            column,
            text,
        })
    }
}

impl From<PlanError> for BuildError {
    fn from(error: PlanError) -> Self {
        let PlanError {
            id,
            span,
            message,
            help,
        } = error;
        Self {
            id,
            span,
            message,
            help,
            detail: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_compiler_is_at_its_place() {
        let file = std::env::temp_dir().join(format!("bulkhead-error-{}.h", std::process::id()));
        fs::write(&file, "int one;\nint tow(void) { return two; }\n").expect("a file");
        let detail = format!(
            "In file included from main.c:1:\n{0}:2:24: error: 'two' undeclared\n{0}:0:0: error: x\n",
            file.display()
        );
        let error = BuildError::new("source-build", "it failed".into(), "mend it").detail(detail);
        let found = error.in_source().expect("a place");
        let place = found.place().expect("in the file");
        assert_eq!((place.line, place.column), (2, 24));
        assert_eq!(found.labels[0].text, "'two' undeclared");
        fs::remove_file(&file).expect("its own");
        assert!(error.in_source().is_none());
    }

    #[test]
    fn errors_of_linker_and_rustc_have_places() {
        let first = |text: &'static str| {
            let place = Place::first(text.lines()).expect("a place");
            (place.file, place.line, place.column, place.text)
        };
        let linker =
            "ld: /tmp/a.0.o: in function `main':\nld: /app/main.c:7: undefined reference to `foo'";
        let text = "undefined reference to `foo'";
        assert_eq!(first(linker), ("/app/main.c", 7, 1, text));
        let rustc =
            "   Compiling x\nerror[E0425]: cannot find value `y`\n --> /app/src/main.rs:9:5\n";
        let text = "cannot find value `y`";
        assert_eq!(first(rustc), ("/app/src/main.rs", 9, 5, text));
        assert_eq!(Place::first("warning: x\n --> a:1:2".lines()), None);
    }
}
