//! Streams of devices that access memory, and the SMMU that confines them

use crate::pcie::Bus;
use crate::view::GuestView;
use bulkhead_formats::address::PAGE;
use bulkhead_formats::region::Range;
use bulkhead_model::board::{Pcie, Requester};
use bulkhead_model::system::{PartitionId, System};

/// Bytes of its registers: two pages of 64 KiB.
pub(super) const REGISTERS: u64 = 2 << 16;

/// Bytes of the event queue.
pub const EVENTS: u64 = PAGE;

/// A stream with an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    /// Stream ID.
    pub id: u32,
    /// Partition with the devices.
    pub owner: PartitionId,
    /// Names of the devices that access memory by it.
    pub devices: Vec<String>,
}

/// Requester ID of the functions on a bus.
const fn requester(pcie: &Pcie, bus: &Bus) -> u32 {
    match pcie.requester {
        Requester::Bridge => bus.slot << 3,
        Requester::Bus => bus.number << 8,
    }
}

/// Buses with functions that access memory.
pub fn buses(view: &GuestView) -> impl Iterator<Item = &Bus> {
    view.buses.iter().filter(|bus| bus.dma)
}

/// All streams with an owner, if the board has an SMMU.
#[must_use]
pub fn owned(system: &System, view: &GuestView) -> Vec<Owned> {
    if system.board.smmu.is_none() {
        return Vec::new();
    }
    let mut all = Vec::new();
    if let Some(pcie) = &system.board.pcie
        && let Some(base) = pcie.streams
    {
        all.extend(buses(view).map(|bus| Owned {
            id: base + requester(pcie, bus),
            owner: bus.owner,
            devices: names(system, bus),
        }));
    }
    for (number, partition) in system.partitions.iter().enumerate() {
        let devices = partition.devices.iter().map(|&id| system.board.device(id));
        all.extend(devices.flat_map(|device| {
            device.streams.iter().map(move |&id| Owned {
                id,
                owner: PartitionId(number),
                devices: vec![device.name.clone()],
            })
        }));
    }
    all
}

fn names(system: &System, bus: &Bus) -> Vec<String> {
    let functions = bus.functions.iter();
    functions
        .map(|placed| system.functions[placed.id.0].name.clone())
        .collect()
}

/// Registers that hold devices back: the SMMU's, and the bridges' on the root bus.
#[must_use]
pub fn registers(system: &System) -> Vec<Range> {
    let pcie = system.board.pcie.iter();
    let smmu = system.board.smmu.map(|at| Range::sized(at, REGISTERS));
    pcie.map(Bus::root).chain(smmu).collect()
}
