//! One boots, and at most one schedules each core

use crate::diagnostic::Report;
use crate::draft::{ComponentDraft, Draft, PartitionDraft};
use bulkhead_abi::component::{COMPONENT_CORES, Role};

crate::rules::declaration::rule! {
    Error, "component-roles",
    "a partition of components has one boot component and at most one scheduler for each core",
    "The kernel starts the boot component with every capability; it gives the others theirs. Threads of \
     different components of a core are scheduled by one scheduler.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let made = draft
        .partitions
        .iter()
        .filter(|partition| !partition.components.is_empty());
    for partition in made {
        let of = |role| partition.components.iter().filter(move |c| c.is(role));
        let unknown = partition.components.iter().any(|c| c.role().is_none());
        if of(Role::Boot).next().is_none() && !unknown {
            let message = format!("no component of `{}` boots it", partition.name.value);
            report.add(
                RULE.at(&partition.name.span, message)
                    .here("no component starts the others")
                    .help("add one with `role = \"boot\"` and `image = { crate = \"bulkhead-boot\" }`"),
            );
        }
        second(partition, of(Role::Boot), "boots it", report);
        for core in 0..COMPONENT_CORES as u64 {
            let schedulers = of(Role::Scheduler).filter(|one| one.core() == Some(core));
            second(
                partition,
                schedulers,
                &format!("schedules core {core} of it"),
                report,
            );
        }
    }
}

fn second<'a>(
    partition: &PartitionDraft,
    mut components: impl Iterator<Item = &'a ComponentDraft>,
    does: &str,
    report: &mut Report,
) {
    if let (Some(first), Some(second)) = (components.next(), components.next()) {
        let message = format!(
            "more than one component of `{}` {does}",
            partition.name.value
        );
        report.add(
            RULE.at(&second.place(&second.role), message)
                .here("and this one")
                .label(&first.place(&first.role), "this one")
                .help("give one of them another role, or another `core`"),
        );
    }
}
