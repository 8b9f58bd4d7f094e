//! The board is known

use crate::diagnostic::Diagnostic;
use crate::document::At;
use crate::suggestion::advice;

crate::rules::declaration::rule! {
    Error, "unknown-board",
    "`system.board` names a board file",
    "A board is a file in `boards/`, or one of your own named by its path. `boards/qemu-virt.toml` shows \
     what stands in it."
}

/// No file of `boards` has that name.
pub(crate) fn unknown(name: &At<String>, names: &[&str]) -> Diagnostic {
    RULE.at(&name.span, format!("there is no board `{}`", name.value))
        .here("unknown board")
        .help(advice(&name.value, "board", names))
}

/// The file named cannot be read.
pub(crate) fn unreadable(name: &At<String>, path: &str, reason: &str) -> Diagnostic {
    RULE.at(
        &name.span,
        format!("cannot read the board file `{}`", name.value),
    )
    .here(reason)
    .help(format!("it was looked for at {path}"))
}
