//! Pipe functions are in partitions that can run them

use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft};
use crate::kinds::Kind;
use crate::source::Span;

crate::rules::declaration::rule! {
    Error, "function-partition",
    "pipe functions are those of Linux, or of rtos partitions that order their VCPUs by rates or \
     deadlines",
    "Budgets and periods of stages are computed for cores on which the period alone gives the importance of a VCPU \
     (003 §3.1.4), and for SCHED_DEADLINE.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        let (Some(function), Some((why, help))) = (partition.functions.first(), problem(partition))
        else {
            continue;
        };
        let span: &Span = &function.name.span;
        let message = format!("`{}` cannot run pipe functions", partition.name.value);
        report.add(RULE.at(span, message).here(why).help(help));
    }
}

/// Problem and remedy.
pub(super) fn problem(partition: &PartitionDraft) -> Option<(&'static str, &'static str)> {
    if partition.functions.is_empty() {
        return None;
    }
    if partition.kind.value() == Some(Kind::Image) {
        return Some((
            "nothing is known of what runs there",
            "make it a function of another partition",
        ));
    }
    let placed = partition.schedule.by_priority() == Some(true);
    placed.then_some((
        "priorities order its VCPUs",
        "drop `order = \"fixed-priority\"`, or give the functions a partition of their own",
    ))
}
