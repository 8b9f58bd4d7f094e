//! The kernel and its components as one guest image
//!
//! Behind the kernel's image, at the next page, lies the archive: a page that lists the components,
//! then their segments as whole pages, zero-filled, so that they are mapped where they lie.

use bulkhead_abi::component::{ANY_CORE, Interface, NO_THREAD, Part, Role, Shared, Wiring};
use bulkhead_abi::guest::Function;
use bulkhead_abi::kernel::{
    ARCHIVE_MAGIC, Archive, IMAGE, MAX_COMPONENTS, MAX_CORES, MAX_SEGMENTS, Packed, Rights,
    SCB_ADDRESS, STACK_PAGES, STACK_TOP, Segment, zeroed_bytes,
};
use bulkhead_abi::{PAGE_SIZE, VERSION, name_field};
use bulkhead_formats::address::Ipa;
use bulkhead_formats::archive::{Checked, Flaw};
use bulkhead_model::system::{ChannelId, Component, FunctionId, Partition, PartitionId, System};
use bulkhead_plan::guest_page::{self, ticks};
use bulkhead_plan::load::{GuestImage, Piece};
use bulkhead_plan::{ends, pcie, pipes, repository};
use zerocopy::{FromZeros, IntoBytes};

use crate::elf::{self, Executable};
use crate::error::BuildError;
use crate::timing;

/// Crate of the kernel.
pub const KERNEL: &str = "bulkhead-kernel";
/// The last page that a segment may take, exclusively: the stack and its guard follow.
const SEGMENTS_END: u64 = STACK_TOP - (STACK_PAGES + 1) * PAGE_SIZE;

const _: () = assert!(SEGMENTS_END < SCB_ADDRESS);

/// Components of a partition; the place of a component in the list is its number in the
/// archive.
#[derive(Clone, Copy, Debug)]
pub struct ComponentSet<'a> {
    /// The system.
    pub system: &'a System,
    /// The partition.
    pub partition: PartitionId,
    /// The components.
    pub components: &'a [Component],
}

/// Packs the components behind `kernel`; their executables come in the same order.
///
/// # Errors
/// There are too many, one is linked for another place, or they do not fit into the partition.
pub fn pack(
    mut kernel: GuestImage,
    set: &ComponentSet<'_>,
    executables: &[Executable],
) -> Result<GuestImage, BuildError> {
    let components = set.components;
    if components.len() > MAX_COMPONENTS {
        let message = format!("{} components are too many", components.len());
        let help = format!("the kernel's archive holds {MAX_COMPONENTS}");
        return Err(BuildError::new("component-count", message, &help));
    }
    let mut archive = Archive::new_zeroed();
    archive.magic = ARCHIVE_MAGIC;
    archive.version = VERSION;
    archive.count = components.len() as u32;
    let mut bytes = vec![0; PAGE_SIZE as usize];
    let both = components.iter().zip(executables);
    for (packed, (component, executable)) in archive.components.iter_mut().zip(both) {
        *packed = pack_one(component, executable, &mut bytes)?;
    }
    archive.timing = append_timing(set, &mut bytes);
    archive.pages = bytes.len() as u64 / PAGE_SIZE;
    let buses = pcie::assign(set.system)?;
    let functions = guest_page::functions(set.system, &buses, set.partition, 0);
    wire(&mut archive, set, &functions);
    share(&mut archive, set);
    check(&archive, set)?;
    bytes[..size_of::<Archive>()].copy_from_slice(archive.as_bytes());
    let ends = kernel.pieces.iter().map(|piece| piece.range().end);
    let end = ends.max().unwrap_or(0).next_multiple_of(PAGE_SIZE);
    let partition = set.system.partition(set.partition);
    let mut piece = Piece::new(Ipa(end), bytes);
    let memory_end = set.system.board.ram_of(partition.kind) + partition.memory;
    // A large memory is not zeroed as a whole when the partition starts anew.
    let zeroed = zeroed_bytes(MAX_CORES as u64, partition.memory);
    piece.size = (piece.size + zeroed).min(memory_end.saturating_sub(end));
    piece.size = piece.size.max(piece.bytes.len() as u64);
    kernel.pieces.push(piece);
    Ok(kernel)
}

/// Enters the components that share memory.
fn share(archive: &mut Archive, set: &ComponentSet<'_>) {
    let partition = set.system.partition(set.partition);
    for (place, shared) in archive.shared.iter_mut().zip(&partition.shared) {
        let has = |component: &Component| shared.components.contains(&component.name);
        let bits = set.components.iter().enumerate();
        *place = Shared {
            name: name_field(&shared.name),
            pages: (shared.size / PAGE_SIZE) as u32,
            components: bits.fold(0, |bits, (number, one)| {
                bits | u32::from(has(one)) << number
            }),
        };
    }
}

