//! A run has a length

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "run-length",
    "a run is longer than nothing and at most a day",
    "`run.for` bounds `bulkhead run`. Leave it out to run until interrupted.",
    check
}

/// Longest run, nanoseconds: a day.
const LONGEST: u64 = 86_400_000_000_000;

fn check(draft: &Draft, report: &mut Report) {
    let Some(length) = draft.run.length.given() else {
        return;
    };
    if !(1..=LONGEST).contains(&length.value) {
        report.add(
            RULE.at(&length.span, "a run cannot have this length")
                .here("zero, or more than a day")
                .help("for example `for = \"20 s\"`, or leave it out to run until interrupted"),
        );
    }
}
