//! A start-up time is given where it is watched, and long enough

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::quantity::time_text;

crate::rules::declaration::rule! {
    Error, "startup-range",
    "a start-up time is at least the heartbeat's and at most 1 h",
    "It ends with the first heartbeat or the announcement, for which a start needs as long as the \
     partition may be silent later, and it is watched only where a heartbeat is.",
    check
}

const LONGEST: u64 = 3_600_000_000_000;

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let Some(startup) = partition.startup.given() else {
            continue;
        };
        let name = &partition.name.value;
        let Some(heartbeat) = partition.heartbeat.value() else {
            if partition.heartbeat.is_absent() {
                report.add(
                    RULE.at(
                        &startup.span,
                        format!("the start of `{name}` is not watched"),
                    )
                    .here("without a heartbeat of no effect")
                    .help("add `heartbeat = \"20 ms\"`, or leave `startup` out"),
                );
            }
            continue;
        };
        if !(heartbeat..=LONGEST).contains(&startup.value) {
            report.add(
                RULE.at(
                    &startup.span,
                    format!("`{name}` cannot have this start-up time"),
                )
                .here(format!("from {} to 1 h", time_text(heartbeat)))
                .help("for example `startup = \"1 s\"`, or leave it out"),
            );
        }
    }
}
