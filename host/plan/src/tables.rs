//! Finished translation tables: stage 2 of each partition, and EL2's own

use bulkhead_formats::address::{PAGE, Pa, bits_below};
use bulkhead_formats::el2;
use bulkhead_formats::tables::{Mapping, Root, TableMemory, Walk, map};
use bulkhead_model::system::{PartitionId, System};

use crate::arena::Arena;
use crate::el2_map;
use crate::error::PlanError;
use crate::inputs::Inputs;
use crate::machine::Machine;
use crate::purpose::Purpose;
use crate::smmu::{self, Streams};
use crate::stage2::{Stage2, build_stage2};
use crate::view::GuestView;

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
