//! Address space of the resident monitor
//!
//! By access, as sets of physical addresses: an address in two of them would be writable text or the
//! like, which the check of the finished tables refuses.

use bulkhead_formats::el2::Access;
use bulkhead_formats::gicv3::REDISTRIBUTOR_STRIDE;
use bulkhead_formats::region::{Range, RegionSet};
use bulkhead_model::system::{Console, PartitionId, System};

use crate::dma;
use crate::inputs::Inputs;
use crate::machine::{Machine, STACK_SIZE};
use crate::memory::Region;
use crate::purpose::Purpose;
use crate::view::GuestView;

/// Bytes of the distributor's registers.
const DISTRIBUTOR_SIZE: u64 = 0x1_0000;

/// The addresses of each access.
#[must_use]
pub fn ranges(
    system: &System,
    inputs: &Inputs,
    view: &GuestView,
    machine: &Machine,
) -> Vec<(Access, RegionSet)> {
    let board = &system.board;
    let cores = board.cores.iter().take(view.cores.owner.len());
    let redistributors = cores.map(|core| Range::sized(core.redistributor, REDISTRIBUTOR_STRIDE));
    let distributor = Range::sized(board.interrupts.distributor, DISTRIBUTOR_SIZE);
    let interrupts = std::iter::once(distributor).chain(redistributors);
    let pcie = board.pcie.iter();
    let gated = pcie.flat_map(|pcie| dma::buses(view).map(|bus| bus.bridge_page(pcie)));
    let used = |access: Access| {
        let parts = inputs.monitor.parts.iter();
        let parts = parts
            .filter(move |part| part.access == access)
            .map(|part| part.pages());
        let regions = machine
            .regions
            .iter()
            .filter_map(|region| used(system, region));
        let regions = regions
            .filter(move |(found, _)| *found == access)
            .map(|(_, range)| range);
        parts.chain(regions).collect::<Vec<Range>>()
    };
    let mut read_write = between_colours(system, machine);
    used(Access::ReadWrite)
        .into_iter()
        .for_each(|range| read_write.insert(range));
    vec![
        (
            Access::ReadExecute,
            RegionSet::of(used(Access::ReadExecute)),
        ),
        (Access::ReadOnly, RegionSet::of(used(Access::ReadOnly))),
        (Access::ReadWrite, read_write),
        (Access::Device, RegionSet::of(interrupts.chain(gated))),
    ]
}

/// How monitors use a region, and which part of it: they cut and attach in tables, keep their own
/// state, publish theirs, and load guests. Channels and traces they leave alone.
fn used(system: &System, region: &Region) -> Option<(Access, Range)> {
    let whole = region.range();
    match region.purpose {
        Purpose::Config | Purpose::Images => Some((Access::ReadOnly, whole)),
        Purpose::Stack(_) => {
            let start = whole.end - STACK_SIZE;
            Some((Access::ReadWrite, Range { start, ..whole }))
        }
        Purpose::Tables
        | Purpose::State(_)
        | Purpose::Link(_)
        | Purpose::Status(_)
        | Purpose::GuestPage(_)
        | Purpose::Memory(_) => Some((Access::ReadWrite, whole)),
        Purpose::ConsoleOut(id) | Purpose::ConsoleIn(id) => {
            let emulated = system.partition(id).console == Console::Emulated;
            emulated.then_some((Access::ReadWrite, whole))
        }
        _ => None,
    }
}

/// Coloured memory lies scattered. Blocks can map it if the pages without an owner between its pieces
/// are mapped, too: else EL2's tables would grow by a page for each 2 MiB.
fn between_colours(system: &System, machine: &Machine) -> RegionSet {
    let coloured = (0..system.partitions.len())
        .filter(|&id| !system.partition(PartitionId(id)).colours.is_empty());
    let hulls = coloured.filter_map(|id| {
        let pieces = &machine.memory[id];
        let (first, last) = (pieces.first()?, pieces.last()?);
        Some(Range {
            start: first.pa.0,
            end: last.pa.0 + last.size,
        })
    });
    let mut set = RegionSet::of(hulls);
    let others = machine
        .regions
        .iter()
        .filter(|region| !matches!(region.purpose, Purpose::Memory(_)));
    others.for_each(|region| set.remove(region.range()));
    set
}
