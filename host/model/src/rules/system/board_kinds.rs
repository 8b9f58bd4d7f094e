//! The kinds of what the monitor programs on a board

use super::board_inconsistent::place;
use crate::diagnostic::Report;
use crate::document::Table;
use crate::draft::Section;
use bulkhead_abi::device::{self, Class};

crate::rules::declaration::rule! {
    Error, "board-kinds",
    "the interrupt controller and the SMMU are of kinds that the monitor programs",
    "A GICv2 has no system registers: every interrupt would enter EL2, or a guest would have the CPU interface of \
     all. An SMMUv2 has registers for a few streams, not tables in memory that are finished before boot."
}

/// Sections with a kind, and what it means there.
const PARTS: [(&str, Class, &str); 2] = [
    (
        "interrupts",
        Class::InterruptController,
        "an interrupt controller",
    ),
    ("smmu", Class::Iommu, "an SMMU"),
];

/// Looks at the text of a board file that has the right shape.
pub(crate) fn check(table: &Table, report: &mut Report) {
    for (section, class, name) in PARTS {
        let needed = device::programmed(class).map_or("", |kind| kind.name);
        let kind = Section::of(table, section).text("kind").value();
        if let Some(kind) = kind.filter(|kind| kind != needed) {
            let message = format!("{name} of kind `{kind}` is not supported");
            let found = RULE.at(&place(table, &format!("{section}.kind")), message);
            let help = format!("the monitor programs `kind = \"{needed}\"` and its later versions");
            report.add(found.here("here").help(help));
        }
    }
}
