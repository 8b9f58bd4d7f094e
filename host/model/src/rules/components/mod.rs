//! Rules about components

pub(crate) mod component_budget;
pub(crate) mod component_core;
pub(crate) mod component_criticality;
pub(crate) mod component_cycle;
pub(crate) mod component_doorbell;
pub(crate) mod component_for_kind;
pub(crate) mod component_image;
pub(crate) mod component_memory;
pub(crate) mod component_part;
pub(crate) mod component_priority;
pub(crate) mod component_program;
pub(crate) mod component_restart;
pub(crate) mod component_roles;
pub(crate) mod component_sources;
pub(crate) mod component_task;
pub(crate) mod component_thread;
pub(crate) mod components_count;
pub(crate) mod heartbeat_unowned;
pub(crate) mod interface_twice;
pub(crate) mod interface_unprovided;
pub(crate) mod part_twice;
pub(crate) mod shared_memory;
pub(crate) mod trust_unused;
pub(crate) mod unknown_end;

use crate::diagnostic::Report;
use crate::document::At;
use crate::draft::{ChannelDraft, ComponentDraft, Draft, PartitionDraft, items};
use crate::rules::declaration::Rule;

/// In the order of the reference.
pub(super) const RULES: &[&Rule] = &[
    &component_for_kind::RULE,
    &components_count::RULE,
    &component_roles::RULE,
    &component_image::RULE,
    &component_program::RULE,
    &component_core::RULE,
    &component_thread::RULE,
    &component_sources::RULE,
    &component_task::RULE,
    &component_priority::RULE,
    &component_budget::RULE,
    &component_restart::RULE,
    &component_memory::RULE,
    &shared_memory::RULE,
    &interface_unprovided::RULE,
    &interface_twice::RULE,
    &component_cycle::RULE,
    &component_criticality::RULE,
    &trust_unused::RULE,
    &unknown_end::RULE,
    &component_doorbell::RULE,
    &component_part::RULE,
    &part_twice::RULE,
    &heartbeat_unowned::RULE,
];

/// All components of a system, with their partitions.
fn all(draft: &Draft) -> impl Iterator<Item = (&PartitionDraft, &ComponentDraft)> {
    draft.partitions.iter().flat_map(|partition| {
        let components = partition.components.iter();
        components.map(move |component| (partition, component))
    })
}

/// Reports what two components of a partition name though one has it. `names` are a component's,
/// each with its sort, since sorts have names of their own; `has` and `of` say how.
fn report_twice<'d, N, S>(
    rule: &'static Rule,
    draft: &'d Draft,
    report: &mut Report,
    names: impl Fn(&'d ComponentDraft) -> N,
    [has, of, help]: [&'static str; 3],
) where
    N: Iterator<Item = (&'d At<String>, S)>,
    S: PartialEq + 'd,
{
    for partition in &draft.partitions {
        let mut seen: Vec<(&At<String>, S, &ComponentDraft)> = Vec::new();
        for component in &partition.components {
            for (name, sort) in names(component) {
                let before = seen
                    .iter()
                    .find(|(one, same, _)| one.value == name.value && *same == sort);
                if let Some((first, _, other)) = before {
                    let message = format!(
                        "`{}` {has} {of} `{}` and {of} `{}`",
                        name.value,
                        other.path(partition),
                        component.path(partition)
                    );
                    report.add(
                        rule.at(&name.span, message)
                            .here("and here")
                            .label(&first.span, "here")
                            .help(help),
                    );
                }
                seen.push((name, sort, component));
            }
        }
    }
}

/// The interfaces that a component needs, with their providers.
fn providers<'a>(
    partition: &'a PartitionDraft,
    component: &'a ComponentDraft,
) -> impl Iterator<Item = (&'a At<String>, &'a ComponentDraft)> {
    items(&component.needs)
        .filter_map(|name| Some((name, partition.provider(component, &name.value)?)))
}

/// The channels of which a partition has an end; a standby has those that it takes over.
fn ends<'a>(
    draft: &'a Draft,
    partition: &'a PartitionDraft,
) -> impl Iterator<Item = &'a ChannelDraft> {
    let holder = draft.primary_of(partition).unwrap_or(partition);
    let name = holder.name.value.as_str();
    let channels = draft.channels.iter();
    channels.filter(move |channel| channel.ends().any(|end| end.value == name))
}
