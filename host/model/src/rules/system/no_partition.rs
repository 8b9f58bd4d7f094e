//! There is at least one partition

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "no-partition",
    "a system has at least one partition",
    "Without a partition nothing would run. `bulkhead new NAME` makes a description to start from.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    if draft.partitions.is_empty() && !draft.partitions_broken {
        let span = draft.system.name.span().cloned().unwrap_or(0..0);
        report.add(
            RULE.at(&span, "the system has no partition")
                .help("add `[partition.NAME]` with kind, criticality, memory and image"),
        );
    }
}
