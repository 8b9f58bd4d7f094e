//! The guest-physical map of a board

use super::board_inconsistent::place;
use crate::board::Board;
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

/// Bytes of the distributor.
const DISTRIBUTOR: u64 = 1 << 16;

/// Looks at a board that has the right shape.
pub(crate) fn check(board: &Board, table: &Table, report: &mut Report) {
    let guest = &board.guest;
    let redistributors = REDISTRIBUTOR_STRIDE * board.cores.len() as u64;
    let parts = [
        (
            "guest.distributor",
            guest.distributor,
            DISTRIBUTOR,
            DISTRIBUTOR,
        ),
        (
            "guest.redistributors",
            guest.redistributors,
            redistributors,
            DISTRIBUTOR,
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
    for (number, &(key, start, size, alignment)) in parts.iter().enumerate() {
        let end = start.saturating_add(size);
        if !start.is_multiple_of(alignment) {
            tell(key, format!("not at a multiple of {alignment:#x}"));
        }
        if end > RAM {
            tell(
                key,
                format!(
                    "ends at {end:#x}, beyond {RAM:#x}, where RTOS partitions have their memory"
                ),
            );
        }
        for &(other, at, bytes, _) in &parts[..number] {
            if start < at.saturating_add(bytes) && at < end {
                tell(key, format!("overlaps `{other}`"));
            }
        }
        if start < guest.ram.saturating_add(PAGE_SIZE) && guest.ram < end {
            tell(key, "reaches into the guest's memory".into());
        }
    }
    for device in &board.devices {
        let path = format!("device.{}", device.name);
        let end = device.guest.saturating_add(device.size);
        if !device.guest.is_multiple_of(PAGE_SIZE) {
            tell(
                &path,
                format!("`guest` of `{}` is not at the start of a page", device.name),
            );
        }
        // A UART may be seen there as a console.
        for &(other, at, bytes, _) in parts.iter().filter(|(key, ..)| *key != "guest.uart") {
            if device.guest < at.saturating_add(bytes) && at < end {
                tell(
                    &path,
                    format!("is seen at {:#x}, within `{other}`", device.guest),
                );
            }
        }
    }
    if guest.window_size > WINDOW_BYTES
        || guest.window_size == 0
        || !guest.window_size.is_multiple_of(PAGE_SIZE)
    {
        tell(
            "guest.window_size",
            "a window has 32 MiB at most, in whole pages".into(),
        );
    }
    if !guest.ram.is_multiple_of(PAGE_SIZE) {
        tell("guest.ram", "not at the start of a page".into());
    }
}
