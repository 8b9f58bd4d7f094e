//! Room for VCPUs and tasks in the scheduler of a core

use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft};
use crate::timing::Timing;
use bulkhead_abi::timing::{MAX_TASKS, MAX_VCPUS};
use bulkhead_analysis::core_overhead::ROOM;
use std::collections::BTreeSet;

crate::rules::declaration::rule! {
    Error, "vcpu-room",
    "a core has no more VCPUs and tasks than its scheduler has room for",
    "Where no pipes run, the scheduler of a core has room for 16 VCPUs and 16 tasks of the description. Run-time \
     admission keeps 64 loads of highest priority: a release of each task, up to three for one that another task releases, and two for each \
     doorbell.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let Some(timing) = draft.timing(partition) else {
            continue;
        };
        let cores: BTreeSet<_> = timing.vcpus.iter().map(|vcpu| vcpu.core).collect();
        for core in cores {
            if let Some((what, count, most)) = exceeded(partition, &timing, core) {
                let name = &partition.name.value;
                let message = format!(
                    "core {core} of `{name}` has {count} {what}, and its scheduler has room for {most}"
                );
                let here = timing.vcpus.iter().rfind(|vcpu| vcpu.core == core);
                let span = here.map_or(&partition.name.span, |vcpu| &vcpu.span);
                report.add(
                    RULE.at(span, message)
                        .help("do the work of several in one, or move some to another partition"),
                );
            }
        }
    }
}

/// The first limit of a core that is exceeded: what, its count, and the most.
fn exceeded(
    partition: &PartitionDraft,
    timing: &Timing,
    core: usize,
) -> Option<(&'static str, usize, usize)> {
    let is_here = |number: usize| timing.vcpus[number].core == core;
    let vcpus = (0..timing.vcpus.len()).filter(|&number| is_here(number));
    let tasks = timing.tasks.iter().filter(|task| is_here(task.vcpu));
    // The runtime of pipes has limits of its own (`pipe-room`).
    let limited = partition.functions.is_empty();
    let counts = [
        ("VCPUs", vcpus.count(), MAX_VCPUS, limited),
        ("tasks", tasks.count(), MAX_TASKS, limited),
        (
            "loads of highest priority",
            timing.ahead(core).len(),
            ROOM,
            true,
        ),
    ];
    let mut counts = counts.into_iter();
    let found = counts.find(|(_, count, most, limited)| *limited && count > most)?;
    Some((found.0, found.1, found.2))
}
