//! Stage 2 of each partition

use crate::arena::Arena;
use crate::ends;
use crate::error::PlanError;
use crate::machine::{Machine, colours_of};
use crate::view::GuestView;
use crate::window::Slot;
use bulkhead_formats::address::{Ipa, PAGE, Pa, bits_below};
use bulkhead_formats::region::Range;
use bulkhead_formats::stage2;
use bulkhead_formats::stage2::Access;
use bulkhead_formats::tables::{MapError, Mapping, Root, Walk, map, page_entry, prepare};
use bulkhead_model::system::{PartitionId, System};

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

pub(super) fn build_stage2(
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
pub(super) const USUAL_BITS: u32 = 40;

/// A guest-physical address space that reaches `end`. That of a coloured partition begins with one table: the
/// adjacent pages of a larger root need adjacent colours.
pub(super) fn stage2_walk(system: &System, end: u64, is_coloured: bool) -> Walk {
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
pub(super) fn mapped(
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

pub(super) fn prepare_slot(
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
