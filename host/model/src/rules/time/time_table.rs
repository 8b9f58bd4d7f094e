//! Helpers of the rules about time tables

use super::{
    band_of_reservation, slot_beyond_frame, slot_overlap, slot_times, time_partition_slot,
};
use crate::draft::{PartitionDraft, SlotDraft};

/// Start and end of a slot, where both can be read and do not overflow.
pub(super) fn extent(slot: &SlotDraft) -> Option<[u64; 2]> {
    let (start, length) = (slot.start.value()?, slot.length.value()?);
    Some([start, start.checked_add(length)?])
}

/// Returns whether slots and places are sound one by one, so that the analysis has a meaning.
pub(super) fn is_sound(partition: &PartitionDraft) -> bool {
    let vcpus = &partition.vcpus;
    partition.slots.iter().all(|slot| {
        slot_times::problem(partition, slot).is_none()
            && slot_beyond_frame::excess(partition, slot).is_none()
    }) && slot_overlap::overlaps(partition).next().is_none()
        && vcpus.iter().all(|vcpu| {
            band_of_reservation::problem(partition, vcpu).is_none()
                && time_partition_slot::slotless(partition, vcpu).is_none()
        })
}
