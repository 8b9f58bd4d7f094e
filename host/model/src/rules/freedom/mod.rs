//! Rules about freedoms of partitions, and their cost for others

pub(crate) mod ipi_direct;
pub(crate) mod ipi_direct_criticality;
pub(crate) mod mask_trap;
pub(crate) mod privileged_below;
pub(crate) mod tlbi_direct;
pub(crate) mod tlbi_trap_cores;
pub(crate) mod wfi_direct;

use crate::draft::{Draft, PartitionDraft};
use crate::kinds::Criticality;
use crate::rules::declaration::Rule;

/// In the order of the reference.
pub(super) const RULES: &[&Rule] = &[
    &ipi_direct_criticality::RULE,
    &ipi_direct::RULE,
    &mask_trap::RULE,
    &wfi_direct::RULE,
    &tlbi_direct::RULE,
    &tlbi_trap_cores::RULE,
    &privileged_below::RULE,
];

/// Returns whether another partition is more critical than this one.
fn is_below_another(draft: &Draft, partition: &PartitionDraft) -> bool {
    let level = partition.criticality.value();
    let others = draft
        .partitions
        .iter()
        .filter_map(|other| other.criticality.value());
    level.is_some_and(|level| others.into_iter().any(|other| other < level))
}

/// Returns whether it is of the lowest level.
fn is_unsafe(partition: &PartitionDraft) -> bool {
    partition.criticality.value() == Some(Criticality::Qm)
}
