//! The time table of a core fits into the scheduler

use super::time_table::extent;
use crate::diagnostic::Report;
use crate::draft::Draft;
use bulkhead_abi::timing::MAX_SLOTS;
use std::collections::BTreeMap;

crate::rules::declaration::rule! {
    Error, "slots-count",
    "the slots of a core and the gaps between them are at most 16",
    "The scheduler of a core keeps its time table in a list of fixed length.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let mut cores: BTreeMap<u64, Vec<[u64; 2]>> = BTreeMap::new();
        for slot in &partition.slots {
            if let (Some(core), Some(extent)) = (slot.core.or(0), extent(slot)) {
                cores.entry(core).or_default().push(extent);
            }
        }
        for (core, mut slots) in cores {
            slots.sort_unstable();
            let frame = partition.schedule.frame.value().unwrap_or(u64::MAX);
            let starts = slots.iter().map(|slot| slot[0]).chain([frame]);
            let ends = [0].into_iter().chain(slots.iter().map(|slot| slot[1]));
            let entries = slots.len() + starts.zip(ends).filter(|(start, end)| start > end).count();
            let Some(first) = partition.slots.first().filter(|_| entries > MAX_SLOTS) else {
                continue;
            };
            let message = format!(
                "core {core} of `{}` has {} slots, {entries} with the gaps",
                partition.name.value,
                slots.len()
            );
            report.add(
                RULE.at(&first.name.span, message)
                    .here("the first of them")
                    .help(format!(
                        "a core has room for {MAX_SLOTS}; join slots or close gaps"
                    )),
            );
        }
    }
}
