//! Finished translation tables: stage 2 of each partition, and EL2's own

use bulkhead_formats::address::{Ipa, PAGE, Pa, bits_below};
use bulkhead_formats::region::Range;
use bulkhead_formats::stage2::Access;
use bulkhead_formats::tables::{
    MapError, Mapping, Root, TableMemory, Walk, map, page_entry, prepare,
};
use bulkhead_formats::{el2, stage2};
use bulkhead_model::system::{PartitionId, System};

use crate::arena::Arena;
use crate::el2_map;
use crate::ends;
use crate::error::PlanError;
use crate::machine::{Machine, colours_of};
use crate::purpose::Purpose;
use crate::smmu::{self, Streams};
use crate::window::Slot;
use crate::{GuestView, Inputs};

/// A channel that is mapped when asked for: prepared entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Its place in the window.
    pub slot: Slot,
    /// Address of its first level-3 entry.
    pub entry_pa: Pa,
    /// Value of the first entry.
    pub entry_value: u64,
}

/// Stage 2 of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage2 {
    /// The root.
    pub root: Root,
    /// VTCR_EL2 for it.
    pub vtcr: u64,
    /// Bytes of its tables, root included.
    pub size: u64,
    /// Channels that are mapped later.
    pub prepared: Vec<Prepared>,
}

/// All tables of a system.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Their memory.
    pub arena: Arena,
    /// By partition.
    pub stage2: Vec<Stage2>,
    /// EL2's own root.
    pub el2: Root,
    /// Bytes of EL2's own tables.
    pub el2_size: u64,
    /// Tables of the SMMU, if a device is confined.
    pub streams: Option<Streams>,
}

/// Builds all tables.
///
/// # Errors
/// Something is mapped where something else is already.
pub fn build(
    system: &System,
    inputs: &Inputs,
    view: &GuestView,
    machine: &Machine,
) -> Result<Tables, PlanError> {
    let mut arena = Arena::new(machine.pa(Purpose::Tables)?);
    let mut stage2 = Vec::new();
    for id in 0..system.partitions.len() {
        stage2.push(build_stage2(
            system,
            view,
            machine,
            PartitionId(id),
            &mut arena,
        )?);
    }
    let streams = smmu::build(system, view, machine, &stage2, &mut arena)?;
    arena.confine(None);
    let before = arena.handed_out();
    let el2 = build_el2(system, inputs, view, machine, &mut arena)?;
    let el2_size = (arena.handed_out() - before) as u64 * PAGE;
    Ok(Tables {
        arena,
        stage2,
        el2,
        el2_size,
        streams,
    })
}

fn build_stage2(
    system: &System,
    view: &GuestView,
    machine: &Machine,
    id: PartitionId,
    arena: &mut Arena,
) -> Result<Stage2, PlanError> {
    let colours = colours_of(system, id);
    let mapped = mapped(system, view, machine, id)?;
    let ends = mapped.iter().map(|(ipa, range, _)| ipa.0 + range.size());
    let walk = stage2_walk(system, ends.max().unwrap_or(0), colours.is_some());
    arena.confine(colours);
    let before = arena.handed_out();
    let root = arena.new_root(walk);
    // First of all, while one table follows the other: an attachment's entries must be in a row.
    let slots = &view.partitions[id.0].window.slots;
    let later = slots.iter().filter(|slot| slot.key.is_some());
    let prepared = later
        .map(|slot| prepare_slot(system, machine, id, slot, root, arena))
        .collect::<Result<_, _>>()?;
    for (input, range, access) in mapped {
        let mapping = Mapping {
            input: input.0,
            output: Pa(range.start),
            size: range.size(),
            attributes: stage2::attributes(access),
        };
        map(arena, root, &mapping).map_err(|error| cannot_map(system, id, error))?;
    }
    Ok(Stage2 {
        root,
        vtcr: stage2::vtcr(walk, physical_range(system)),
        size: (arena.handed_out() - before) as u64 * PAGE,
        prepared,
    })
}

/// Addresses that a partition has at least, where the processor has as many: tables of this size are two pages.
const USUAL_BITS: u32 = 40;

/// A guest-physical address space that reaches `end`. That of a coloured partition begins with one table: the
/// adjacent pages of a larger root need adjacent colours.
fn stage2_walk(system: &System, end: u64, is_coloured: bool) -> Walk {
    let usual = if is_coloured {
        Walk::ONE_TABLE
    } else {
        USUAL_BITS.min(system.board.cpu.physical_bits)
    };
    Walk::stage2(bits_below(end).max(usual))
}

/// Code of the processor's physical addresses; a rule refuses a board without one.
#[must_use]
pub fn physical_range(system: &System) -> u64 {
    bulkhead_formats::address::physical_range(system.board.cpu.physical_bits).unwrap_or(0)
}

