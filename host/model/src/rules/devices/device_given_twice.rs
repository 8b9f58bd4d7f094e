//! A device belongs to one partition

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::{Draft, items};
use std::collections::BTreeMap;

crate::rules::declaration::rule! {
    Error, "device-given-twice",
    "a device belongs to one partition",
    "Two owners could spoil each other through it. A standby partition takes the devices of the one it \
     stands in for by itself. A second console costs no UART: `console = \"memory\"` or `\"emulated\"`.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let mut owners: BTreeMap<&str, (&str, &At<String>)> = BTreeMap::new();
    for partition in &draft.partitions {
        let owner = partition.name.value.as_str();
        for name in items(&partition.devices) {
            let Some((before, first)) = owners.insert(&name.value, (owner, name)) else {
                continue;
            };
            if before == owner {
                report.add(
                    RULE.at(&name.span, format!("`{}` is listed twice", name.value))
                        .here("once more")
                        .label(&first.span, "listed here")
                        .help(format!(
                            "leave one of them out: `{owner}` has it by the first"
                        )),
                );
                continue;
            }
            report.add(
                RULE.at(&name.span, format!("`{}` is given twice", name.value))
                    .here(format!("to `{owner}`"))
                    .label(&first.span, format!("to `{before}` before"))
                    .help("let one partition own it and serve the other over a channel"),
            );
        }
    }
}
