//! Cost of direct interrupts between cores

use super::ipi_direct_criticality::direct;
use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::kinds::Criticality;

crate::rules::declaration::rule! {
    Warning, "ipi-direct",
    "interrupts between cores go through the monitor",
    "With `ipi = \"direct\"` a partition can raise software-generated interrupts on the cores of all \
     others, at any rate. They stay isolated in memory and devices, but no longer in time: the bound on \
     their delays holds only as long as this partition behaves.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let allowed =
        |one: &&crate::draft::PartitionDraft| one.criticality.value() == Some(Criticality::A);
    for partition in direct(draft).filter(allowed) {
        let name = &partition.name.value;
        report.add(
            RULE.at(
                &partition.place(&partition.ipi),
                format!("`{name}` can interrupt every core"),
            )
            .here("unfiltered")
            .help("isolation in time of all others now rests on it; `ipi = \"trap\"` keeps it"),
        );
    }
}
