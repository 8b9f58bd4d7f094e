//! Sizes have a number and a unit

use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::registry::Key;

crate::rules::declaration::rule! {
    Error, "bad-size",
    "a size is a number and a unit",
    "Units are B, KiB, MiB, GiB and TiB, powers of 1024; `1.5 MiB` is allowed where it is a whole \
     number of bytes. A plain whole number is bytes."
}

pub(crate) fn found(key: &Key, node: &Node, problem: &str) -> Diagnostic {
    RULE.at(
        &node.span,
        format!("`{}` is no size: {problem}", key.name()),
    )
    .here("not a size")
    .help(format!("for example `{}`", key.example))
}
