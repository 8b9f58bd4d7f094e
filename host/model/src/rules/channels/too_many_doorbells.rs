//! There are interrupts for all doorbells

use crate::diagnostic::Report;
use crate::draft::Draft;
use bulkhead_abi::status::MAX_DOORBELLS;

crate::rules::declaration::rule! {
    Error, "too-many-doorbells",
    "a partition rings at most 32 doorbells, and the board has an interrupt for each",
    "A doorbell is an interrupt wired to nothing else, and a counter at the sender. A reader that looks \
     at the buffer periodically needs none.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let doorbells: Vec<_> = draft
        .channels
        .iter()
        .flat_map(|channel| channel.doorbells())
        .collect();
    for partition in &draft.partitions {
        let is_sender = |bell: &&(&str, &str)| bell.0 == partition.name.value;
        let count = doorbells.iter().filter(is_sender).count();
        if count > MAX_DOORBELLS {
            let message = format!("`{}` rings {count} doorbells", partition.name.value);
            let found = RULE.at(&partition.name.span, message).here("too many");
            report.add(found.help(format!("at most {MAX_DOORBELLS}")));
        }
    }
    let Some(board) = &draft.board else { return };
    let (first, last) = board.interrupts.doorbells;
    let free = (last - first + 1) as usize;
    if let Some(channel) = draft.channels.first().filter(|_| doorbells.len() > free) {
        let message = format!("{} doorbells are wanted in all", doorbells.len());
        let found = RULE
            .at(&channel.name.span, message)
            .here("first of the channels");
        report.add(found.help(format!("`{}` has interrupts for {free}", board.name)));
    }
}
