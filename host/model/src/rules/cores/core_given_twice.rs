//! A core belongs to one partition

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::Draft;
use std::collections::BTreeMap;

crate::rules::declaration::rule! {
    Error, "core-given-twice",
    "a core belongs to one partition",
    "Partitions share no core, so none can delay another there. Give numbers only where it matters \
     which core it is; `cores = 1` lets the tool choose.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let mut owners: BTreeMap<u64, (&str, &At<u64>)> = BTreeMap::new();
    for partition in &draft.partitions {
        let name = partition.name.value.as_str();
        for core in partition.listed_cores() {
            let Some((owner, first)) = owners.insert(core.value, (name, core)) else {
                continue;
            };
            report.add(
                RULE.at(&core.span, format!("core {} is given twice", core.value))
                    .here(format!("to `{name}`"))
                    .label(&first.span, format!("to `{owner}` before"))
                    .help("give each partition cores of its own, or only their number"),
            );
        }
    }
}
