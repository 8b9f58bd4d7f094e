//! A key is not zero

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "key-zero",
    "the key of a channel on demand is not 0",
    "0 is what guests see for a channel that is mapped from the start.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let keys = draft
        .channels
        .iter()
        .filter_map(|channel| channel.key.given());
    for key in keys.filter(|key| key.value == 0) {
        report.add(
            RULE.at(&key.span, "0 is no key")
                .here("not 0")
                .help("any other number, or leave `key` out to map the channel from the start"),
        );
    }
}
