//! A choice is one of those offered

use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::registry::{Key, quoted};
use crate::suggestion::nearest;

crate::rules::declaration::rule! {
    Error, "unknown-value",
    "a choice is one of those the key offers",
    "`bulkhead explain KEY` tells what each of them means."
}

pub(crate) fn found(key: &Key, node: &Node, word: &str, names: &[&str]) -> Diagnostic {
    let found = RULE
        .at(&node.span, format!("`{}` cannot be \"{word}\"", key.name()))
        .here(format!("one of {}", quoted(names)));
    match nearest(word, names.iter().copied()) {
        Some(name) => found.help(format!("did you mean \"{name}\"?")),
        None => found.help(format!(
            "`bulkhead explain {}` tells what they mean",
            key.name()
        )),
    }
}
