//! A fallback value is a valid message

use crate::bridge::bytes;
use crate::diagnostic::Report;
use crate::draft::{Draft, ImportDraft};

crate::rules::declaration::rule! {
    Error, "bridge-fallback",
    "the `fallback` of an import is a whole message, and a `max_age` raises it",
    "It is written into the channel as it stands, and read there as any other message.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (_, bridge) in draft.bridges() {
        for import in &bridge.imports {
            if let Some((message, here, help)) = problem(draft, import) {
                let span = import.fallback.span().cloned().unwrap_or_default();
                report.add(RULE.at(&span, message).here(here).help(help));
            }
        }
    }
}

/// Place, problem and remedy, if there is one.
fn problem(draft: &Draft, import: &ImportDraft) -> Option<(String, String, String)> {
    let fallback = import.fallback.given()?;
    let name = &import.name.value;
    let Some(bytes) = bytes(&fallback.value) else {
        return Some((
            format!("the fallback of `{name}` is no message"),
            "not pairs of hexadecimal digits".into(),
            "two digits for each byte, for example `00ff`".into(),
        ));
    };
    if import.max_age.is_absent() {
        return Some((
            format!("nothing raises the fallback of `{name}`"),
            "without `max_age`".into(),
            "add `max_age = \"500 ms\"`, the age from which on a value is not to be gone by".into(),
        ));
    }
    let needed = draft.channel(name)?.message_bytes()?;
    (bytes.len() != needed).then(|| {
        (
            format!("the fallback of `{name}` has another length than its messages"),
            format!("{} bytes", bytes.len()),
            format!("{needed} bytes, two digits each"),
        )
    })
}
