//! Required keys are present

use crate::diagnostic::Diagnostic;
use crate::registry::Key;
use crate::source::Span;

crate::rules::declaration::rule! {
    Error, "missing-key",
    "every required key is given",
    "What has no sensible default must be said. Everything else may be left out; `bulkhead explain \
     KEY` names the default."
}

/// The table with its header at `span` lacks the key.
pub(crate) fn found(owner: &str, span: &Span, key: &Key) -> Diagnostic {
    let message = match owner {
        "" => format!("`{}` is missing", key.name()),
        _ => format!("`{}` is missing in `{owner}`", key.name()),
    };
    RULE.at(span, message)
        .help(format!("add `{}` – {}", key.example, key.first_sentence()))
}
