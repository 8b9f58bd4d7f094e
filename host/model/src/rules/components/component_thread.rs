//! Only components that can have a thread have one

use crate::diagnostic::Report;
use crate::draft::Draft;
use bulkhead_abi::component::Role;

crate::rules::declaration::rule! {
    Error, "component-thread",
    "an application has a priority or tasks, and a component with a thread has a scheduler on its core",
    "A priority gives a component a thread, and so does each of its tasks, on the task's VCPU. Boot component and scheduler \
     stand above all of them; a driver without a thread only answers invocations.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, component) in super::all(draft) {
        let path = component.path(partition);
        let scheduled = partition.scheduler(component.core()).is_some();
        let thread = match (component.priority.span(), component.tasks.span()) {
            (None, None) if component.has_thread() => continue,
            (priority, tasks) => priority.or(tasks),
        };
        match (thread, component.role()) {
            (None, Some(Role::Application)) => report.add(
                RULE.at(
                    &component.name.span,
                    format!("application `{path}` has neither a priority nor tasks"),
                )
                .here("it would never run")
                .help("write `priority = 1`, or `role = \"driver\"` if it only answers"),
            ),
            (Some(thread), Some(Role::Boot | Role::Scheduler)) => report.add(
                RULE.at(
                    thread,
                    format!("`{path}` can have neither a priority nor tasks"),
                )
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
