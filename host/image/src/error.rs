//! Why nothing was built

use std::io;
use std::path::Path;

use bulkhead_model::Diagnostic;
use bulkhead_model::system::{Span, System};
use bulkhead_plan::PlanError;

/// What is wrong, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BuildError {
    /// Stable name of the kind of error.
    pub id: &'static str,
    /// The part of the description concerned.
    pub span: Option<Span>,
    /// What is wrong, in the names of the description.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// What a program that was called had to say; for a compiler, its messages.
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
        let place = self.span.clone().unwrap_or(0..0);
        system
            .error(self.id, &place, self.message.clone())
            .help(self.help.clone())
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
