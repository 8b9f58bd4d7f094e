//! Values have the type of their key

use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::registry::{Key, Shape};

crate::rules::declaration::rule! {
    Error, "wrong-type",
    "every value has the type of its key",
    "Sizes and times are texts with a unit, counts are whole numbers, choices are texts; nothing is \
     converted silently."
}

pub(crate) fn found(key: &Key, node: &Node) -> Diagnostic {
    let expected = key.shape.expectation();
    let message = format!(
        "`{}` must be {expected}, not {}",
        key.name(),
        node.value.description()
    );
    let found = RULE
        .at(&node.span, message)
        .here(format!("this is {}", node.value.description()));
    match key.shape {
        Shape::Named => found.help(format!("write `{}`, a table for each", key.example)),
        _ => found.help(format!("for example `{}`", key.example)),
    }
}
