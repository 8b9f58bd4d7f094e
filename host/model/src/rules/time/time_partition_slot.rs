//! A time partition with VCPUs has a slot

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::{Draft, PartitionDraft, VcpuDraft};

crate::rules::declaration::rule! {
    Error, "time-partition-slot",
    "a time partition in which a VCPU is has a slot on the VCPU's core",
    "Outside of its slots a time partition does not run: without one it never does.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for vcpu in &partition.vcpus {
            if let Some((number, core)) = slotless(partition, vcpu) {
                let message = format!(
                    "VCPU `{}` is in time partition {}, which has no slot on core {core}",
                    vcpu.name.value, number.value
                );
                report.add(
                    RULE.at(&number.span, message)
                        .here("never runs")
                        .help("describe a slot, `[partition.NAME.slot.NAME]`, or put it into another time partition"),
                );
            }
        }
    }
}

/// The time partition of a VCPU that has no slot on the VCPU's core, and that core.
pub(super) fn slotless<'a>(
    partition: &PartitionDraft,
    vcpu: &'a VcpuDraft,
) -> Option<(&'a At<u64>, u64)> {
    let number = vcpu
        .time_partition
        .given()
        .filter(|number| number.value != 0)?;
    let core = vcpu.core.or(0)?;
    let has = partition.slots.iter().any(|slot| {
        let of = |field: Option<u64>, value| field.is_none_or(|field| field == value);
        of(slot.time_partition.value(), number.value) && of(slot.core.or(0), core)
    });
    (!has).then_some((number, core))
}
