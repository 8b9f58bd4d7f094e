//! Only components that can have a thread have one

use crate::diagnostic::Report;
use crate::draft::Draft;
use bulkhead_abi::component::Role;

crate::rules::declaration::rule! {
    Error, "component-thread",
    "an application has a priority or is a task, and a component with a thread has a scheduler on its core",
    "A priority gives a component its thread, or a task, which says on which VCPU. Boot component and scheduler \
     stand above all of them; a driver without a thread only answers invocations.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, component) in super::all(draft) {
        let path = component.path(partition);
        let scheduled = partition.scheduler(component.core()).is_some();
        let thread = match (component.priority.span(), component.task.span()) {
            (None, None) if component.has_thread() => continue,
            (priority, task) => priority.or(task),
        };
        match (thread, component.role()) {
            (None, Some(Role::Application)) => report.add(
                RULE.at(
                    &component.name.span,
                    format!("application `{path}` has no priority"),
                )
                .here("it would never run")
                .help("write `priority = 1`, or `role = \"driver\"` if it only answers"),
            ),
            (Some(thread), Some(Role::Boot | Role::Scheduler)) => report.add(
                RULE.at(thread, format!("`{path}` can have no priority"))
                    .here("stands above all priorities")
                    .help("leave it out"),
            ),
            (Some(thread), Some(_)) if !scheduled => report.add(
                RULE.at(thread, format!("no scheduler runs on the core of `{path}`"))
                    .here("compared with nothing")
                    .help("add a component with `role = \"scheduler\"` on its `core`"),
            ),
            _ => {}
        }
    }
}
