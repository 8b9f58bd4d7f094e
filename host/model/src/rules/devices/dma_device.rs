//! No device accesses memory past the tables

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::{Draft, PartitionDraft};

crate::rules::declaration::rule! {
    Error, "dma-device",
    "a device that accesses memory by itself is confined, or its partition is trusted with everything",
    "Such a device does not go through its partition's tables: it could read and write the memory \
     of all partitions. The board's SMMU, if it has one, confines devices with streams (`device.*.streams`, \
     `pcie.streams` of the board file) to their partition's memory. A partition that is trusted with all memory says `dma = \"unconfined\"`.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let confined = |partition: &&PartitionDraft| partition.unconfined.or(false) == Some(false);
    for partition in draft.partitions.iter().filter(confined) {
        for (name, _) in accessing(draft, partition).filter(|(_, held_back)| !held_back) {
            let message = format!("`{}` accesses memory by itself", name.value);
            report.add(
                RULE.at(&name.span, message)
                    .here("it has no stream at an SMMU that would confine it")
                    .help(
                        "leave it out, or trust its owner with all memory: `dma = \"unconfined\"`",
                    ),
            );
        }
    }
}

/// Devices of a partition that access memory, and whether an SMMU can hold them back.
pub(in crate::rules) fn accessing<'a>(
    draft: &'a Draft,
    partition: &'a PartitionDraft,
) -> impl Iterator<Item = (&'a At<String>, bool)> {
    let pcie = draft.board.as_ref().and_then(|board| board.pcie.as_ref());
    let behind = pcie.is_some_and(|pcie| pcie.streams.is_some());
    let devices = draft.devices(partition).filter(|(_, device)| device.dma);
    let functions = draft
        .functions(partition)
        .filter(|(_, function)| draft.kind_of(function).is_some_and(|kind| kind.dma));
    let functions = functions.map(move |(name, _)| (name, behind));
    devices
        .map(|(name, device)| (name, !device.streams.is_empty()))
        .chain(functions)
}
