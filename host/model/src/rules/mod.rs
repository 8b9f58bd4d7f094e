//! The rules: one file each, with one id and a rejecting example
//!
//! A rule says what must hold and why. Most look at a draft as a whole; those about single values
//! are called where the value is read. The example of each is a description in `tests/golden/`
//! which the rule refuses, or warns about; it is compiled in for `bulkhead explain`.

use crate::diagnostic::{Diagnostic, Report, Severity};
use crate::draft::Draft;
use crate::system::Span;

mod bridge;
mod channels;
mod colours;
mod components;
mod cores;
mod devices;
mod freedom;
mod images;
mod memory;
pub(crate) mod pipes;
mod policy;
pub(crate) mod shape;
mod standby;
pub(crate) mod system;
pub(crate) mod time;

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
    /// Looks at a whole draft.
    pub(crate) check: Option<fn(&Draft, &mut Report)>,
}

impl Rule {
    /// A message of this rule.
    pub(crate) fn at(&self, span: &Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.id, self.severity, span, message.into())
    }
}

/// Declares a file's rule: severity and folder of the example, id, summary, reason, and the check,
/// if it applies to a whole draft.
macro_rules! rule {
    ($severity:ident, $id:literal, $summary:literal, $reason:literal $(, $check:expr)?) => {
        pub(crate) const RULE: $crate::rules::Rule = $crate::rules::Rule {
            id: $id,
            severity: $crate::diagnostic::Severity::$severity,
            summary: $summary,
            reason: $reason,
            example: include_bytes!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../tests/golden/",
                $crate::rules::folder!($severity),
                "/",
                $id,
                "/system.toml"
            )),
            check: $crate::rules::optional!($($check)?),
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

/// `Some` of what is there, or `None`.
macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

pub(crate) use {folder, optional, rule};

/// All rules by subject, in the order of the reference.
pub(crate) const GROUPS: &[(&str, &[&Rule])] = &[
    ("The text", shape::RULES),
    ("The system", system::RULES),
    ("Cores", cores::RULES),
    ("Memory", memory::RULES),
    ("Devices and consoles", devices::RULES),
    ("Images", images::RULES),
    ("Components", components::RULES),
    ("Channels", channels::RULES),
    ("Page colours", colours::RULES),
    ("Policies", policy::RULES),
    ("Standby partitions", standby::RULES),
    ("Time", time::RULES),
    ("Pipes", pipes::RULES),
    ("Endpoints beyond the machine", bridge::RULES),
    ("Freedoms and their price", freedom::RULES),
];

/// All rules.
pub(crate) fn all() -> impl Iterator<Item = &'static Rule> {
    GROUPS.iter().flat_map(|(_, rules)| rules.iter().copied())
}

/// Applies every rule to a draft.
pub(crate) fn check(draft: &Draft, report: &mut Report) {
    all()
        .filter_map(|rule| rule.check)
        .for_each(|check| check(draft, report));
}
