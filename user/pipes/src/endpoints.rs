//! Endpoints that functions of run-time pipes may use
//!
//! The repository lists them for each function, and names the VCPU that serves an endpoint of this
//! partition.

use crate::table;
use bulkhead_abi::pipe::{NONE, Stage};
use bulkhead_abi::repository::{Device, Function, Repository};
use bulkhead_component::first::Timing;

/// Returns whether the VCPU of that number serves an endpoint that run-time pipes may use.
pub(crate) fn serves(timing: &Timing, vcpu: u32) -> bool {
    timing
        .repository
        .is_some_and(|all| all.devices.iter().any(|device| device.vcpu == vcpu))
}

/// Returns whether the VCPU of that number scatters or gathers at such an endpoint.
pub(crate) fn scatters(timing: &Timing, vcpu: u32) -> bool {
    timing
        .repository
        .is_some_and(|all| all.devices.iter().any(|device| device.scatter == vcpu))
}

/// Functions of the partition that use endpoints.
pub(crate) fn functions<'b>(all: &Repository<'b>) -> impl Iterator<Item = &'b Function> + use<'b> {
    let is_here = is_here(*all);
    all.functions
        .iter()
        .filter(move |one| one.has_endpoint() && is_here(one))
}

/// Devices that a function reads and writes.
pub(crate) fn of<'b>(all: &Repository<'b>, function: &Function) -> [Option<&'b Device>; 2] {
    [function.reads, function.writes].map(|number| all.devices.get(number as usize))
}

/// Devices that a stage of this partition reads and writes.
pub(crate) fn of_stage<'b>(all: &Repository<'b>, stage: &Stage) -> [Option<&'b Device>; 2] {
    let is_here = is_here(*all);
    let mut functions = all.functions.iter().filter(|one| is_here(one));
    let function = functions.find(|one| one.function == stage.function);
    function.map_or([None; 2], |function| of(all, function))
}

/// Number of stages that use a device.
pub(crate) fn users(all: &Repository<'_>, device: &Device) -> usize {
    let uses = |stage: &Stage| {
        let ends = of_stage(all, stage).into_iter().flatten();
        ends.filter(|end| core::ptr::eq(*end, device)).count()
    };
    let pipes = table::all();
    pipes
        .map(|(_, entry)| entry.here().map(|(_, stage)| uses(&stage)).sum::<usize>())
        .sum()
}

/// Returns whether the partition serves a device.
pub(crate) const fn is_own(device: &Device) -> bool {
    device.vcpu != NONE
}

/// Returns a predicate: whether a function belongs to the partition.
pub(crate) fn is_here(all: Repository<'_>) -> impl Fn(&Function) -> bool + '_ {
    let space = move |core: u32| all.cores.get(core as usize).map(|core| core.space);
    move |function| space(function.core) == space(all.head.core)
}
