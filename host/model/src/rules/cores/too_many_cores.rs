//! There are cores for all partitions

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "too-many-cores",
    "there are cores for all partitions",
    "The cores of all partitions together, standby partitions included, must be there; a machine has \
     no more than its board.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let Some(board) = &draft.board else { return };
    if let Some(cores) = draft
        .system
        .cores
        .given()
        .filter(|cores| cores.value > board.cores.len() as u64)
    {
        report.add(
            RULE.at(
                &cores.span,
                format!("`{}` has no {} cores", board.name, cores.value),
            )
            .here("too many")
            .help(format!("it has {} at most", board.cores.len())),
        );
    }
    let available = draft.system.cores.or(board.cores.len() as u64).unwrap_or(0);
    let counts = draft
        .partitions
        .iter()
        .map(|partition| partition.core_count() as u64);
    let needed: u64 = counts.sum();
    if let Some(last) = draft
        .partitions
        .last()
        .filter(|_| needed > available && available > 0)
    {
        let message = format!("the partitions need {needed} cores, and there are {available}");
        let found = RULE
            .at(&last.place(&last.cores), message)
            .here("with these");
        report.add(found.help("take cores away, or raise `system.cores` if the board has more"));
    }
}
