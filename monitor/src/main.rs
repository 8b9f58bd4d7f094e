//! The separation monitor, resident part (EL2)
//!
//! What stays after boot: the vectors, the instructions behind [`bulkhead_monitor_core::Machine`], and
//! the panic handler that nothing reaches. It has no writable data; its state lies in the pages
//! that the configuration names and the boot part has filled.

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
