//! Direct interrupts between cores are for the highest criticality

use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft};
use crate::kinds::{Criticality, Trapping};

crate::rules::declaration::rule! {
    Error, "ipi-direct-criticality",
    "`ipi = \"direct\"` is for criticality A only",
    "A partition that sends interrupts without a filter can send any number of them to every core of the machine.",
    check
}

/// Partitions that ask for it.
pub(super) fn direct(draft: &Draft) -> impl Iterator<Item = &PartitionDraft> {
    draft
        .partitions
        .iter()
        .filter(|one| one.ipi.value() == Some(Trapping::Direct))
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in direct(draft) {
        let Some(level) = partition.criticality.given() else {
            continue;
        };
        if level.value != Criticality::A {
            let message = format!(
                "`{}` may not interrupt cores by itself",
                partition.name.value
            );
            report.add(
                RULE.at(&partition.place(&partition.ipi), message)
                    .here("for criticality A only")
                    .label(&level.span, "its criticality")
                    .help("leave `ipi` out: its interrupts then go through the monitor, counted"),
            );
        }
    }
}
