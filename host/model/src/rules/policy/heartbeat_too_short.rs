//! A heartbeat is no shorter than it can be kept

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "heartbeat-too-short",
    "a heartbeat is at least 1 ms and at most 1 h",
    "It is the longest silence before a partition counts as hung. Shorter than a millisecond, a restart \
     itself or a long job would look like a hang.",
    check
}

/// Bounds, nanoseconds.
const SHORTEST: u64 = 1_000_000;
const LONGEST: u64 = 3_600_000_000_000;

fn check(draft: &Draft, report: &mut Report) {
    for heartbeat in draft
        .partitions
        .iter()
        .filter_map(|partition| partition.heartbeat.given())
    {
        if !(SHORTEST..=LONGEST).contains(&heartbeat.value) {
            report.add(
                RULE.at(&heartbeat.span, "a heartbeat cannot have this period")
                    .here("1 ms to 1 h")
                    .help("for example `heartbeat = \"20 ms\"`, or leave it out"),
            );
        }
    }
}