/// All that a partition sees from the start: memory, devices, window.
fn mapped(
    system: &System,
    view: &GuestView,
    machine: &Machine,
    id: PartitionId,
) -> Result<Vec<(Ipa, Range, Access)>, PlanError> {
    let memory = machine.memory[id.0].iter();
    let memory = memory.map(|piece| (piece.ipa, piece.range(), Access::MEMORY));
    let devices = ends::devices(system, id).into_iter().map(|(device, ipa)| {
        let device = system.board.device(device);
        let size = device.size.next_multiple_of(PAGE);
        (ipa, Range::sized(device.address, size), Access::DEVICE)
    });
    let buses = view.buses.iter().filter(|bus| bus.is_of(system, id));
    let buses = buses.flat_map(|bus| system.board.pcie.iter().flat_map(|pcie| bus.mapped(pcie)));
    let buses = buses.map(|(ipa, range)| (Ipa(ipa), range, Access::DEVICE));
    let mut mapped: Vec<_> = memory.chain(devices).chain(buses).collect();
    let slots = &view.partitions[id.0].window.slots;
    for slot in slots.iter().filter(|slot| slot.key.is_none()) {
        let range = Range::sized(machine.pa(slot.purpose)?.0, slot.size);
        mapped.push((slot.ipa, range, slot.access));
    }
    Ok(mapped)
}

fn prepare_slot(
    system: &System,
    machine: &Machine,
    id: PartitionId,
    slot: &Slot,
    root: Root,
    arena: &mut Arena,
) -> Result<Prepared, PlanError> {
    let entry_pa = prepare(arena, root, slot.ipa.0, slot.size)
        .map_err(|error| cannot_map(system, id, error))?;
    let entry_value = page_entry(machine.pa(slot.purpose)?, stage2::attributes(slot.access));
    Ok(Prepared {
        slot: *slot,
        entry_pa,
        entry_value,
    })
}

/// VMID of a partition, and ASID of its devices' tables.
#[must_use]
pub const fn vmid(id: PartitionId) -> u16 {
    id.0 as u16 + 1
}

pub(crate) fn cannot_map(system: &System, id: PartitionId, error: MapError) -> PlanError {
    let partition = system.partition(id);
    let name = &partition.name;
    let (id, message, help) = match error {
        MapError::Overlap(ipa) => (
            "address-overlap",
            format!("partition `{name}` would see two things at {ipa:#x}"),
            "its memory, devices and window must not overlap: give it less memory or fewer devices",
        ),
        MapError::OutOfRange => (
            "address-range",
            format!("partition `{name}` needs addresses beyond what stage 2 can translate"),
            "give it less memory",
        ),
        MapError::Scattered => (
            "attach-scattered",
            format!("partition `{name}` is coloured and has an on-demand channel above 2 MiB"),
            "make the channel smaller, or map it from the start (no `key`)",
        ),
        MapError::Unaligned | MapError::OutOfTables => {
            return PlanError::internal(format!("tables of partition `{name}`: {error:?}"));
        }
    };
    PlanError::new(id, message, help).at(&partition.span)
}

/// The UART on which the boot part reports: physical address and code of its kind; zeros where there is none.
#[must_use]
pub fn boot_uart(system: &System) -> [u64; 2] {
    let uart = system.board.boot_console();
    let found = uart.and_then(|device| Some([device.address, device.known_kind()?.code]));
    found.unwrap_or_default()
}

/// EL2's own tables: every address translates to itself.
fn build_el2(
    system: &System,
    inputs: &Inputs,
    view: &GuestView,
    machine: &Machine,
    arena: &mut Arena,
) -> Result<Root, PlanError> {
    let accesses = el2_map::ranges(system, inputs, view, machine);
    let ends = accesses.iter().flat_map(|(_, set)| set.iter());
    let end = ends.map(|range| range.end).max().unwrap_or(0);
    let root = arena.new_root(Walk::stage1(bits_below(end).max(Walk::ONE_TABLE)));
    for (access, set) in accesses {
        for range in set.iter() {
            let mapping = Mapping {
                input: range.start,
                output: Pa(range.start),
                size: range.size(),
                attributes: el2::attributes(access),
            };
            map(arena, root, &mapping).map_err(|error| {
                PlanError::internal(format!("EL2 map at {:#x}: {error:?}", range.start))
            })?;
        }
    }
    Ok(root)
}

/// The entries of a root that are in use: where and what.
#[must_use]
pub fn root_entries(arena: &Arena, root: Root) -> Vec<(Pa, u64)> {
    let entries = (0..root.walk.entries()).map(|index| root.pa.plus(index * 8));
    entries
        .map(|at| (at, arena.entry(at)))
        .filter(|&(_, value)| value != 0)
        .collect()
}
