//! Cost of a pseudo-NMI if the priority mask is trapped

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::kinds::Trapping;

crate::rules::declaration::rule! {
    Warning, "mask-trap",
    "a guest that masks interrupts by priority has `ipi = \"direct\"`",
    "With `ipi = \"trap\"` each access to ICC_PMR_EL1 enters the monitor. That is correct, counted, and \
     slow for a kernel that masks interrupts in this way, as Linux does with its pseudo-NMI. `\"direct\"` \
     is free, for criticality A only, and lets the guest interrupt every core.",
    check
}

/// Kernel parameter by which Linux masks by priority.
const PSEUDO_NMI: &str = "irqchip.gicv3_pseudo_nmi=1";

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let Some(line) = partition.command_line.given() else {
            continue;
        };
        let masks = line.value.split_whitespace().any(|word| word == PSEUDO_NMI);
        if masks && partition.ipi.or(Trapping::Trap) == Some(Trapping::Trap) {
            let name = &partition.name.value;
            report.add(
                RULE.at(&line.span, format!("`{name}` enters the monitor whenever it masks interrupts"))
                    .here(format!("`{PSEUDO_NMI}`"))
                    .help("leave the parameter out, or give a partition of criticality A `ipi = \"direct\"`"),
            );
        }
    }
}
