//! A foreign image has no heartbeat word

use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft};
use crate::system::Kind;

crate::rules::declaration::rule! {
    Error, "heartbeat-for-image",
    "a foreign image with a heartbeat says by `progress` what it changes",
    "A foreign image does not know where to write a heartbeat, and would be restarted for ever.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let foreign =
        |one: &&PartitionDraft| one.kind.value() == Some(Kind::Image) && one.progress.is_absent();
    for partition in draft.partitions.iter().filter(foreign) {
        if let Some(heartbeat) = partition.heartbeat.given() {
            let message = format!("`{}` does not know how to beat", partition.name.value);
            report.add(
                RULE.at(&heartbeat.span, message)
                    .here("not written by any image")
                    .label(&partition.place(&partition.kind), "a foreign image")
                    .help(
                        "add `progress = \"0x…\"`, the address of a counter that the image increments; \
                         or, if it is built on Bulkhead's runtime, `kind = \"rtos\"`",
                    ),
            );
        }
    }
}
