//! Threads belong to those who can have one

use crate::diagnostic::Report;
use crate::draft::{Draft, Field};
use bulkhead_abi::component::Role;

crate::rules::rule! {
    Error, "component-thread",
    "an application has a priority, and a component with a priority has a scheduler on its core to rank it",
    "A priority gives a component its thread. Boot component and scheduler stand above all priorities; a \
     driver without one only answers invocations.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, component) in super::all(draft) {
        let path = component.path(partition);
        let scheduled = partition.scheduler(component.core()).is_some();
        match (&component.priority, component.role()) {
            (Field::Absent, Some(Role::Application)) => report.add(
                RULE.at(
                    &component.name.span,
                    format!("application `{path}` has no priority"),
                )
                .here("it would never run")
                .help("write `priority = 1`, or `role = \"driver\"` if it only answers"),
            ),
            (Field::Given(priority), Some(Role::Boot | Role::Scheduler)) => report.add(
                RULE.at(&priority.span, format!("`{path}` can have no priority"))
                    .here("stands above all priorities")
                    .help("leave it out"),
            ),
            (Field::Given(priority), Some(_)) if !scheduled => report.add(
                RULE.at(
                    &priority.span,
                    format!("nobody schedules the thread of `{path}`"),
                )
                .here("compared with nothing")
                .help("add a component with `role = \"scheduler\"` on its `core`"),
            ),
            _ => {}
        }
    }
}
