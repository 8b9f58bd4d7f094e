//! A Rust panic: a message on the console, then the partition's policy

use crate::{console, hypercall};
use bulkhead_abi::failure;

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    console::print_in_distress(format_args!("{info}"));
    hypercall::fail(failure::PANIC)
}
