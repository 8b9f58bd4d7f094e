//! A restartable component has a thread, and no device that continues during the restart

use crate::diagnostic::Report;
use crate::draft::{ComponentDraft, Draft, items};
use crate::source::Span;
use bulkhead_abi::component::OnFault;

crate::rules::declaration::rule! {
    Error, "component-restart",
    "a component that is restarted has a thread and no device, and a budget of restarts belongs to one that is",
    "A fault in an invoked component is its client's to deal with; a thread that faults at home, or a job of a pipe function, can \
     have its component built anew. A device would go on with what its driver began: the partition is \
     restarted as a whole.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, component) in super::all(draft) {
        let path = component.path(partition);
        let drives = draft.functions(partition).any(|(function, _)| {
            let mut owned = items(&component.owns);
            owned.any(|name| name.value == function.value)
        });
        if let Some((span, problem, help)) = problem(component, drives) {
            let message = format!("`{path}` {problem}");
            report.add(RULE.at(&span, message).here("has no effect").help(help));
        }
    }
}

fn problem(component: &ComponentDraft, drives: bool) -> Option<(Span, &'static str, &'static str)> {
    let limits = [&component.restart.limit, &component.restart.per];
    let budget = limits.into_iter().find_map(|field| field.span());
    let restarts = component.on_fault.value() == Some(OnFault::Restart);
    if restarts && !component.has_thread() {
        let span = component.place(&component.on_fault);
        let problem = "cannot be restarted: it has no thread";
        return Some((
            span,
            problem,
            "leave `on_fault` out, or give it a `priority`",
        ));
    }
    if restarts && drives {
        let span = component.place(&component.on_fault);
        let problem = "cannot be restarted alone: it drives a device";
        return Some((
            span,
            problem,
            "leave `on_fault` out: the partition is restarted by its `on_panic`",
        ));
    }
    let span = budget.filter(|_| !restarts)?;
    let problem = "has a budget of restarts and is never restarted";
    let help = "write `on_fault = \"restart\"`, or leave `restart` out";
    Some((span.clone(), problem, help))
}
