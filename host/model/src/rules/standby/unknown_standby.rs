//! The standby exists

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::suggestion::advice;

crate::rules::declaration::rule! {
    Error, "unknown-standby",
    "a standby is a partition of the system",
    "It has a core, memory and an image of its own, described like any other partition.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let Some(name) = partition.standby.given() else {
            continue;
        };
        if draft.partition(&name.value).is_none() {
            let others = draft
                .partitions
                .iter()
                .map(|other| other.name.value.as_str());
            let others: Vec<_> = others
                .filter(|other| *other != partition.name.value)
                .collect();
            report.add(
                RULE.at(
                    &name.span,
                    format!("there is no partition `{}`", name.value),
                )
                .here("unknown partition")
                .help(advice(&name.value, "other partition", &others)),
            );
        }
    }
}
