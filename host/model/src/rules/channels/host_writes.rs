//! The host never writes

use crate::diagnostic::Report;
use crate::draft::{Draft, HOST};

crate::rules::declaration::rule! {
    Error, "host-writes",
    "the host is never the writer of a channel",
    "A run would depend on when the host writes, and could not be repeated. Send from a partition, or \
     type at a console.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let writers = draft
        .channels
        .iter()
        .filter_map(|channel| channel.from.given());
    for from in writers.filter(|from| from.value == HOST) {
        report.add(
            RULE.at(&from.span, "the host cannot write into the machine")
                .here("writer")
                .help("name a partition; `bulkhead send` types at a partition's console"),
        );
    }
}
