//! A heartbeat needs a core that watches it

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "heartbeat-unwatched",
    "a core without a partition watches heartbeats",
    "The monitor takes no interrupt on a core that runs a guest, so that only a core without a partition \
     can notice a silence.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let taken = draft.cores_counted();
    if draft.machine_cores().is_none_or(|cores| cores > taken) {
        return;
    }
    for partition in &draft.partitions {
        if let Some(heartbeat) = partition.heartbeat.given() {
            let message = format!(
                "no core watches the heartbeat of `{}`",
                partition.name.value
            );
            report.add(
                RULE.at(&heartbeat.span, message)
                    .here(format!("all {taken} cores of the machine run partitions"))
                    .help(
                        "add a core to `system.cores`, take one from a partition, or leave the \
                         heartbeat out",
                    ),
            );
        }
    }
}
