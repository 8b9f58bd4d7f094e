//! Devices on one interrupt line belong to one partition

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::Draft;
use std::collections::BTreeMap;

crate::rules::declaration::rule! {
    Error, "interrupt-line-split",
    "devices that share an interrupt line belong to one partition",
    "An interrupt goes to the core of one partition. The other owner would miss its own, and a device \
     that keeps the line raised would starve it.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let mut owners: BTreeMap<u32, (&str, &At<String>)> = BTreeMap::new();
    for partition in &draft.partitions {
        let owner = partition.name.value.as_str();
        for (name, device) in draft.devices(partition) {
            for spi in &device.spis {
                let (before, first) = *owners.entry(*spi).or_insert((owner, name));
                if before != owner && first.value != name.value {
                    let message = format!(
                        "`{}` and `{}` share interrupt line {spi}",
                        first.value, name.value
                    );
                    report.add(
                        RULE.at(&name.span, message)
                            .here(format!("given to `{owner}`"))
                            .label(&first.span, format!("given to `{before}`"))
                            .help("give both to one partition"),
                    );
                }
            }
        }
    }
}
