//! A task is released by another one of the same kind

use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft, TaskDraft};
use crate::suggestion::advice;

crate::rules::declaration::rule! {
    Error, "task-after",
    "the task that releases another one is of the same core and has the same period, and none releases itself",
    "A job begins where one of the other ends, so that they come as often as that one's, and a response that counts from \
     its release is the sum of both.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for task in &partition.tasks {
            if let Some((problem, help)) = problem(partition, task) {
                let span = task.after.span().unwrap_or(&task.name.span);
                let message = format!("task `{}` {problem}", task.name.value);
                report.add(RULE.at(span, message).here("here").help(help));
            }
        }
    }
}

/// Error in a task's `after`.
pub(super) fn problem(partition: &PartitionDraft, task: &TaskDraft) -> Option<(String, String)> {
    let after = task.after.given()?.value.as_str();
    let named = |name: &str| partition.tasks.iter().find(|one| one.name.value == name);
    let Some(first) = named(after) else {
        let names = partition.tasks.iter();
        let names: Vec<_> = names.map(|one| one.name.value.as_str()).collect();
        let problem = format!("comes after `{after}`, which is no task");
        return Some((problem, advice(after, "task", &names)));
    };
    let mut before = Some(first);
    for _ in &partition.tasks {
        let Some(one) = before else { break };
        if one.name.value == task.name.value {
            let problem = "is released by its own end".to_owned();
            return Some((problem, "one of them is released by something else".into()));
        }
        before = one.after.given().and_then(|name| named(&name.value));
    }
    if first.period.value()? != task.period.value()? {
        let problem = format!("has another period than `{after}`, which releases it");
        return Some((problem, "write the same `period`".into()));
    }
    let core = |task: &TaskDraft| partition.vcpu(&task.vcpu.value()?)?.core.or(0);
    (core(first)? != core(task)?).then(|| {
        let problem = format!("is on another core than `{after}`, which releases it");
        (problem, "put their VCPUs on one `core`".into())
    })
}
