//! Cost of `dma = "unconfined"`

use super::dma_device::accessing;
use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Warning, "dma-unconfined",
    "a partition with `dma = \"unconfined\"` and a device with DMA is trusted with everything",
    "A partition that programs such a device can read and write all memory, the monitors' too, \
     whatever the tables say. Addresses that a device is given are physical then, which a guest is \
     not told.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let Some(trusted) = partition.unconfined.given().filter(|given| given.value) else {
            continue;
        };
        for (name, _) in accessing(draft, partition) {
            let message = format!(
                "by `{}` partition `{}` reaches all memory",
                name.value, partition.name.value
            );
            report.add(
                RULE.at(&trusted.span, message)
                    .here("nothing isolates the others from it")
                    .label(&name.span, "accesses memory by itself")
                    .help("give it only to a partition that all others depend on anyway"),
            );
        }
    }
}
