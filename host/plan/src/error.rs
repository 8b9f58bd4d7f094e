//! Why a checked description has no plan

use bulkhead_model::Diagnostic;
use bulkhead_model::system::{Span, System};

/// A description that passes every rule and still cannot be planned: something runs out, or an
/// image does not fit where it must go.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PlanError {
    /// Stable name of the kind of error.
    pub id: &'static str,
    /// The part of the description concerned.
    pub span: Option<Span>,
    /// The fact, in the names of the description.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl PlanError {
    /// The error as the description's other errors are shown.
    #[must_use]
    pub fn diagnostic(&self, system: &System) -> Diagnostic {
        let place = self.span.clone().unwrap_or(0..0);
        system
            .error(self.id, &place, self.message.clone())
            .help(self.help.clone())
    }

    /// An error without a place in the description.
    pub(crate) fn new(id: &'static str, message: String, help: &str) -> Self {
        Self {
            id,
            span: None,
            message,
            help: help.into(),
        }
    }

    /// Adds a place.
    pub(crate) fn at(mut self, span: &Span) -> Self {
        self.span = Some(span.clone());
        self
    }

    /// The plan contradicts itself: a defect of the tool, never of the description.
    pub(crate) fn internal(message: String) -> Self {
        let help = "this is a defect of bulkhead; please report it with the description";
        Self::new("internal", format!("self-check failed: {message}"), help)
    }
}
