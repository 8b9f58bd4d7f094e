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
        let found = match (&self.span, self.in_source()) {
            (Some(span), _) => system.error(self.id, span, self.message.clone()),
            (None, Some(found)) => found,
            // Of no place in the description: none is shown.
            (None, None) => self.at_span(&(0..0)),
        };
        found.help(self.help.clone())
    }

    fn at_span(&self, span: &Span) -> Diagnostic {
        Diagnostic::new(self.id, Severity::Error, span, self.message.clone())
    }

    /// The first error of a compiler, `FILE:LINE:COLUMN: error: TEXT`, at its place in that file.
    fn in_source(&self) -> Option<Diagnostic> {
        let lines = self.detail.as_deref()?.lines();
        let errors = lines.filter_map(|line| {
            let (place, text) = line
                .split_once(": error: ")
                .or_else(|| line.split_once(": fatal error: "))?;
            let mut parts = place.rsplitn(3, ':');
            let column: usize = parts.next()?.parse().ok()?;
            let line: usize = parts.next()?.parse().ok()?;
            Some((parts.next()?, line, column, text))
        });
        let (file, line, column, text) = errors.into_iter().next()?;
        let source = fs::read_to_string(file).ok()?;
        let before: usize = source
            .split_inclusive('\n')
            .take(line.saturating_sub(1))
            .map(str::len)
            .sum();
        let at = source.floor_char_boundary((before + column.saturating_sub(1)).min(source.len()));
        let mut sources = Sources::default();
        sources.add(file.to_owned(), &source);
        let found = self.at_span(&(at..at)).here(text.to_owned());
        Some(found.within(&Arc::new(sources)))
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
}
