//! Slots end within the frame

use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft, SlotDraft};
use crate::quantity::time_text;

crate::rules::declaration::rule! {
    Error, "slot-beyond-frame",
    "a slot ends with the frame at the latest",
    "The frame repeats: what lies beyond its end would lie in the next one, over the slots there.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let frame = partition.schedule.frame.given();
        for (slot, frame) in partition.slots.iter().zip(std::iter::repeat(frame)) {
            let (Some(excess), Some(frame)) = (excess(partition, slot), frame) else {
                continue;
            };
            let message = format!(
                "slot `{}` ends {} behind the frame of {}",
                slot.name.value,
                time_text(excess),
                time_text(frame.value)
            );
            report.add(
                RULE.at(&slot.name.span, message)
                    .here("reaches beyond the frame")
                    .label(&frame.span, "which ends here")
                    .help("make the slot shorter or start it earlier, or the frame longer"),
            );
        }
    }
}

/// By how much a slot exceeds the frame.
pub(super) fn excess(partition: &PartitionDraft, slot: &SlotDraft) -> Option<u64> {
    let (start, length) = (slot.start.value()?, slot.length.value()?);
    let end = start.saturating_add(length);
    let excess = end.checked_sub(partition.schedule.frame.value()?)?;
    (excess > 0).then_some(excess)
}
