//! Direct interrupts between cores need cores

use super::ipi_direct_criticality::direct;
use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::rule! {
    Error, "ipi-direct-single-core",
    "`ipi = \"direct\"` is for partitions with several cores",
    "A partition with one core has nobody to interrupt, and would give isolation away for nothing.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in direct(draft).filter(|one| one.core_count() == 1) {
        let message = format!(
            "`{}` has one core and nobody to interrupt",
            partition.name.value
        );
        report.add(
            RULE.at(&partition.place(&partition.ipi), message)
                .here("of no use")
                .help("leave `ipi` out"),
        );
    }
}
