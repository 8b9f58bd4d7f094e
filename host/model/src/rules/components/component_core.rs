//! Components are on cores that there are

use crate::diagnostic::Report;
use crate::draft::{ComponentDraft, Draft, PartitionDraft};
use crate::source::Span;
use bulkhead_abi::component::{COMPONENT_CORES, Role};

crate::rules::declaration::rule! {
    Error, "component-core",
    "a component's core is one of its partition's, and what it needs is there or serves every core",
    "A thread stays on its core, even while it executes in another component. A component that threads of several \
     cores invoke runs on these cores at the same time. It must be written for that, which `every_core` states.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for (partition, component) in super::all(draft) {
        if let Some((span, problem, help)) = misplaced(partition, component) {
            let message = format!("`{}` {problem}", component.path(partition));
            report.add(RULE.at(&span, message).here("not there").help(help));
            continue;
        }
        for (need, provider) in super::providers(partition, component) {
            if component.is(Role::Boot) || provider.serves(component.core()) {
                continue;
            }
            let message = format!(
                "`{}` needs `{}` of `{}` on another core",
                component.path(partition),
                need.value,
                provider.path(partition)
            );
            report.add(
                RULE.at(&need.span, message)
                    .here("its thread cannot be in there")
                    .label(&provider.place(&provider.core), "provided here")
                    .help("put them on one `core`, or write `every_core = true` if the provider can be in several"),
            );
        }
    }
}

fn misplaced(
    partition: &PartitionDraft,
    component: &ComponentDraft,
) -> Option<(Span, String, &'static str)> {
    let core = component.core()?;
    let cores = partition.core_count().min(COMPONENT_CORES) as u64;
    if core >= cores {
        let problem = format!("is on core {core} of {cores}");
        let help = "cores of a partition are numbered from 0";
        return Some((component.place(&component.core), problem, help));
    }
    let stays = component.role() != Some(Role::Driver) || component.has_thread();
    if component.everywhere() && stays {
        let problem = "is not on every core: its thread is on one".to_owned();
        let help = "leave `every_core` out: it is for drivers without a thread, which answer only";
        return Some((component.place(&component.every_core), problem, help));
    }
    if component.is(Role::Boot) && core != 0 {
        let problem = "is started on the first core".to_owned();
        return Some((
            component.place(&component.core),
            problem,
            "leave `core` out",
        ));
    }
    None
}
