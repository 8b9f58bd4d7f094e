//! The ends of a channel exist

use crate::diagnostic::Report;
use crate::draft::{Draft, HOST};
use crate::suggestion::advice;

crate::rules::declaration::rule! {
    Error, "unknown-partition",
    "the ends of a channel are partitions of the system, or `host`",
    "With an unknown name, the other end would wait for ever.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let names: Vec<_> = draft
        .partitions
        .iter()
        .map(|one| one.name.value.as_str())
        .collect();
    for end in draft.channels.iter().flat_map(|channel| channel.ends()) {
        if end.value != HOST && !names.contains(&end.value.as_str()) {
            report.add(
                RULE.at(&end.span, format!("there is no partition `{}`", end.value))
                    .here("unknown partition")
                    .help(advice(&end.value, "partition", &names)),
            );
        }
    }
}
