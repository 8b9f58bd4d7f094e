//! Stages in Linux have a core for themselves, or it is said that they have not

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::kinds::Kind;

crate::rules::declaration::rule! {
    Note, "stage-core",
    "Linux has another core than those of its pipe functions",
    "Then the tool keeps Linux's interrupts, its load balancing and its housekeeping off their cores (`isolcpus=`, `irqaffinity=`, `rcu_nocbs=` on \
     its command line). With one core they share it: SCHED_DEADLINE still puts stages before all programs, but not before the kernel's own work.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let mut partitions = draft.partitions.iter();
    if draft.pipes.is_empty() && partitions.all(|one| one.typed_through.is_absent()) {
        return;
    }
    for partition in &draft.partitions {
        let Some(function) = partition.functions.first() else {
            continue;
        };
        let cores = partition.core_count();
        let usual = cores.saturating_sub(1) as u64;
        let taken = |core: usize| {
            let mut functions = partition.functions.iter();
            functions.any(|one| one.core.or(usual) == Some(core as u64))
        };
        if partition.kind.value() == Some(Kind::Linux) && (0..cores).all(taken) {
            let message = format!(
                "stages in `{}` share cores with Linux itself",
                partition.name.value
            );
            report.add(
                RULE.at(&function.name.span, message)
                    .here("no core is left for the rest of it")
                    .help(format!(
                        "`cores = {}` in the partition gives them one",
                        cores + 1
                    )),
            );
        }
    }
}
