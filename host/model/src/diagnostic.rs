//! Diagnostics about a description
//!
//! A diagnostic names the rule, the place, the problem and the remedy. It contains the texts to
//! which it points, so that it can be displayed anywhere.

use crate::source::{Place, Sources, Span, printable_text};
use std::collections::HashSet;
use std::sync::Arc;

/// How much it matters, most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The description is refused.
    Error,
    /// Probably not what was meant.
    Warning,
    /// A disadvantage of a choice, shown on request.
    Note,
}

impl Severity {
    /// `error`, `warning`, `note`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A remark at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// The remark; may be empty.
    pub text: String,
}

/// One message.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The rule's id; `bulkhead explain ID` tells more.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// Place of the problem.
    pub span: Span,
    /// The problem, in the names of the description.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
    /// Remarks, the one at `span` first.
    pub labels: Vec<Label>,
    /// The texts that spans point into.
    pub sources: Arc<Sources>,
}

impl Diagnostic {
    /// An error at a place, without texts yet.
    #[must_use]
    pub fn new(id: &'static str, severity: Severity, span: &Span, message: String) -> Self {
        let here = Label {
            span: span.clone(),
            text: String::new(),
        };
        Self {
            id,
            severity,
            span: span.clone(),
            message: printable_text(&message),
            help: None,
            labels: vec![here],
            sources: Arc::default(),
        }
    }

    /// Adds a remark at the place of the problem.
    #[must_use]
    pub fn here(mut self, text: impl Into<String>) -> Self {
        self.labels[0].text = printable_text(&text.into());
        self
    }

    /// Adds a remark at another place.
    #[must_use]
    pub fn label(mut self, span: &Span, text: impl Into<String>) -> Self {
        self.labels.push(Label {
            span: span.clone(),
            text: printable_text(&text.into()),
        });
        self
    }

    /// Adds advice.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(printable_text(&text.into()));
        self
    }

    /// Points into these texts.
    #[must_use]
    pub fn within(mut self, sources: &Arc<Sources>) -> Self {
        self.sources = Arc::clone(sources);
        self
    }

    /// File, line and column; `None` where it concerns no text.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        self.sources.place(&self.span)
    }
}

/// Messages in the making.
#[derive(Debug, Default)]
pub(crate) struct Report {
    found: Vec<Diagnostic>,
}

impl Report {
    /// Takes one in.
    pub(crate) fn add(&mut self, diagnostic: Diagnostic) {
        self.found.push(diagnostic);
    }

    /// Takes in all of another report.
    pub(crate) fn take(&mut self, other: Self) {
        self.found.extend(other.found);
    }

    /// Forgets what was found from an offset of the first text on, where that cannot be trusted.
    pub(crate) fn keep_before(&mut self, offset: Option<usize>) {
        self.found
            .retain(|found| offset.is_none_or(|offset| found.span.start < offset));
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.found
            .iter()
            .any(|found| found.severity == Severity::Error)
    }

    /// All of them in the order of the text, each once.
    pub(crate) fn finish(mut self, sources: &Arc<Sources>) -> Vec<Diagnostic> {
        let mut reported = HashSet::new();
        self.found
            .retain(|one| reported.insert((one.id, one.span.clone(), one.message.clone())));
        self.found
            .sort_by_key(|found| (found.span.start, found.severity));
        self.found
            .into_iter()
            .map(|found| found.within(sources))
            .collect()
    }
}