/// Names become numbers.
fn wire(archive: &mut Archive, set: &ComponentSet<'_>, functions: &[Function]) {
    let components = set.components;
    let interfaces = provided(components);
    for (place, &(name, provider)) in archive.interfaces.iter_mut().zip(&interfaces) {
        *place = Interface {
            name: name_field(name),
            provider,
            reserved: 0,
        };
    }
    let ends = ends::channels(set.system, set.partition);
    let ends: Vec<ChannelId> = ends.map(|(id, _)| id).collect();
    // Of providers of one interface that of the client's own core.
    let provider = |need: &String, core: u32| {
        interfaces.iter().position(|&(name, number)| {
            let provider = &components[number as usize];
            name == need && [core, ANY_CORE].contains(&provider.core)
        })
    };
    let number = |id: &ChannelId| ends.iter().position(|end| end == id);
    let bits = |found: &mut dyn Iterator<Item = usize>| found.fold(0, |bits, bit| bits | 1 << bit);
    let partition = set.system.partition(set.partition);
    let places = archive.wiring.iter_mut().zip(components);
    for ((place, component), trace) in places.zip(recorders(partition, components)) {
        let needs = component.needs.iter();
        let channels = component.channels.iter();
        let name = |id: FunctionId| name_field(&set.system.functions[id.0].name);
        let function_name = component.function.map(name);
        let driven = functions
            .iter()
            .position(|function| Some(function.name) == function_name);
        let [budget, period] = component.budget_ns.unwrap_or_default();
        let [restart_limit, restart_ns] = component.restart;
        *place = Wiring {
            role: component.role as u32,
            owns: component
                .owns
                .iter()
                .fold(0, |bits, part| bits | part.bit()),
            needs: bits(&mut needs.filter_map(|need| provider(need, component.core))),
            channels: bits(&mut channels.filter_map(number)),
            priority: component.priority.unwrap_or(NO_THREAD),
            on_fault: component.on_fault as u32,
            stack_pages: (component.stack / PAGE_SIZE) as u32,
            memory_pages: (component.memory / PAGE_SIZE) as u32,
            budget_ticks: ticks(set.system, budget),
            period_ticks: ticks(set.system, period),
            restart_limit,
            restart_ticks: ticks(set.system, restart_ns),
            function: driven.map_or(0, |place| place as u32 + 1),
            intid: driven.map_or(0, |place| functions[place].intid),
            core: component.core,
            doorbells: bits(&mut component.doorbells.iter().filter_map(number)),
            tasks: bits(&mut component.tasks.iter().copied()),
            has_work: begins_pipes(partition, component).into(),
            job_stacks: component.job_stacks,
            trace,
            contents_pages: component.contents.div_ceil(PAGE_SIZE) as u32,
            reserved: 0,
        };
    }
}

/// Interfaces with the numbers of their providers.
fn provided(components: &[Component]) -> Vec<(&str, u32)> {
    let numbered = (0..).zip(components);
    let provided = numbered.flat_map(|(number, component)| {
        let names = component.provides.iter();
        names.map(move |name| (name.as_str(), number))
    });
    provided.collect()
}

/// Returns whether a component is the scheduler with which the pipes of the partition begin.
fn begins_pipes(partition: &Partition, component: &Component) -> bool {
    let is_first = component.role == Role::Scheduler && component.core == 0;
    is_first && !partition.pipe_functions.is_empty()
}

/// First page and pages of each component's recorder in the trace of the partition; zeros for one that does not own the trace.
fn recorders(partition: &Partition, components: &[Component]) -> Vec<[u32; 2]> {
    let pages = (partition.recorder_bytes() / PAGE_SIZE) as u32;
    let mut places = (0..).map(|number| [number * pages, pages]);
    let recorder = |component: &Component| match component.owns.contains(&Part::Trace) {
        true => places.next().unwrap_or_default(),
        false => [0; 2],
    };
    components.iter().map(recorder).collect()
}

