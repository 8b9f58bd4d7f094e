//! A description is TOML

use crate::diagnostic::Diagnostic;
use crate::document::SyntaxError;

crate::rules::declaration::rule! {
    Error, "syntax",
    "a description is TOML",
    "The text must follow TOML 1.0. After a mistake the rest is read as well as it can be, and \
     checked, so one run shows all mistakes."
}

/// Advice by what the parser says.
const ADVICE: &[(&str, &str)] = &[
    (
        "string values must be quoted",
        "put texts in quotes: `memory = \"256 KiB\"`",
    ),
    ("invalid basic string", "close the text with `\"`"),
    ("unclosed array", "close the list with `]`"),
    ("unclosed inline table", "close the table with `}`"),
    ("unclosed table", "close the header with `]`"),
    ("expected newline", "one key per line"),
    ("missing comma", "separate the items by commas"),
];

/// Faults after which the rest of the text may belong elsewhere.
const STRUCTURAL: &[&str] = &[
    "unclosed",
    "missing comma",
    "unexpected",
    "cannot extend",
    "recurs",
    "expected newline",
];

pub(crate) fn broken(error: &SyntaxError) -> Diagnostic {
    let found = RULE
        .at(&error.span, format!("this is not TOML: {}", error.message))
        .here("here");
    let advice = ADVICE.iter().find(|(text, _)| error.message.contains(text));
    match advice {
        Some((_, advice)) => found.help(*advice),
        None => found,
    }
}

/// Returns whether what follows may be misread.
pub(crate) fn is_structural(error: &SyntaxError) -> bool {
    STRUCTURAL.iter().any(|text| error.message.contains(text))
}
