//! A slot has a length, and a frame to repeat in

use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft, SlotDraft};
use crate::quantity::LONGEST_NS;
use crate::quantity::time_text;

crate::rules::declaration::rule! {
    Error, "slot-times",
    "a slot is longer than 0 and on a core of its partition; the frame in which slots repeat is given, at most a day",
    "The time table is a frame that repeats for ever. A slot of length 0 gives no VCPU time.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for slot in &partition.slots {
            if let Some(problem) = problem(partition, slot) {
                report.add(
                    RULE.at(&slot.name.span, format!("slot `{}` {problem}", slot.name.value))
                        .here("has no place in a time table")
                        .help("`frame = \"100 ms\"` in `schedule`, at most 24 h, and slots of more than 0 within it"),
                );
            }
        }
    }
}

/// Error in a slot on its own.
pub(super) fn problem(partition: &PartitionDraft, slot: &SlotDraft) -> Option<String> {
    let frame = &partition.schedule.frame;
    let cores = partition.core_count().max(1) as u64;
    if frame.is_absent() {
        return Some("repeats in no `frame`".into());
    }
    let (frame, length, core) = (frame.value()?, slot.length.value()?, slot.core.or(0)?);
    match () {
        () if frame == 0 => Some("repeats in a frame of 0".into()),
        () if frame > LONGEST_NS => Some(format!(
            "repeats in a frame of {}, more than a day",
            time_text(frame)
        )),
        () if length == 0 => Some("has the length 0".into()),
        () if core >= cores => Some(format!(
            "is on core {core}, and `{}` has {cores}",
            partition.name.value
        )),
        () => None,
    }
}
