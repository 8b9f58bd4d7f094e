//! Tasks without a VCPU

use crate::diagnostic::Report;
use crate::draft::{Draft, PartitionDraft, TaskDraft};

crate::rules::declaration::rule! {
    Error, "task-priority",
    "a task without a `vcpu` is the only one of a component with a `priority`, and the clock or an interrupt releases it",
    "The first thread of a component executes it at the component's priority. Beside stages of pipes, which can be started at run time, \
     such a task has no bound.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for task in &partition.tasks {
            if let Some((problem, help)) = problem(partition, task) {
                let message = format!("the task `{}` {problem}", task.name.value);
                report.add(RULE.at(&task.name.span, message).here("here").help(help));
            }
        }
    }
}

/// Error of a task, and what to do.
pub(super) fn problem(partition: &PartitionDraft, task: &TaskDraft) -> Option<(String, String)> {
    let name = &task.name.value;
    let after = task.after.given().map(|after| &after.value);
    if task.has_vcpu() {
        let first = partition.task(after?)?;
        return (!first.has_vcpu()).then(|| {
            let problem = format!("comes after `{}`, which has no `vcpu`", first.name.value);
            (
                problem,
                "write the `vcpu` of both, or leave out `after`".into(),
            )
        });
    }
    let executes =
        |component: &&crate::draft::ComponentDraft| component.task_names().any(|one| one == name);
    let Some(component) = partition.components.iter().find(executes) else {
        let problem = "has no `vcpu`, and no component executes it at its priority".to_owned();
        let help = format!(
            "write the `vcpu` that it runs on, or `tasks = [\"{name}\"]` in a component with a `priority`"
        );
        return Some((problem, help));
    };
    let path = component.path(partition);
    if component.priority.is_absent() {
        let problem = format!("has no `vcpu`, and `{path}` has no `priority`");
        return Some((problem, "write one of them".into()));
    }
    if task.cause.given().is_some() || after.is_some() {
        let problem =
            "has no `vcpu`, so that nothing waits for it and no task releases it".to_owned();
        return Some((
            problem,
            "leave out `for` and `after`, or write a `vcpu`".into(),
        ));
    }
    if let Some(other) = partition
        .priority_tasks(component)
        .find(|one| one.name.value != *name)
    {
        let problem = format!(
            "has no `vcpu`, nor has `{}`, and one thread of `{path}` has its priority",
            other.name.value
        );
        return Some((
            problem,
            "describe both as one task, or give one a component of its own".into(),
        ));
    }
    (!partition.functions.is_empty() && partition.runs_stages(component.core()?)).then(|| {
        let problem = format!("runs behind the stages of the core of `{path}`, and has no bound");
        (problem, "write the `vcpu` that it runs on".into())
    })
}