/// Refuses, in the user's names, an archive that the boot component would refuse.
fn check(archive: &Archive, set: &ComponentSet<'_>) -> Result<(), BuildError> {
    let Err(flaw) = Checked::of(archive) else {
        return Ok(());
    };
    let named = |number: usize| set.components.get(number);
    let Flaw::Segment(number) = flaw else {
        return Err(BuildError::internal(format!(
            "the archive has a flaw: {flaw:?}"
        )));
    };
    let component = named(number);
    let name = component.map_or("?", |component| component.name.as_str());
    let partition = &set.system.partition(set.partition).name;
    let message =
        format!("`{partition}.{name}` does not fit into the 2 MiB of addresses of a component");
    let error = BuildError::new(
        "component-size",
        message,
        "image, `memory` and `stack` share them; make one of them smaller",
    );
    Err(match component {
        Some(component) => error.at(&component.span),
        None => error,
    })
}

fn pack_one(
    component: &Component,
    executable: &Executable,
    bytes: &mut Vec<u8>,
) -> Result<Packed, BuildError> {
    let name = &component.name;
    if executable.segments.len() > MAX_SEGMENTS {
        return Err(misplaced(name, "has too many segments"));
    }
    let mut packed = Packed {
        name: name_field(name),
        entry: executable.entry,
        ..Packed::default()
    };
    for (place, segment) in packed.segments.iter_mut().zip(&executable.segments) {
        *place = append(name, segment, bytes)?;
    }
    Ok(packed)
}

/// Appends VCPUs, tasks and pipes, if there are any, as whole pages: first page and pages.
fn append_timing(set: &ComponentSet<'_>, bytes: &mut Vec<u8>) -> [u32; 2] {
    let ComponentSet {
        system, partition, ..
    } = *set;
    let timing = &system.partition(partition).timing;
    let repository = repository::pack(system, partition);
    if timing.vcpus.is_empty() && repository.is_empty() {
        return [0; 2];
    }
    let page = bytes.len() as u64 / PAGE_SIZE;
    bytes.extend(timing::pack(timing));
    bytes.extend(pipes::pack(system, partition, &[]));
    bytes.extend(repository);
    bytes.resize(bytes.len().next_multiple_of(PAGE_SIZE as usize), 0);
    [page as u32, (bytes.len() as u64 / PAGE_SIZE - page) as u32]
}

/// Appends a segment as whole pages.
fn append(name: &str, segment: &elf::Segment, bytes: &mut Vec<u8>) -> Result<Segment, BuildError> {
    let pages = segment.size.div_ceil(PAGE_SIZE);
    let address = segment.virtual_address;
    let end = address.saturating_add(pages * PAGE_SIZE);
    if !address.is_multiple_of(PAGE_SIZE) || address < IMAGE || end > SEGMENTS_END {
        return Err(misplaced(name, &format!("has a segment at {address:#x}")));
    }
    let page = bytes.len() as u64 / PAGE_SIZE;
    bytes.extend(&segment.bytes);
    bytes.resize(((page + pages) * PAGE_SIZE) as usize, 0);
    let rights = match (segment.write, segment.execute) {
        (true, true) => return Err(misplaced(name, "has memory to write and to execute")),
        (true, false) => Rights::Write,
        (false, true) => Rights::Execute,
        (false, false) => Rights::Read,
    };
    Ok(Segment {
        address,
        page: page as u32,
        pages: pages as u32,
        rights: rights as u64,
    })
}

fn misplaced(name: &str, what: &str) -> BuildError {
    BuildError::new(
        "component-image",
        format!("`{name}` {what}"),
        "a component is linked by the script of `user/rt`: its build.rs prints \
         `cargo:rustc-link-arg-bins=-Tbulkhead-component.ld`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(address: u64, write: bool, execute: bool) -> elf::Segment {
        elf::Segment {
            address,
            virtual_address: address,
            bytes: vec![7; 100],
            size: 5000,
            write,
            execute,
        }
    }

    #[test]
    fn segments_are_whole_pages() {
        let mut bytes = vec![0; PAGE_SIZE as usize];
        let placed = append("first", &segment(IMAGE, false, true), &mut bytes).unwrap();
        assert_eq!((placed.page, placed.pages), (1, 2));
        assert_eq!(placed.rights, Rights::Execute as u64);
        assert_eq!(bytes.len() as u64, 3 * PAGE_SIZE);
        assert_eq!(bytes[PAGE_SIZE as usize + 99..][..2], [7, 0]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for bad in [
            segment(IMAGE - PAGE_SIZE, false, true),
            segment(IMAGE + 8, false, true),
            segment(SEGMENTS_END - PAGE_SIZE, false, true),
            segment(IMAGE, true, true),
        ] {
            assert!(append("bad", &bad, &mut Vec::new()).is_err());
        }
    }
}
