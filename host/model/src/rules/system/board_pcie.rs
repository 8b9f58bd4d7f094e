//! The PCIe host bridge of a board, and the functions for it

use super::board_inconsistent::{is_node_name, place};
use crate::board::{Board, FunctionKind, Pcie, Requester};
use crate::diagnostic::Report;
use crate::document::Table;
use bulkhead_abi::PAGE_SIZE;

crate::rules::declaration::rule! {
    Error, "board-pcie",
    "the host bridge's windows, its lines and the functions for it are as PCI requires",
    "The plan places a partition's functions behind a bridge of its own, at slots that choose the interrupt line. A root \
     port has room for one device, at slot 0, and leads it to the line of the port. The plan sizes base address registers by \
     the file: a function with other ones would be reached beyond its owner's window."
}

/// Bytes of configuration space of a bus.
const BUS: u64 = 1 << 20;
/// Base address registers of a function; the largest for ports, and the smallest sizes.
const REGISTERS: usize = 6;
const MAX_PORTS: u64 = 0x100;
const MIN_PORTS: u64 = 4;
const MIN_MEMORY: u64 = 0x10;
/// Vendors of no function: the reads of an empty slot.
const NO_VENDOR: [u32; 2] = [0, 0xFFFF];

/// The emulator's bridges from PCI Express to one device, and those with slots.
const PORTS: [&str; 4] = [
    "pcie-root-port",
    "ioh3420",
    "xio3130-downstream",
    "x3130-upstream",
];
const BRIDGES: [(&str, Requester); 2] = [
    ("pci-bridge", Requester::Bridge),
    ("pcie-pci-bridge", Requester::Bus),
];

/// Looks at a board that has the right shape.
pub(crate) fn check(board: &Board, table: &Table, report: &mut Report) {
    let Some(pcie) = &board.pcie else { return };
    let mut tell = |path: &str, message: String| {
        report.add(RULE.at(&place(table, path), message).here("does not fit"));
    };
    if let Some((_, message)) = fault(board, pcie) {
        tell("pcie", message.to_owned());
    }
    if board.emulator.is_some()
        && let Some(message) = bridge_fault(pcie)
    {
        tell("pcie.bridge", message);
    }
    for kind in &pcie.kinds {
        for message in kind_faults(board, pcie, kind) {
            tell(&format!("pcie.kind.{}", kind.name), message);
        }
    }
}

/// First error in the host bridge.
fn fault(board: &Board, pcie: &Pcie) -> Option<(bool, &'static str)> {
    let (first, last) = board.interrupts.doorbells;
    let [ports, memory] = [pcie.ports, pcie.memory];
    let no_line = |spi: &u32| *spi >= board.interrupts.spis || (first..=last).contains(spi);
    let lines = pcie.lines.iter().enumerate();
    let mut lines = lines.map(|(number, spi)| (&pcie.lines[..number], spi));
    let mut devices = board.devices.iter().flat_map(|device| &device.spis);
    let faults = [
        (
            !(pcie.configuration | pcie.guest_configuration).is_multiple_of(BUS),
            "configuration space is not aligned to a bus (1 MiB)",
        ),
        (
            !(ports[0] | ports[1]).is_multiple_of(PAGE_SIZE) || ports[1] > 0x1_0000,
            "I/O ports are not whole pages, 64 KiB at most",
        ),
        (
            (memory[0] | memory[1]) % BUS != 0 || memory[0].saturating_add(memory[1]) > 1 << 32,
            "memory is not made of MiB below 4 GiB",
        ),
        (
            pcie.lines.iter().any(no_line),
            "a line is no device's interrupt",
        ),
        (
            lines.any(|(earlier, spi)| earlier.contains(spi))
                || devices.any(|spi| pcie.lines.contains(spi)),
            "a line is that of another slot or of a device: two partitions would share it",
        ),
    ];
    faults.into_iter().find(|(wrong, _)| *wrong)
}

fn bridge_fault(pcie: &Pcie) -> Option<String> {
    let model = pcie.bridge.split(',').next().unwrap_or_default();
    if !is_option(&pcie.bridge) {
        return Some("the bridge is no device of the emulator: one word".into());
    }
    if PORTS.contains(&model) {
        return Some(format!(
            "`{model}` has room for one device, at slot 0, whose interrupt line does not depend on its slot: root ports are not supported"
        ));
    }
    let row = BRIDGES.into_iter().find(|(name, _)| *name == model);
    let differs = row.is_some_and(|(_, requester)| requester != pcie.requester);
    differs.then(|| {
        format!("functions behind `{model}` have another requester ID than `pcie.requester` says")
    })
}

/// Returns `true` for one word of the emulator's command line.
fn is_option(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-') && !text.contains(char::is_whitespace)
}

fn kind_faults(board: &Board, pcie: &Pcie, kind: &FunctionKind) -> Vec<String> {
    let name = &kind.name;
    let mut faults = Vec::new();
    if kind.ports.len().max(kind.memory.len()) > REGISTERS {
        faults.push(format!("`{name}` has more than six base address registers"));
    }
    if NO_VENDOR.contains(&(kind.identity & 0xFFFF)) {
        faults.push(format!("`identity` of `{name}` is that of an empty slot"));
    }
    let sizes = [
        (&kind.ports, MIN_PORTS, MAX_PORTS, pcie.ports[1], "ports"),
        (&kind.memory, MIN_MEMORY, u64::MAX, pcie.memory[1], "memory"),
    ];
    for (list, least, most, window, what) in sizes {
        for size in list.iter().filter(|size| **size > 0) {
            if !size.is_power_of_two() || !(least..=most).contains(size) {
                faults.push(format!(
                    "`{name}` has a base address register for {size:#x} bytes of {what}"
                ));
            } else if *size > window {
                faults.push(format!(
                    "`{name}` has {size:#x} bytes of {what}, the host bridge has {window:#x}"
                ));
            }
        }
    }
    let both = kind.ports.iter().zip(&kind.memory);
    if let Some(at) = both
        .into_iter()
        .position(|(ports, memory)| ports * memory != 0)
    {
        faults.push(format!(
            "base address register {at} of `{name}` is for ports and for memory"
        ));
    }
    if let Some(module) = kind.modules.iter().find(|module| !is_node_name(module)) {
        faults.push(format!("`{module}` is no name of a driver"));
    }
    if board.emulator.is_some() && !is_option(&kind.emulated) {
        faults.push(format!(
            "`emulated` of `{name}` is no device of the emulator: one word"
        ));
    }
    faults
}
