//! Rules about VCPUs, tasks and time tables

pub(crate) mod band_of_reservation;
pub(crate) mod schedule_keys;
pub(crate) mod slot_beyond_frame;
pub(crate) mod slot_overlap;
pub(crate) mod slot_times;
pub(crate) mod slots_count;
pub(crate) mod task_after;
pub(crate) mod task_cause;
pub(crate) mod task_component;
pub(crate) mod task_late;
pub(crate) mod task_priority;
pub(crate) mod task_times;
pub(crate) mod time_partition_slot;
mod time_table;
pub(crate) mod unknown_vcpu;
pub(crate) mod vcpu_budget;
pub(crate) mod vcpu_core;
pub(crate) mod vcpu_keys;
pub(crate) mod vcpu_kind;
pub(crate) mod vcpu_overload;
pub(crate) mod vcpu_room;

use crate::draft::{Draft, PartitionDraft};
use crate::rules::declaration::Rule;
use crate::timing::Timing;
use bulkhead_analysis::utilisation::WHOLE;

/// In the order of the reference.
pub(super) const RULES: &[&Rule] = &[
    &vcpu_kind::RULE,
    &vcpu_keys::RULE,
    &vcpu_budget::RULE,
    &vcpu_core::RULE,
    &vcpu_room::RULE,
    &schedule_keys::RULE,
    &slot_times::RULE,
    &slot_beyond_frame::RULE,
    &slot_overlap::RULE,
    &slots_count::RULE,
    &band_of_reservation::RULE,
    &time_partition_slot::RULE,
    &unknown_vcpu::RULE,
    &task_component::RULE,
    &task_priority::RULE,
    &task_cause::RULE,
    &task_after::RULE,
    &task_times::RULE,
    &vcpu_overload::RULE,
    &task_late::RULE,
];

/// Partitions with VCPUs and tasks that are valid one by one, so that they can be checked together.
fn sound(draft: &Draft) -> impl Iterator<Item = (&PartitionDraft, Timing)> {
    let parts = draft.partitions.iter();
    let readable = parts.filter_map(|partition| Some((partition, draft.timing(partition)?)));
    readable.filter(|(partition, _)| is_sound(partition))
}

/// Returns whether the VCPUs and tasks of a partition are sound one by one.
pub(crate) fn is_sound(partition: &PartitionDraft) -> bool {
    partition
        .vcpus
        .iter()
        .all(|vcpu| vcpu_budget::problem(vcpu).is_none() && vcpu_core::fits(partition, vcpu))
        && time_table::is_sound(partition)
        && partition.tasks.iter().all(|task| {
            task_times::problem(task).is_none()
                && task_priority::problem(partition, task).is_none()
                && task_cause::problem(partition, task).is_none()
                && task_after::problem(partition, task).is_none()
        })
}

/// Returns whether the main VCPUs of the core ask for no more than there is, so that responses
/// exist at all.
fn within_core(core: &crate::timing::CoreAnalysis) -> bool {
    core.demand <= WHOLE && core.misfit.is_none()
}
