//! Slots of a core do not overlap

use super::time_table::extent;
use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft, SlotDraft};
use crate::quantity::time_text;

crate::rules::declaration::rule! {
    Error, "slot-overlap",
    "slots of the same core do not overlap",
    "At any time a core has the slot of one time partition, whatever its VCPUs do; that is what makes \
     one independent of another.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for (one, other, time) in overlaps(partition) {
            let message = format!(
                "slots `{}` and `{}` overlap by {}",
                one.name.value,
                other.name.value,
                time_text(time)
            );
            report.add(
                RULE.at(&other.name.span, message)
                    .here("begins before the other ends")
                    .label(&one.name.span, "the other")
                    .help("move one of them, or make it shorter"),
            );
        }
    }
}

/// Slots that overlap, the earlier first, and by how much.
pub(super) fn overlaps(
    partition: &PartitionDraft,
) -> impl Iterator<Item = (&SlotDraft, &SlotDraft, u64)> {
    let mut slots: Vec<_> = partition
        .slots
        .iter()
        .filter_map(|slot| Some((slot.core.or(0)?, extent(slot)?, slot)))
        .collect();
    slots.sort_by_key(|&(core, extent, _)| (core, extent));
    let pairs = (1..slots.len()).filter_map(move |next| {
        let ((one_core, [_, end], one), (core, [start, other_end], other)) =
            (slots[next - 1], slots[next]);
        let common = end.min(other_end).checked_sub(start)?;
        (one_core == core && common > 0).then_some((one, other, common))
    });
    pairs.collect::<Vec<_>>().into_iter()
}
