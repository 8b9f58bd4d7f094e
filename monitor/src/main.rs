//! The separation monitor, resident part (EL2)
//!
//! After boot these remain: the vectors, the instructions behind [`bulkhead_monitor_core::Machine`], and an unreachable
//! panic handler. The monitor has no writable data. Its state is in the pages that the configuration names and the boot
//! part has filled.

#![no_std]
#![no_main]
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

mod processor;
mod vectors;

use core::panic::PanicInfo;

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    vectors::unreachable()
}
