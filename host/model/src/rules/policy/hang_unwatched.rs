//! A policy for hangs has a watched heartbeat

use crate::diagnostic::Report;
use crate::draft::Draft;
use bulkhead_abi::status::Cause;

crate::rules::declaration::rule! {
    Warning, "hang-unwatched",
    "a partition with an action for hangs has a heartbeat",
    "Without a heartbeat no monitor detects a hang, so the action is never taken.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in draft
        .partitions
        .iter()
        .filter(|one| one.heartbeat.is_absent())
    {
        if let Some(action) = partition.actions()[Cause::Hang as usize].given() {
            let message = format!(
                "`{}` has no heartbeat that could be watched",
                partition.name.value
            );
            report.add(
                RULE.at(&action.span, message)
                    .here("never happens")
                    .help("add `heartbeat = \"20 ms\"`, or leave `on_hang` out"),
            );
        }
    }
}
