//! Numbers are within the range of their key

use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::registry::Key;

crate::rules::declaration::rule! {
    Error, "number-out-of-range",
    "a number is within the range of its key",
    "No count, address or number may be negative, and each has a largest value that makes sense."
}

pub(crate) fn found(key: &Key, node: &Node, number: i128, max: u64) -> Diagnostic {
    let message = match number < 0 {
        true => format!("`{}` cannot be negative", key.name()),
        false => format!("`{}` cannot be {number}", key.name()),
    };
    RULE.at(&node.span, message)
        .here("out of range")
        .help(format!("at most {max}; for example `{}`", key.example))
}
