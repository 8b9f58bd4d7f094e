//! The block of `_Thread_local` variables, `errno` among them
//!
//! The thread pointer is the component's on each core, not a thread's: the kernel keeps one for each
//! component and core, and a switch in user mode does not change it. All threads of a component share
//! these variables.

use core::arch::asm;
use core::ptr::{self, NonNull};

/// Words of the thread control block in front of the variables (AAELF64, variant 1).
const CONTROL: usize = 16;

unsafe extern "C" {
    /* The linker script's: the initial image of the variables, its initialised part, its end, its alignment. */
    safe static __tls_start: u8;
    safe static __tls_data_end: u8;
    safe static __tls_end: u8;
    safe static __tls_align: u8;
}

fn align() -> usize {
    (&raw const __tls_align).addr().max(CONTROL)
}

/// Bytes and alignment of the block.
#[must_use]
pub fn storage_bytes() -> (usize, usize) {
    let variables = (&raw const __tls_end).addr() - (&raw const __tls_start).addr();
    (CONTROL.next_multiple_of(align()) + variables, align())
}

/// Makes `block` the variables of this component on the calling core.
///
/// # Safety
/// Zeroed memory of [`storage_bytes`] that no other code uses; no variable was used before.
pub unsafe fn install(block: NonNull<u8>) {
    let start = &raw const __tls_start;
    let initialised = (&raw const __tls_data_end).addr() - start.addr();
    let variables = block
        .as_ptr()
        .wrapping_add(CONTROL.next_multiple_of(align()));
    // SAFETY: the caller's memory; the image is the linker's.
    unsafe { ptr::copy_nonoverlapping(start, variables, initialised) };
    // SAFETY: the register is the component's own.
    unsafe { asm!("msr tpidr_el0, {}", in(reg) block.as_ptr(), options(nostack, preserves_flags)) };
}
