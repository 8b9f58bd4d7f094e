//! No device accesses memory past the tables

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::rule! {
    Error, "dma-device",
    "no partition gets a device that accesses memory by itself",
    "Such a device does not go through its partition's tables: it could read and write everybody's \
     memory. Only an SMMU can confine it, and no board has a driver for one yet. `dma = \"unconfined\"`, \
     by which a trusted partition will be allowed to have one, is not honoured before.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for (name, _) in draft.devices(partition).filter(|(_, device)| device.dma) {
            let message = format!("`{}` accesses memory by itself", name.value);
            report.add(
                RULE.at(&name.span, message)
                    .here("not confined by any SMMU")
                    .help("leave it out: no device with DMA can be given to a partition yet"),
            );
        }
    }
}
