//! A description can be read

use crate::diagnostic::Diagnostic;

crate::rules::declaration::rule! {
    Error, "description-unreadable",
    "a description is a readable UTF-8 text",
    "A system is named by its folder, which holds `system.toml`, or by the path of a description. \
     The text must be UTF-8, as TOML demands."
}

/// The file cannot be read.
pub(crate) fn unreadable(path: &str, reason: &str) -> Diagnostic {
    RULE.at(&(0..0), format!("cannot read `{path}`: {reason}")).help(
        "name a folder that holds a `system.toml`, or a description; `bulkhead new NAME` makes one",
    )
}

/// The text is no UTF-8; `start` is the offset of the first byte that is not.
pub(crate) fn not_utf8(path: &str, start: usize) -> Diagnostic {
    let message = format!("`{path}` is not UTF-8");
    RULE.at(&(start..start), message)
        .here("from here")
        .help("save it as UTF-8; is it a description at all?")
}

/// The rules found nothing, and yet no system could be made of it.
pub(crate) fn unresolved() -> Diagnostic {
    RULE.at(
        &(0..0),
        "this description passes every rule and cannot be resolved",
    )
    .help("that is a mistake of the tool: please report it with the description")
}
