//! Parts of the partition, and components that can own them

use crate::diagnostic::Report;
use crate::draft::{Draft, PART_NAMES, items, part};
use crate::suggestion::advice;
use bulkhead_abi::component::{Part, Role};

crate::rules::declaration::rule! {
    Error, "component-part",
    "a component owns parts that its partition has, and that its role may have",
    "The heartbeat and the capability to the monitor speak for the partition as a whole: they belong to the scheduler, \
     which announces that the partition is up. The boot component has every capability, so it needs no part of its \
     own.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, component) in super::all(draft) {
        let path = component.path(partition);
        let named = items(&component.owns).filter(|name| part(&name.value).is_none());
        let (functions, unknown): (Vec<_>, Vec<_>) = named.partition(|name| {
            let mut listed = draft.functions(partition);
            listed.any(|(function, _)| function.value == name.value)
        });
        for name in unknown {
            let message = format!("a partition has no part `{}`", name.value);
            report.add(
                RULE.at(&name.span, message)
                    .here("neither a part nor a function among its devices")
                    .help(advice(&name.value, "part", &PART_NAMES)),
            );
        }
        if let [_, second, ..] = functions.as_slice() {
            let message = format!("`{path}` drives more than one function");
            report.add(
                RULE.at(&second.span, message)
                    .here("it waits for the interrupt of one")
                    .help("give each function a component of its own"),
            );
        }
        let announces = component.parts().any(|(part, _)| part == Part::Monitor);
        if component.is(Role::Scheduler) && !announces {
            report.add(
                RULE.at(
                    &component.name.span,
                    format!("scheduler `{path}` does not own the monitor"),
                )
                .here("no component would announce that the partition is up")
                .help("write `owns = [\"monitor\"]`"),
            );
        }
        for (part, span) in component.parts() {
            let whole = matches!(part, Part::Heartbeat | Part::Monitor);
            let wrong = match component.role() {
                Some(Role::Boot) => Some("leave it to the others"),
                Some(role) if whole && role != Role::Scheduler => Some("leave it to the scheduler"),
                _ if part == Part::Trace && partition.trace.is_absent() => {
                    Some("give the partition a `trace`")
                }
                _ => None,
            };
            if let Some(help) = wrong {
                let message = format!("`{path}` cannot own the {}", PART_NAMES[part as usize]);
                report.add(
                    RULE.at(span, message)
                        .here("not for this component")
                        .help(help),
                );
            }
        }
    }
}
