//! Colours leave enough memory

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::quantity::{approximate_size, size_text};

crate::rules::declaration::rule! {
    Error, "colours-too-few",
    "the colours of a partition leave it the memory it asks for",
    "With k of n colours a partition can use k pages of every n. The machine can have no more RAM than \
     its board.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let Some(board) = &draft.board else { return };
    for partition in &draft.partitions {
        let (Some(list), Some(memory)) = (partition.colours.given(), partition.memory.given())
        else {
            continue;
        };
        let count = list.value.len() as u64;
        let share = board.max_memory() / u64::from(board.colours) * count;
        if memory.value > share {
            let message = format!("{count} of {} colours are too few", board.colours);
            let there = size_text(board.max_memory());
            report.add(
                RULE.at(&list.span, message)
                    .here(format!("{} at most", approximate_size(share)))
                    .label(&memory.span, "for this memory")
                    .help(format!(
                        "more colours, or less memory; there are {there} in all"
                    )),
            );
        }
    }
}
