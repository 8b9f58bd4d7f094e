//! A restart leaves devices outside PCIe running

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Warning, "dma-restart",
    "a confined device that accesses memory and is no PCIe function is reset by its driver",
    "A restart resets PCIe functions together with their bridge. Another device continues: what the former life of the \
     partition ordered still arrives in the partition's memory, and in that alone, until the driver resets the device.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        if partition.unconfined.or(false) != Some(false) {
            continue;
        }
        let devices = draft.devices(partition);
        for (name, _) in devices.filter(|(_, device)| device.dma && !device.streams.is_empty()) {
            let message = format!(
                "`{}` continues to write into the memory of `{}` while it restarts",
                name.value, partition.name.value
            );
            report.add(
                RULE.at(&name.span, message)
                    .here("not reset by a restart")
                    .help("let the driver reset the device before anything else"),
            );
        }
    }
}
