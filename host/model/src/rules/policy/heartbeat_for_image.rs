//! A foreign image has no heartbeat

use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft};
use crate::system::Kind;

crate::rules::rule! {
    Error, "heartbeat-for-image",
    "only rtos and Linux partitions have a heartbeat",
    "A foreign image does not know where to write it, and would be restarted for ever.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let foreign = |one: &&PartitionDraft| one.kind.value() == Some(Kind::Image);
    for partition in draft.partitions.iter().filter(foreign) {
        if let Some(heartbeat) = partition.heartbeat.given() {
            let message = format!("`{}` does not know how to beat", partition.name.value);
            report.add(
                RULE.at(&heartbeat.span, message)
                    .here("nobody would write it")
                    .label(&partition.place(&partition.kind), "a foreign image")
                    .help(
                        "leave it out; or, if it is built on Bulkhead's runtime, `kind = \"rtos\"`",
                    ),
            );
        }
    }
}
