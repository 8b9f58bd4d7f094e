//! A VCPU is on a core of its partition

use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft, VcpuDraft};

crate::rules::declaration::rule! {
    Error, "vcpu-core",
    "a VCPU is on a core of its partition",
    "Cores are counted from 0 within the partition, independently of the machine's core numbers.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let outside = partition.vcpus.iter().filter(|vcpu| !fits(partition, vcpu));
        for (vcpu, core) in outside.filter_map(|vcpu| Some((vcpu, vcpu.core.given()?))) {
            let (owner, count) = (&partition.name.value, partition.core_count());
            let message = format!(
                "VCPU `{}` is on core {}, and `{owner}` has {count}",
                vcpu.name.value, core.value
            );
            report.add(
                RULE.at(&core.span, message)
                    .here("no such core")
                    .help("cores are counted from 0 within the partition; `cores` gives it more"),
            );
        }
    }
}

/// Returns whether the partition has that core.
pub(super) fn fits(partition: &PartitionDraft, vcpu: &VcpuDraft) -> bool {
    let core = vcpu.core.given().map_or(0, |core| core.value);
    usize::try_from(core).is_ok_and(|core| core < partition.core_count().max(1))
}
