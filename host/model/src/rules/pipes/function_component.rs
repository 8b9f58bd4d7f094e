//! Components that execute pipe functions can do so

use crate::diagnostic::Report;
use crate::draft::{ComponentDraft, Draft, PartitionDraft, PipeFunctionDraft};
use crate::kinds::Kind;
use crate::suggestion::advice;
use bulkhead_abi::component::{Role, pipe_functions};

crate::rules::declaration::rule! {
    Error, "function-component",
    "the `component` of a pipe function is an application with one thread, on the function's core, with room for the function",
    "The thread initialises the program and reports that it works; then stages invoke the functions, each stage on its own VCPU. A component \
     that restarts has one thread.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for partition in &draft.partitions {
        for function in &partition.functions {
            let Some((message, here, help)) = problem(partition, function) else {
                continue;
            };
            let span = function.component.span().cloned().unwrap_or_default();
            report.add(RULE.at(&span, message).here(here).help(help));
        }
    }
}

/// Message, place and remedy.
type Problem = (String, &'static str, String);

fn problem(partition: &PartitionDraft, function: &PipeFunctionDraft) -> Option<Problem> {
    let name = function.component.given()?;
    let owner = &partition.name.value;
    if partition.kind.value() != Some(Kind::Rtos) {
        return Some((
            format!("`{owner}` has no components for pipe functions"),
            "only an rtos partition has components",
            "leave `component` out, or move the function to an rtos partition".into(),
        ));
    }
    let mut components = partition.components.iter();
    let Some(component) = components.find(|one| one.name.value == name.value) else {
        let names = partition
            .components
            .iter()
            .map(|one| one.name.value.as_str());
        let names: Vec<_> = names.collect();
        return Some((
            format!("`{owner}` has no component `{}`", name.value),
            "not described",
            advice(&name.value, "component", &names),
        ));
    };
    unfit(partition, component, function).or_else(|| crowded(partition, component, function))
}

/// The component cannot execute the function.
fn unfit(
    partition: &PartitionDraft,
    component: &ComponentDraft,
    function: &PipeFunctionDraft,
) -> Option<Problem> {
    if !component.is(Role::Application) {
        return Some((
            format!("`{}` is no application", component.path(partition)),
            "cannot execute pipe functions",
            "functions of the scheduler's own program need no `component`".into(),
        ));
    }
    if partition.thread_count(component) != 1 {
        return Some((
            format!(
                "`{}` has {} threads",
                component.path(partition),
                partition.thread_count(component)
            ),
            "a component with pipe functions has one",
            "give it a `priority` and no `tasks`".into(),
        ));
    }
    if component.core() != function.core.or(0) {
        return Some((
            format!(
                "`{}` is not on the core of its function `{}`",
                component.path(partition),
                function.name.value
            ),
            "stages invoke functions of their core",
            "write the same `core` for both".into(),
        ));
    }
    None
}

/// The function is the first too many of the component.
fn crowded(
    partition: &PartitionDraft,
    component: &ComponentDraft,
    function: &PipeFunctionDraft,
) -> Option<Problem> {
    let name = &component.name;
    let same = |one: &&PipeFunctionDraft| one.component.value().as_ref() == Some(&name.value);
    let functions = partition.functions.iter().filter(same);
    let place = functions.take_while(|one| one.name.value != function.name.value);
    (place.count() >= pipe_functions::MOST).then(|| {
        (
            format!(
                "`{}` has more than {} pipe functions",
                component.path(partition),
                pipe_functions::MOST
            ),
            "the first too many",
            "put some of them into another component".into(),
        )
    })
}
