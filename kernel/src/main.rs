//! The capability kernel of real-time partitions (EL1)
//!
//! Carries out the decisions of `bulkhead-kernel-core`: entry and exit in assembly, system
//! registers, the interrupt controller, the tables of the kernel's own address space. The kernel
//! runs with every exception masked, on one small stack per core, and has no data of its own but
//! the pages it was given at boot.

#![no_std]
#![no_main]
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod entry;
mod interrupts;
mod machine;
mod registers;
mod space;
mod start;

use core::panic::PanicInfo;

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    entry::unreachable()
}
