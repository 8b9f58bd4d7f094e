//! A bottom half works for a main VCPU

use crate::diagnostic::Report;
use crate::draft::{Draft, KindDraft, PartitionDraft, TaskDraft};

crate::rules::declaration::rule! {
    Error, "task-cause",
    "a task on an I/O VCPU names the main VCPU of the same core that waits for it; others name none",
    "A bottom half runs at the priority of the main VCPU that waits for it (`for`), so that no \
     interrupt delays what matters more than its cause.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for task in &partition.tasks {
            if let Some(problem) = problem(partition, task) {
                let span = task.cause.span().unwrap_or(&task.name.span);
                report.add(
                    RULE.at(span, format!("task `{}` {problem}", task.name.value))
                        .here("here")
                        .help("`for` is the main VCPU on whose behalf a task on an I/O VCPU runs"),
                );
            }
        }
    }
}

/// Error in a task's `for`.
pub(super) fn problem(partition: &PartitionDraft, task: &TaskDraft) -> Option<&'static str> {
    let vcpu = partition.vcpu(&task.vcpu.value()?)?;
    if vcpu.is(KindDraft::Main) || vcpu.is(KindDraft::Reservation) {
        let needless = task.cause.given().is_some();
        return needless.then_some("runs on its own main VCPU and works only for this one");
    }
    if !vcpu.is(KindDraft::Io) {
        return None;
    }
    if task.cause.is_absent() {
        return Some("is on an I/O VCPU, and no main VCPU waits for it");
    }
    let cause = partition.vcpu(&task.cause.value()?)?;
    if cause.is(KindDraft::Io) {
        Some("works for an I/O VCPU, which has no priority of its own")
    } else if cause.time_partition.or(0)? != 0 {
        Some("works for a VCPU that is not always eligible")
    } else if cause.core.or(0)? != vcpu.core.or(0)? {
        Some("works for a VCPU on another core")
    } else {
        None
    }
}
