//! A partition has a core

use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft};

crate::rules::declaration::rule! {
    Error, "no-core",
    "a partition has at least one core",
    "Cores are not shared: what a partition computes, it computes on cores of its own.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let empty = |partition: &&PartitionDraft| partition.core_count() == 0;
    for partition in draft.partitions.iter().filter(empty) {
        report.add(
            RULE.at(&partition.place(&partition.cores), no_cores(partition))
                .here("no core")
                .help("write `cores = 1`, or leave it out"),
        );
    }
}

fn no_cores(partition: &PartitionDraft) -> String {
    format!("`{}` has no core to run on", partition.name.value)
}
