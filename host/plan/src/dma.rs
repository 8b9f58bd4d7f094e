//! Buses with functions that access memory, and the SMMU that confines them

use crate::pcie::Bus;
use crate::view::GuestView;
use bulkhead_formats::address::PAGE;
use bulkhead_formats::region::Range;
use bulkhead_model::system::System;

/// Bytes of its registers: two pages of 64 KiB.
pub(super) const REGISTERS: u64 = 2 << 16;

/// Bytes of the event queue.
pub const EVENTS: u64 = PAGE;

/// Stream of a bus: the requester ID of its bridge, which stands on bus 0.
#[must_use]
pub const fn stream(bus: &Bus) -> u32 {
    bus.slot << 3
}

/// Buses with functions that access memory.
pub fn buses(view: &GuestView) -> impl Iterator<Item = &Bus> {
    view.buses.iter().filter(|bus| bus.dma)
}

/// Physical address of the SMMU, if the board has one.
pub(super) fn address(system: &System) -> Option<u64> {
    system.board.pcie.as_ref()?.smmu
}

/// Returns `true` if a device is to be confined, and the board can do so.
#[must_use]
pub fn is_used(system: &System, view: &GuestView) -> bool {
    address(system).is_some() && buses(view).next().is_some()
}

/// Registers that hold devices back: the SMMU's, and the bridges' on the root bus.
#[must_use]
pub fn registers(system: &System) -> Vec<Range> {
    let pcie = system.board.pcie.iter();
    let smmu = address(system).map(|at| Range::sized(at, REGISTERS));
    pcie.map(Bus::root).chain(smmu).collect()
}
