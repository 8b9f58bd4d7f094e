//! Every key is known

use crate::diagnostic::Diagnostic;
use crate::document::At;
use crate::registry::{Key, Registry};
use crate::suggestion::{listed, nearest};

crate::rules::declaration::rule! {
    Error, "unknown-key",
    "every key is one that the tool knows",
    "An unknown key is misspelt or stands in the wrong table, and would have no effect. `bulkhead explain all` lists \
     all keys."
}

/// The key is none of those below `path`.
pub(crate) fn found(registry: Registry, path: &str, key: &At<String>) -> Diagnostic {
    let siblings: Vec<_> = registry.below(path).map(Key::name).collect();
    let message = format!("there is no key `{}`{}", key.value, place(path));
    let found = RULE.at(&key.span, message).here("unknown key");
    if let Some(name) = nearest(&key.value, siblings.iter().copied()) {
        return found.help(format!("did you mean `{name}`?"));
    }
    match registry.keys().find(|entry| entry.name() == key.value) {
        Some(entry) => found.help(format!(
            "`{}` is a key, written `{}`",
            entry.display(),
            entry.example
        )),
        None => found.help(format!("known here: {}", listed(&siblings))),
    }
}

fn place(path: &str) -> String {
    match path {
        "" => String::new(),
        _ => format!(" in `{}`", path.replace('*', "NAME")),
    }
}
