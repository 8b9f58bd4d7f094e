//! A partition has at most 32 channel ends

use crate::diagnostic::Report;
use crate::pipes::solution::Solution;
use bulkhead_abi::guest::MAX_CHANNELS;

crate::rules::declaration::rule! {
    Error, "too-many-channels",
    "a partition has at most 32 channel ends",
    "The page by which a guest learns its channels has room for so many. A standby has the ends of the \
     partition it stands in for as well, and each edge of a pipe between partitions is a channel.",
    solved: check
}

fn check(solution: &Solution<'_>, report: &mut Report) {
    let draft = solution.draft;
    for partition in &draft.partitions {
        let name = &partition.name.value;
        let derived = solution.crossings_of(partition).count();
        let ends = draft.channels_of(partition).count() + derived;
        if ends > MAX_CHANNELS {
            report.add(
                RULE.at(
                    &partition.name.span,
                    format!("`{name}` has {ends} channel ends"),
                )
                .here(match derived {
                    0 => "too many".into(),
                    _ => format!("too many: {derived} of them between stages of pipes"),
                })
                .help(format!(
                    "at most {MAX_CHANNELS}: send several things by one channel{}",
                    match derived {
                        0 => "",
                        _ => ", or let neighbouring stages be in one partition",
                    }
                )),
            );
        }
    }
}
