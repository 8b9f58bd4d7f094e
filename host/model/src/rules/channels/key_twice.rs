//! A key names one channel

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::Draft;
use std::collections::BTreeMap;

crate::rules::declaration::rule! {
    Error, "key-twice",
    "a key names one channel",
    "Both ends ask for a channel on demand by its key alone.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let mut keys: BTreeMap<u64, (&str, &At<u64>)> = BTreeMap::new();
    for channel in &draft.channels {
        let Some(key) = channel.key.given() else {
            continue;
        };
        let name = channel.name.value.as_str();
        let Some((before, first)) = keys.insert(key.value, (name, key)) else {
            continue;
        };
        report.add(
            RULE.at(
                &key.span,
                format!("`{before}` and `{name}` have the same key"),
            )
            .here("second channel")
            .label(&first.span, "first channel")
            .help("give each a key of its own"),
        );
    }
}
