//! A doorbell's limit admits something

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "doorbell-rate",
    "a doorbell admits at least one ring per period, and the period is 1 us to 1 h",
    "The limit is what the receiver has to bear: at most `limit` interrupts per `per`. A doorbell that \
     never rings is left out instead.",
    check
}

/// Shortest and longest period, nanoseconds.
const SHORTEST: u64 = 1_000;
const LONGEST: u64 = 3_600_000_000_000;

fn check(draft: &Draft, report: &mut Report) {
    let rates = draft
        .channels
        .iter()
        .flat_map(|one| [&one.doorbell, &one.reply_doorbell]);
    for rate in rates.filter_map(|rate| rate.given()) {
        if let Some(limit) = rate.value.limit.given().filter(|limit| limit.value == 0) {
            report.add(
                RULE.at(&limit.span, "this doorbell would never ring")
                    .here("at least 1")
                    .help("leave the doorbell out if the sender does not ring"),
            );
        }
        let outside = |per: u64| !(SHORTEST..=LONGEST).contains(&per);
        if let Some(per) = rate.value.per.given().filter(|per| outside(per.value)) {
            report.add(
                RULE.at(&per.span, "a doorbell cannot have this period")
                    .here("1 us to 1 h")
                    .help("for example `doorbell = { limit = 10, per = \"100 ms\" }`"),
            );
        }
    }
}
