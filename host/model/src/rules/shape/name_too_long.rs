//! Names have at most 15 characters

use crate::diagnostic::Report;
use crate::document::At;
use bulkhead_abi::NAME_LEN;

crate::rules::declaration::rule! {
    Error, "name-too-long",
    "a name has at most 15 characters",
    "Names stand in fields of 16 bytes in shared memory, the last of which is zero."
}

/// Longest name, bytes.
pub(crate) const LIMIT: usize = NAME_LEN - 1;

pub(super) fn check(what: &str, name: &At<String>, report: &mut Report) {
    let length = name.value.chars().count();
    if name.value.len() > LIMIT {
        report.add(
            RULE.at(
                &name.span,
                format!("`{}` is too long a name for {what}", name.value),
            )
            .here(format!("{length} characters"))
            .help(format!("at most {LIMIT} characters")),
        );
    }
}
