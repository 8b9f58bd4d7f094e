//! Text about the resources that components of a partition own, and about the bounds of threads at priorities

use crate::draft::PART_NAMES;
use crate::ids::ChannelId;
use crate::kinds::Criticality;
use crate::quantity::{size_text, time_text};
use crate::system::{Component, Image, Partition, SharedMemory, System};
use bulkhead_abi::component::{ANY_CORE, Part, Role};
use std::fmt::Write;

/// For each component what it is, provides, needs and owns.
#[must_use]
pub fn components_text(system: &System, partition: &Partition) -> String {
    let mut text = String::new();
    if let Image::Components(components) = &partition.image {
        // Writing to a string cannot fail.
        let _ = components
            .iter()
            .try_for_each(|one| write_one(&mut text, system, partition, one));
    }
    text.push_str(&partition.timing.priorities_text());
    text
}

fn write_one(
    out: &mut String,
    system: &System,
    partition: &Partition,
    component: &Component,
) -> std::fmt::Result {
    let role = match component.role {
        Role::Application => "application",
        Role::Driver => "driver",
        Role::Scheduler => "scheduler",
        Role::Boot => "boot",
    };
    let criticality = match component.criticality {
        Criticality::Qm => "QM".to_owned(),
        level => format!("{level:?}"),
    };
    let name = &component.name;
    write!(
        out,
        "  component {name:<15}  {role}, criticality {criticality}"
    )?;
    if let Some(priority) = component.priority {
        write!(out, ", priority {priority}")?;
    }
    for &task in &component.tasks {
        write!(out, ", task {}", partition.timing.tasks[task].name)?;
    }
    if let Some([budget, period]) = component.budget_ns {
        write!(out, ", {} in {}", time_text(budget), time_text(period))?;
    }
    match component.core {
        0 => {}
        ANY_CORE => write!(out, ", every core")?,
        core => write!(out, ", core {core}")?,
    }
    write!(out, ", stack {}", size_text(component.stack))?;
    if component.memory > 0 {
        write!(out, ", memory {}", size_text(component.memory))?;
    }
    writeln!(out)?;
    write_lists(out, system, partition, component)
}

/// Resources of other components and of the partition that it has.
fn write_lists(
    out: &mut String,
    system: &System,
    partition: &Partition,
    component: &Component,
) -> std::fmt::Result {
    let channel = |id: &ChannelId| system.channels[id.0].name.clone();
    let part = |part: &Part| PART_NAMES[*part as usize].to_owned();
    let function = component
        .function
        .map(|id| system.functions[id.0].name.clone());
    let has = |shared: &&SharedMemory| shared.components.contains(&component.name);
    let shared = partition.shared.iter().filter(has);
    for (what, names) in [
        ("provides", component.provides.clone()),
        ("needs", component.needs.clone()),
        ("channels", component.channels.iter().map(channel).collect()),
        (
            "doorbells",
            component.doorbells.iter().map(channel).collect(),
        ),
        (
            "owns",
            component.owns.iter().map(part).chain(function).collect(),
        ),
        ("shares", shared.map(|one| one.name.clone()).collect()),
    ] {
        if !names.is_empty() {
            writeln!(out, "    {what:<9} {}", names.join(", "))?;
        }
    }
    Ok(())
}
