//! The guest-physical map of a board

use super::board_inconsistent::place;
use crate::board::{Board, Device};
use crate::diagnostic::Report;
use crate::document::Table;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::guest::{RAM, WINDOW_BYTES};
use bulkhead_formats::gicv3::REDISTRIBUTOR_STRIDE;

crate::rules::declaration::rule! {
    Error, "board-guest",
    "what every partition sees lies below 0x4000_0000 without overlap, in whole frames, and memory above it",
    "The map is a choice, not a fact of the hardware. The kernel and the runtime of RTOS partitions reach interrupt \
     controller, UART and window in the first GiB; the kernel finds the start of the window by its alignment to 32 MiB."
}

/// Bytes of the distributor, and alignment of a frame.
const FRAME: u64 = 1 << 16;

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
        for message in part_faults(board, part, &parts[..number]) {
            tell(part.0, message);
        }
    }
    for device in &board.devices {
        for message in device_faults(device, &parts) {
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
}

fn part_faults(
    board: &Board,
    &(_, start, size, alignment): &Part,
    earlier: &[Part],
) -> Vec<String> {
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
    for &(other, at, bytes, _) in earlier {
        if start < at.saturating_add(bytes) && at < end {
            faults.push(format!("overlaps `{other}`"));
        }
    }
    if start < board.guest.ram.saturating_add(PAGE_SIZE) && board.guest.ram < end {
        faults.push("reaches into the guest's memory".into());
    }
    faults
}

fn device_faults(device: &Device, parts: &[Part]) -> Vec<String> {
    let mut faults = Vec::new();
    let (start, end) = (device.guest, device.guest.saturating_add(device.size));
    if !start.is_multiple_of(PAGE_SIZE) {
        faults.push(format!(
            "`guest` of `{}` is not at the start of a page",
            device.name
        ));
    }
    // A UART may be seen there as a console.
    for &(other, at, bytes, _) in parts.iter().filter(|(key, ..)| *key != "guest.uart") {
        if start < at.saturating_add(bytes) && at < end {
            faults.push(format!("is seen at {start:#x}, within `{other}`"));
        }
    }
    faults
}
