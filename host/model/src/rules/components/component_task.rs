//! A component's thread is one task, and a task one component's

use crate::diagnostic::Report;
use crate::draft::{ComponentDraft, Draft, PartitionDraft};
use crate::suggestion::advice;

crate::rules::declaration::rule! {
    Error, "component-task",
    "a component's task is one of its partition, on its core, no other component's, and in place of a priority",
    "The task gives the VCPU on which the component's thread runs. The thread's time is charged to this VCPU, and the \
     analysis computes the task's bound.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, component) in super::all(draft) {
        let Some(task) = component.task.given() else {
            continue;
        };
        if let Some((problem, help)) = problem(partition, component, &task.value) {
            let message = format!("`{}` {problem}", component.path(partition));
            report.add(RULE.at(&task.span, message).here("here").help(help));
        }
    }
}

fn problem(
    partition: &PartitionDraft,
    component: &ComponentDraft,
    name: &str,
) -> Option<(String, String)> {
    let found = partition.tasks.iter().find(|task| task.name.value == name);
    let Some(task) = found else {
        let names = partition.tasks.iter();
        let names: Vec<_> = names.map(|task| task.name.value.as_str()).collect();
        let problem = format!("is no task `{name}`");
        return Some((problem, advice(name, "task", &names)));
    };
    if component.priority.given().is_some() {
        let problem = "has a priority and is a task".to_owned();
        return Some((problem, "leave `priority` out: its VCPU has one".into()));
    }
    let same = |other: &&ComponentDraft| {
        other.name.value != component.name.value
            && other.task.given().is_some_and(|task| task.value == name)
    };
    if let Some(other) = partition.components.iter().find(same) {
        let problem = format!("is the same task as `{}`", other.path(partition));
        return Some((problem, "describe a task for each of them".into()));
    }
    let vcpu = partition.vcpu(&task.vcpu.value()?)?;
    (vcpu.core.or(0)? != component.core()?).then(|| {
        let problem = format!("is on another core than `{}`", vcpu.name.value);
        (problem, "give the component the `core` of its VCPU".into())
    })
}
