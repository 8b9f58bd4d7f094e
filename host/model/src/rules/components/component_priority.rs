//! Priorities beside VCPUs

use crate::diagnostic::Report;
use crate::draft::{ComponentDraft, Draft, PartitionDraft, VcpuDraft};
use crate::timing::Order;

crate::rules::declaration::rule! {
    Error, "component-priority",
    "beside VCPUs, a component with a priority is less important than all of them",
    "A thread with a priority has no place in the analysis of the VCPUs of its core, those of stages among them, so it runs while no VCPU \
     does. Where `order` is `fixed-priority`, its priority is a larger number than those of the VCPUs; else it is 48 or more.",
    check
}

/// First priority that is less important than all VCPUs where rates or deadlines order them; as the scheduler has it.
const BACKGROUND: u64 = 48;

fn check(draft: &Draft, report: &mut Report) {
    for (partition, component) in super::all(draft) {
        let Some(priority) = component.priority.given() else {
            continue;
        };
        let Some((vcpu, least)) = least_of_vcpus(partition, component) else {
            continue;
        };
        if priority.value <= least {
            let message = format!(
                "`{}` has priority {} and would delay {vcpu}",
                component.path(partition),
                priority.value
            );
            report.add(RULE.at(&priority.span, message).here("here").help(format!(
                "write `priority = {}` or more, or describe a task on a VCPU, with `tasks` in place of `priority`",
                least + 1
            )));
        }
    }
}

fn named(vcpu: &VcpuDraft) -> String {
    format!("the VCPU `{}`", vcpu.name.value)
}

/// The least important VCPU of the component's core, and the least important priority that VCPUs there have.
fn least_of_vcpus(partition: &PartitionDraft, component: &ComponentDraft) -> Option<(String, u64)> {
    partition.scheduler(component.core())?;
    let core = component.core()?;
    if !partition.functions.is_empty() && partition.runs_stages(core) {
        return Some(("the stages of its core".to_owned(), BACKGROUND - 1));
    }
    let here = partition.vcpus.iter();
    let mut here = here.filter(|vcpu| vcpu.core.or(0) == Some(core)).peekable();
    let first = here.peek()?;
    if partition.schedule.order.value() != Some(Order::FixedPriority) {
        return Some((named(first), BACKGROUND - 1));
    }
    let placed = here.filter_map(|vcpu| Some((vcpu, vcpu.priority.value()?)));
    let least = placed.max_by_key(|(_, priority)| *priority);
    least.map(|(vcpu, priority)| (named(vcpu), priority))
}
