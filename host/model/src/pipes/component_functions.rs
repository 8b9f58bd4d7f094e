//! Pipe functions that components execute
//!
//! The scheduler that runs a stage invokes the component of the stage's function. Component and scheduler share memory for jobs, which
//! the boot component maps (`bulkhead_abi::component::pipe_functions`).

use super::pipe::Pipe;
use crate::draft::PartitionDraft;
use crate::system::{Component, Image, Partition, PartitionId};
use bulkhead_abi::component::{Role, pipe_functions};
use bulkhead_abi::{name_field, name_text};

/// The functions of a partition that components execute, with these.
pub(crate) fn all(partition: &PartitionDraft) -> Vec<[String; 2]> {
    let functions = partition.functions.iter();
    let executed = functions.filter_map(|function| {
        let component = function.component.value()?;
        Some([function.name.value.clone(), component])
    });
    executed.collect()
}

/// Name of the interface of a component with pipe functions.
pub(crate) fn interface(component: &str) -> String {
    name_text(&pipe_functions::name(name_field(component))).to_owned()
}

/// Gives each component with functions its interface and a stack for each stage that may execute them, and the scheduler of its core
/// the right to invoke it.
pub(crate) fn arrange(partition: &mut Partition, id: PartitionId, pipes: &[Pipe]) {
    let Image::Components(components) = &mut partition.image else {
        return;
    };
    let executes = |component: &Component, function: &str| {
        let mut functions = partition.component_functions.iter();
        functions.any(|[name, executor]| name == function && *executor == component.name)
    };
    let spare = partition.spare.map_or(0, |spare| spare.stages as usize);
    let mut invoked = Vec::new();
    for component in components.iter_mut() {
        let is_used = |[_, executor]: &[String; 2]| *executor == component.name;
        if !partition.component_functions.iter().any(is_used) {
            continue;
        }
        let places = pipes.iter().flat_map(|pipe| &pipe.places);
        let here = places.filter(|place| place.partition == id && !place.linux);
        let stages = here.filter(|place| {
            let fallback = place.fallback.iter();
            let mut names = fallback.chain([&place.function]);
            names.any(|name| executes(component, name))
        });
        let stacks = (stages.count() + spare).clamp(1, pipe_functions::JOBS);
        component.job_stacks = stacks as u16;
        let interface = interface(&component.name);
        component.provides.push(interface.clone());
        invoked.push((component.core, interface));
    }
    for (core, interface) in invoked {
        let mut schedulers = components.iter_mut();
        let scheduler = schedulers.find(|one| one.role == Role::Scheduler && one.core == core);
        if let Some(scheduler) = scheduler {
            scheduler.needs.push(interface);
        }
    }
}
