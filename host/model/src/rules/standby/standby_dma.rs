//! Confinement of a device does not move to the standby

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::rules::devices::dma_device::accessing;

crate::rules::declaration::rule! {
    Error, "standby-dma",
    "a partition with a standby has no device that an SMMU confines",
    "The SMMU lets such a device reach the memory of one partition, decided before boot: after a \
     failover it would still write into the memory of the one that failed.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (primary, name, _) in super::pairs(draft) {
        if primary.unconfined.or(false) == Some(true) {
            continue;
        }
        for (device, _) in accessing(draft, primary).filter(|(_, held_back)| *held_back) {
            let message = format!("`{}` cannot follow to `{}`", device.value, name.value);
            report.add(
                RULE.at(&device.span, message)
                    .here(format!("confined to the memory of `{}`", primary.name.value))
                    .label(&name.span, "would take over")
                    .help("leave the standby out, or give the device to a third partition that serves both"),
            );
        }
    }
}
