//! Physical addresses that a board's hardware takes

use super::board_inconsistent::place;
use crate::board::Board;
use crate::document::Table;
use crate::draft::Section;
use crate::source::Span;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_formats::gicv3::REDISTRIBUTOR_STRIDE;
use bulkhead_formats::region::Range;

/// Bytes of the distributor, and of the SMMU.
const DISTRIBUTOR: u64 = 1 << 16;
const SMMU: u64 = 2 << 16;
/// Bytes of configuration space: the root bus, and a bus for each interrupt line.
const BUSES: u64 = 5 << 20;

/// A range of registers, or of a window of the host bridge.
pub(super) struct Occupied {
    /// Place in the board file.
    pub(super) span: Span,
    /// Text for messages.
    pub(super) name: String,
    /// Physical addresses.
    pub(super) range: Range,
}

/// All of them, in the order of the reference.
pub(super) fn occupied(board: &Board, table: &Table) -> Vec<Occupied> {
    let mut all = Vec::new();
    let mut add = |span: Span, name: String, start: u64, size: u64| {
        let end = start.saturating_add(size);
        let range = Range { start, end };
        all.push(Occupied { span, name, range });
    };
    let key = |path: &str| place(table, path);
    add(
        key("interrupts.distributor"),
        "the distributor".into(),
        board.interrupts.distributor,
        DISTRIBUTOR,
    );
    let cores = Section::whole(table);
    for ((number, core), section) in board.cores.iter().enumerate().zip(cores.listed("cores")) {
        let name = format!("redistributor {:#x} of core {number}", core.redistributor);
        let span = section.name.span;
        add(span, name, core.redistributor, REDISTRIBUTOR_STRIDE);
    }
    if let Some(at) = board.smmu {
        add(key("smmu.address"), "the SMMU".into(), at, SMMU);
    }
    if let Some(pcie) = &board.pcie {
        let [ports, memory] = [pcie.ports, pcie.memory];
        for (path, name, start, size) in [
            (
                "pcie.configuration",
                "PCIe configuration space",
                pcie.configuration,
                BUSES,
            ),
            ("pcie.ports", "the window of PCIe ports", ports[0], ports[1]),
            (
                "pcie.memory",
                "the window of PCIe memory",
                memory[0],
                memory[1],
            ),
        ] {
            add(key(path), name.into(), start, size);
        }
    }
    for device in &board.devices {
        let name = format!("`{}`", device.name);
        let size = device.size.max(PAGE_SIZE);
        add(
            key(&format!("device.{}", device.name)),
            name,
            device.address,
            size,
        );
    }
    all
}
