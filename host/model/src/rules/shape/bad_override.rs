//! `--set` changes something that is there

use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::suggestion::advice;

crate::rules::declaration::rule! {
    Error, "bad-override",
    "`--set KEY=VALUE` names a key of a partition or channel that exists",
    "A value is TOML, or plain text without quotes: `--set partition.linux.cores=2`, `--set run.for=5s`. \
     `KEY+=TEXT` adds words to a text. Partitions and channels are made in the description only.\n\
     The example is refused when checked with `--set partition.contrl.cores=2`."
}

/// The text has no `KEY=VALUE` in it.
pub(crate) fn malformed(span: &Span) -> Diagnostic {
    RULE.at(span, "`--set` wants KEY=VALUE")
        .here("no key, or no `=`")
        .help("for example `--set partition.linux.cores=2`")
}

/// The override names a partition or channel that does not exist.
pub(crate) fn unknown(span: &Span, what: &str, name: &str, names: &[&str]) -> Diagnostic {
    RULE.at(span, format!("there is no {what} `{name}` to change"))
        .here("unknown name")
        .help(advice(name, what, names))
}

/// The override goes through a value without keys below it.
pub(crate) fn not_a_table(span: &Span, key: &str) -> Diagnostic {
    RULE.at(span, format!("`{key}` is a value and has no keys"))
        .here("not a table")
}

/// `+=` on something else than a text or a list of texts.
pub(crate) fn cannot_append(span: &Span, key: &str) -> Diagnostic {
    RULE.at(span, format!("`+=` adds to a text, and `{key}` is none"))
        .here("not a text")
}
