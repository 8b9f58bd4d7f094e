//! The colours named exist

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "colour-out-of-range",
    "the colours named exist on the board",
    "A last-level cache has as many page colours as a way of it has pages: size / ways / 4 KiB.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let Some(board) = &draft.board else { return };
    let lists = draft
        .partitions
        .iter()
        .filter_map(|partition| partition.colours.given());
    for colour in lists.flat_map(|list| &list.value) {
        if colour.value >= u64::from(board.colours) {
            let count = board.colours;
            report.add(
                RULE.at(&colour.span, format!("there is no colour {}", colour.value))
                    .here("no such colour")
                    .help(format!("`{}` has {count}, 0 to {}", board.name, count - 1)),
            );
        }
    }
}
