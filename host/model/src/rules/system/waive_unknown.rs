//! `run.waive` names subjects of this system

use crate::diagnostic::Report;
use crate::draft::{Draft, items};

crate::rules::declaration::rule! {
    Error, "waive-unknown",
    "each name in `run.waive` is the system, a partition, or a part of a partition",
    "The verdict leaves out what `run.waive` names. A misspelt name would waive nothing, and the promise that it was meant \
     for would still decide. Names after the `/` are not checked, because programs name their own threads.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    if draft.partitions_broken {
        return;
    }
    for name in items(&draft.run.waive) {
        let first = name.value.split('/').next().unwrap_or_default();
        let is_partition = draft.partitions.iter().any(|one| one.name.value == first);
        if is_partition
            || draft
                .system
                .name
                .value()
                .is_some_and(|system| *system == name.value)
        {
            continue;
        }
        report.add(
            RULE.at(&name.span, format!("there is no partition `{first}` to waive"))
                .here("neither the system nor one of its partitions")
                .help("a partition waives all its parts; `PARTITION/NAME` waives one component, pipe or task"),
        );
    }
}
