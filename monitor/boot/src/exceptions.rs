//! Exceptions of the boot part
//!
//! None is expected. One that comes is the answer of hardware to a wrong board file: an access to a register that
//! is not there, or one that EL3 does not leave open and gives back as undefined.
#![expect(unsafe_code, reason = "the vector base, called by the vectors")]

use crate::console;
use crate::refusal::Refusal;
use bulkhead_arch::barrier;
use bulkhead_arch::registers::{elr_el2, esr_el2, far_el2, vbar_el2};

unsafe extern "C" {
    static boot_vectors: u8;
}

/// Reports exceptions of this core from now on. The core is at EL2.
pub(crate) fn catch() {
    // SAFETY: the vectors are part of the image, aligned, and never return.
    unsafe { vbar_el2::write((&raw const boot_vectors) as u64) };
    barrier::isb();
}

/// Called by each vector, on the stack of the core.
#[unsafe(no_mangle)]
extern "C" fn boot_exception() -> ! {
    console::refuse(&Refusal::Exception {
        esr: esr_el2::read(),
        far: far_el2::read(),
        elr: elr_el2::read(),
    })
}
