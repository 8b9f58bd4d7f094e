//! No device accesses memory past the tables

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::{Draft, PartitionDraft};

crate::rules::rule! {
    Error, "dma-device",
    "a device that accesses memory by itself is confined, or its partition is trusted with everything",
    "Such a device does not go through its partition's tables: it could read and write everybody's \
     memory. Only an SMMU can confine it, and no board has a driver for one yet. A partition that is \
     trusted with all memory says `dma = \"unconfined\"`.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for name in unconfined(draft, partition) {
            if partition.unconfined.or(false) != Some(false) {
                continue;
            }
            let message = format!("`{}` accesses memory by itself", name.value);
            report.add(
                RULE.at(&name.span, message)
                    .here("not confined by any SMMU")
                    .help(
                        "leave it out, or trust its owner with all memory: `dma = \"unconfined\"`",
                    ),
            );
        }
    }
}

/// Devices of a partition that access memory with nothing to hold them back.
pub(super) fn unconfined<'a>(
    draft: &'a Draft,
    partition: &'a PartitionDraft,
) -> impl Iterator<Item = &'a At<String>> {
    let devices = draft.devices(partition).filter(|(_, device)| device.dma);
    let functions = draft
        .functions(partition)
        .filter(|(_, function)| draft.kind_of(function).is_some_and(|kind| kind.dma));
    let functions = functions.map(|(name, _)| name);
    devices.map(|(name, _)| name).chain(functions)
}
