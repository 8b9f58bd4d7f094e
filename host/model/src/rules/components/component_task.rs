//! A component's tasks

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::{ComponentDraft, Draft, PartitionDraft};
use crate::suggestion::advice;
use bulkhead_abi::component::{MAX_COMPONENT_THREADS, OnFault};
use bulkhead_abi::timing::MAX_TASKS;

crate::rules::declaration::rule! {
    Error, "component-task",
    "a component's tasks are tasks of its partition, on its core, no other component's, and few enough",
    "Each task is executed by one thread of one component, on the task's VCPU; the analysis computes its bound. The components \
     of a partition execute its first 16 tasks and have 24 threads. A component with several threads cannot be restarted: \
     one of them may be inside of another component when another one faults.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, component) in super::all(draft) {
        for task in component
            .tasks
            .given()
            .into_iter()
            .flat_map(|all| &all.value)
        {
            if let Some((problem, help)) = problem(partition, component, task) {
                let message = format!("`{}` {problem}", component.path(partition));
                report.add(RULE.at(&task.span, message).here("here").help(help));
            }
        }
        if let Some(tasks) = component.tasks.given()
            && partition.thread_count(component) > 1
            && component.on_fault.value() == Some(OnFault::Restart)
        {
            let count = partition.thread_count(component);
            let message = format!(
                "`{}` has {count} threads, and only components with one can be restarted",
                component.path(partition)
            );
            report.add(RULE.at(&tasks.span, message).here("here").help(
                "write `on_fault = \"stop\"` or `\"fail\"`, or give each task a component of its own",
            ));
        }
    }
    for partition in &draft.partitions {
        let components = partition.components.iter();
        let threads = components.map(|component| partition.thread_count(component));
        let count: usize = threads.sum();
        if count > MAX_COMPONENT_THREADS {
            let name = &partition.name;
            let message = format!(
                "the components of `{}` have {count} threads, and {MAX_COMPONENT_THREADS} is the limit",
                name.value
            );
            report.add(
                RULE.at(&name.span, message)
                    .help("execute several tasks in one, or move some to another partition"),
            );
        }
    }
}

fn problem(
    partition: &PartitionDraft,
    component: &ComponentDraft,
    name: &At<String>,
) -> Option<(String, String)> {
    let name = &name.value;
    let Some(task) = partition.task(name) else {
        let names = partition.tasks.iter();
        let names: Vec<_> = names.map(|task| task.name.value.as_str()).collect();
        let problem = format!("executes a task `{name}`, which the partition does not have");
        return Some((problem, advice(name, "task", &names)));
    };
    let number = partition
        .vcpu_tasks()
        .position(|one| one.name.value == *name);
    if let Some(number) = number.filter(|&number| number >= MAX_TASKS) {
        let problem = format!(
            "executes `{name}`, task {} of the partition, and components execute the first {MAX_TASKS}",
            number + 1
        );
        return Some((
            problem,
            "execute several tasks in one, or move some to another partition".into(),
        ));
    }
    let executes = |other: &&ComponentDraft| other.task_names().any(|task| task == name);
    let others = partition.components.iter().filter(executes);
    if let Some(other) = others
        .into_iter()
        .find(|other| other.name.value != component.name.value)
    {
        let problem = format!("executes `{name}`, as does `{}`", other.path(partition));
        return Some((problem, "describe a task for each of them".into()));
    }
    if component.task_names().filter(|task| *task == name).count() > 1 {
        let problem = format!("names the task `{name}` twice");
        return Some((problem, "leave one out".into()));
    }
    let vcpu = partition.vcpu(&task.vcpu.value()?)?;
    (vcpu.core.or(0)? != component.core()?).then(|| {
        let problem = format!("is on another core than `{}`", vcpu.name.value);
        (problem, "give the component the `core` of its VCPU".into())
    })
}
