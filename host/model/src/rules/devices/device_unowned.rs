//! A described device has an owner

use crate::diagnostic::Report;
use crate::draft::{Draft, items};

crate::rules::declaration::rule! {
    Warning, "device-unowned",
    "a described device belongs to a partition",
    "Each PCIe function is behind the bridge of its owner. A function without an owner is not \
     plugged in.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for function in &draft.functions {
        let mut owners = draft.partitions.iter();
        let name = &function.name;
        if owners.any(|one| items(&one.devices).any(|listed| listed.value == name.value)) {
            continue;
        }
        report.add(
            RULE.at(&name.span, format!("`{}` has no owner", name.value))
                .here("not plugged in")
                .help(format!(
                    "add `devices = [\"{}\"]` to a partition",
                    name.value
                )),
        );
    }
}
