//! The guest-physical map of a board

use super::board_inconsistent::{is_unreachable, place};
use crate::board::{Board, Device, Pcie};
use crate::diagnostic::Report;
use crate::document::Table;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::device::Class;
use bulkhead_abi::guest::{RAM, WINDOW_BYTES};
use bulkhead_formats::gicv3::REDISTRIBUTOR_STRIDE;

crate::rules::declaration::rule! {
    Error, "board-guest",
    "what every partition sees lies below 0x4000_0000 without overlap, in whole frames, and memory above it; no two \
     devices are seen at one address",
    "The map is a choice, not a fact of the hardware. The kernel and the runtime of RTOS partitions reach interrupt \
     controller, UART and window in the first GiB; the kernel finds the start of the window by its alignment to 32 MiB."
}

/// Bytes of the distributor, and alignment of a frame.
const FRAME: u64 = 1 << 16;

/// A bus's configuration space, and how many buses partitions have: one for each interrupt line of the host bridge.
const BUS: u64 = 1 << 20;
const BUSES: u64 = 4;

/// A part of the map: its key, first address, bytes, and alignment.
type Part = (&'static str, u64, u64, u64);

/// Looks at a board that has the right shape.
pub(crate) fn check(board: &Board, table: &Table, report: &mut Report) {
    let guest = &board.guest;
    let redistributors = REDISTRIBUTOR_STRIDE * board.cores.len() as u64;
    let parts = [
        ("guest.distributor", guest.distributor, FRAME, FRAME),
        (
            "guest.redistributors",
            guest.redistributors,
            redistributors,
            FRAME,
        ),
        ("guest.uart", guest.uart, PAGE_SIZE, PAGE_SIZE),
        (
            "guest.window",
            guest.window,
            guest.window_size,
            WINDOW_BYTES,
        ),
    ];
    let mut tell = |key: &str, message: String| {
        report.add(RULE.at(&place(table, key), message).here("does not fit"));
    };
    for (number, part) in parts.iter().enumerate() {
        for message in part_faults(part, &parts[..number]) {
            tell(part.0, message);
        }
    }
    // How much there is of it depends on the partition.
    let ram = ("guest.ram", guest.ram, PAGE_SIZE, PAGE_SIZE);
    let windows: Vec<Part> = board.pcie.iter().flat_map(pcie_windows).collect();
    for (number, window) in windows.iter().enumerate() {
        let others = parts.iter().chain([&ram]).chain(&windows[..number]);
        for message in window_faults(board, window, others) {
            tell(window.0, message);
        }
    }
    let taken: Vec<Part> = parts.into_iter().chain(windows).chain([ram]).collect();
    for (number, device) in board.devices.iter().enumerate() {
        for message in device_faults(board, device, &taken, &board.devices[..number]) {
            tell(&format!("device.{}", device.name), message);
        }
    }
    let size = guest.window_size;
    if size > WINDOW_BYTES || size == 0 || !size.is_multiple_of(PAGE_SIZE) {
        let message = "a window has 32 MiB at most, in whole pages";
        tell("guest.window_size", message.into());
    }
    if !guest.ram.is_multiple_of(PAGE_SIZE) {
        tell("guest.ram", "not at the start of a page".into());
    }
    if guest.ram < RAM {
        tell("guest.ram", format!("starts below {RAM:#x}"));
    }
    if is_unreachable(board, guest.ram) {
        tell("guest.ram", unreachable(board));
    }
}

fn part_faults(&(_, start, size, alignment): &Part, earlier: &[Part]) -> Vec<String> {
    let mut faults = Vec::new();
    let end = start.saturating_add(size);
    if !start.is_multiple_of(alignment) {
        faults.push(format!("not at a multiple of {alignment:#x}"));
    }
    if end > RAM {
        faults.push(format!(
            "ends at {end:#x}, beyond {RAM:#x}, where RTOS partitions have their memory"
        ));
    }
    let overlapped = earlier.iter().filter(|part| overlaps(part, start, end));
    faults.extend(overlapped.map(|part| format!("overlaps `{}`", part.0)));
    faults
}

/// Guest-physical windows of the host bridge: buses, ports, memory.
fn pcie_windows(pcie: &Pcie) -> Vec<Part> {
    let buses = pcie.guest_configuration.saturating_add(BUS);
    let all = [
        ("pcie.guest_configuration", buses, BUSES * BUS, BUS),
        (
            "pcie.guest_ports",
            pcie.guest_ports,
            pcie.ports[1],
            PAGE_SIZE,
        ),
        ("pcie.guest_memory", pcie.guest_memory, pcie.memory[1], BUS),
    ];
    all.into_iter()
        .filter(|(_, _, size, _)| *size > 0)
        .collect()
}

fn window_faults<'a>(
    board: &Board,
    &(_, start, size, alignment): &Part,
    others: impl Iterator<Item = &'a Part>,
) -> Vec<String> {
    let mut faults = Vec::new();
    let end = start.saturating_add(size);
    if !start.is_multiple_of(alignment) {
        faults.push(format!("not at a multiple of {alignment:#x}"));
    }
    if is_unreachable(board, end - 1) {
        faults.push(unreachable(board));
    }
    let overlapped = others.filter(|part| overlaps(part, start, end));
    faults.extend(overlapped.map(|part| format!("overlaps `{}`", part.0)));
    faults
}

fn overlaps(&(_, at, bytes, _): &Part, start: u64, end: u64) -> bool {
    start < at.saturating_add(bytes) && at < end
}

fn unreachable(board: &Board) -> String {
    format!("lies beyond {} bits of address", board.cpu.physical_bits)
}

fn device_faults(
    board: &Board,
    device: &Device,
    parts: &[Part],
    earlier: &[Device],
) -> Vec<String> {
    let mut faults = Vec::new();
    let (start, end) = (device.guest, device.guest.saturating_add(device.size));
    if !start.is_multiple_of(PAGE_SIZE) {
        faults.push(format!(
            "`guest` of `{}` is not at the start of a page",
            device.name
        ));
    }
    if is_unreachable(board, end.saturating_sub(1)) {
        faults.push(format!("is seen at {start:#x}: {}", unreachable(board)));
    }
    for part in parts.iter().filter(|part| overlaps(part, start, end)) {
        // A UART may be seen there as a console.
        if part.0 != "guest.uart" || !device.is(Class::Uart) {
            faults.push(format!("is seen at {start:#x}, within `{}`", part.0));
        }
    }
    let shared =
        |other: &&Device| start < other.guest.saturating_add(other.size) && other.guest < end;
    for other in earlier.iter().filter(shared) {
        faults.push(format!(
            "is seen at {start:#x}, where `{}` is seen",
            other.name
        ));
    }
    faults
}
