//! Times have a number and a unit

use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::registry::Key;

crate::rules::declaration::rule! {
    Error, "bad-time",
    "a time is a number and a unit",
    "Units are ns, us, ms, s, min and h; `1.5 ms` is allowed where it is a whole number of \
     nanoseconds."
}

pub(crate) fn found(key: &Key, node: &Node, problem: &str) -> Diagnostic {
    RULE.at(
        &node.span,
        format!("`{}` is no time: {problem}", key.name()),
    )
    .here("not a time")
    .help(format!("for example `{}`", key.example))
}
