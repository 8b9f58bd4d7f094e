//! The cores named exist

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "core-out-of-range",
    "the cores named exist",
    "Cores are numbered from 0, up to the cores of the machine (`system.cores`), or of the board where \
     that is not given.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let Some(board) = &draft.board else { return };
    let Some(cores) = draft.system.cores.or(board.cores.len() as u64) else {
        return;
    };
    for core in draft
        .partitions
        .iter()
        .flat_map(|partition| partition.listed_cores())
    {
        if core.value >= cores {
            report.add(
                RULE.at(&core.span, format!("there is no core {}", core.value))
                    .here("no such core")
                    .help(format!("the machine has {cores} cores, 0 to {}", cores - 1)),
            );
        }
    }
}
