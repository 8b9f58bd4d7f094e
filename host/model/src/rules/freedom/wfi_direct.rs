//! Cost of a direct WFI

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::kinds::Trapping;

crate::rules::declaration::rule! {
    Note, "wfi-direct",
    "an untrusted guest can always be stopped",
    "A guest that silences its own GIC interface (priority mask, group or active priorities) and executes \
     WFI cannot be woken by the monitor. Its core is lost until power-off, and nothing else. \
     `wfi = \"trap\"` closes this, at one counted trap per wait.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in draft.partitions.iter().filter(|one| super::is_unsafe(one)) {
        if partition.wfi.or(Trapping::Direct) == Some(Trapping::Direct) {
            let message = format!(
                "a hostile `{}` could not be restarted",
                partition.name.value
            );
            report.add(
                RULE.at(&partition.place(&partition.wfi), message)
                    .here("waits by itself")
                    .help(
                        "`wfi = \"trap\"` makes sure of it; a merely faulty guest restarts anyway",
                    ),
            );
        }
    }
}
