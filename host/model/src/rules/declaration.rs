//! Rules and their declaration, one per file

use crate::diagnostic::{Diagnostic, Report, Severity};
use crate::draft::Draft;
use crate::pipes::solution::Solution;
use crate::source::Span;

/// A rule.
pub(crate) struct Rule {
    /// Its name, kebab-case.
    pub(crate) id: &'static str,
    pub(crate) severity: Severity,
    /// The required property, in one sentence.
    pub(crate) summary: &'static str,
    /// Why, and what to do.
    pub(crate) reason: &'static str,
    /// A description that breaks it.
    pub(crate) example: &'static [u8],
    pub(crate) check: Check,
}

/// Input of a rule.
#[derive(Clone, Copy)]
pub(crate) enum Check {
    /// Single values: the reader of the value applies the rule.
    Value,
    /// A whole draft.
    Draft(fn(&Draft, &mut Report)),
    /// A draft with the solution of its pipes.
    Solution(fn(&Solution<'_>, &mut Report)),
}

impl Rule {
    /// A message of this rule.
    pub(crate) fn at(&self, span: &Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.id, self.severity, span, message.into())
    }
}

/// Declares a file's rule: severity and folder of the example, id, summary, reason, and the check,
/// if it applies to a whole draft, or to `solved:` pipes.
macro_rules! rule {
    ($severity:ident, $id:literal, $summary:literal, $reason:literal $(, $($check:tt)+)?) => {
        pub(crate) const RULE: $crate::rules::declaration::Rule = $crate::rules::declaration::Rule {
            id: $id,
            severity: $crate::diagnostic::Severity::$severity,
            summary: $summary,
            reason: $reason,
            example: include_bytes!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../tests/golden/",
                $crate::rules::declaration::folder!($severity),
                "/",
                $id,
                "/system.toml"
            )),
            check: $crate::rules::declaration::check!($($($check)+)?),
        };
    };
}

/// Folder of the examples of a severity.
macro_rules! folder {
    (Error) => {
        "reject"
    };
    (Warning) => {
        "warn"
    };
    (Note) => {
        "note"
    };
}

/// Returns the [`Check`] for the form in which a rule gives its function.
macro_rules! check {
    () => {
        $crate::rules::declaration::Check::Value
    };
    (solved: $check:expr) => {
        $crate::rules::declaration::Check::Solution($check)
    };
    ($check:expr) => {
        $crate::rules::declaration::Check::Draft($check)
    };
}

pub(crate) use {check, folder, rule};
