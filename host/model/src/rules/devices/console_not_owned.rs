//! A console device is the partition's own

use super::unknown_console::BUILT_IN;
use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::{Draft, PartitionDraft};

crate::rules::declaration::rule! {
    Error, "console-not-owned",
    "a device that is a partition's console belongs to that partition",
    "A UART is a device like any other: it must stand among the `devices` of the partition, and of no \
     other.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let Some(console) = partition.console.given() else {
            continue;
        };
        if is_device(draft, &console.value) && !owns(draft, partition, &console.value) {
            report.add(
                RULE.at(&console.span, not_owned(partition, console))
                    .here("not among its devices")
                    .help(format!(
                        "add `devices = [\"{}\"]`, or leave it out",
                        console.value
                    )),
            );
        }
    }
}

fn not_owned(partition: &PartitionDraft, console: &At<String>) -> String {
    format!(
        "`{}` does not own `{}`",
        partition.name.value, console.value
    )
}

fn is_device(draft: &Draft, name: &str) -> bool {
    let is_device = |device: &crate::board::Device| device.name == name;
    !BUILT_IN.contains(&name)
        && draft
            .board
            .as_ref()
            .is_some_and(|board| board.devices.iter().any(is_device))
}

/// Returns whether the partition, or the one it stands in for, has the device.
fn owns(draft: &Draft, partition: &PartitionDraft, device: &str) -> bool {
    let owner = draft.primary_of(partition).unwrap_or(partition);
    draft.devices(owner).any(|(name, _)| name.value == device)
}
