//! A switch in user mode, one way
//!
//! From the call of the switch to its return in the other thread, both included. The clock is read
//! in front of the call, and by compiler-generated code behind it. The remaining cost of these
//! reads is subtracted: it is measured with a function that only returns.

use bulkhead_abi::dispatch::{Dcb, Scb};
use bulkhead_component::clock;
use core::arch::global_asm;

global_asm!(
    r#"
// Arguments of the switch in x0 to x5; x6 = address for the start time.
.section .text.primitives_timed, "ax"
.global primitives_timed_switch
primitives_timed_switch:
    mrs     x7, pmccntr_el0
    str     x7, [x6]
    b       bulkhead_switch

.global primitives_timed_nothing
primitives_timed_nothing:
    mrs     x7, pmccntr_el0
    str     x7, [x6]
    b       1f
1:  ret
"#
);

unsafe extern "C" {
    pub(crate) fn primitives_timed_switch(
        current: &Dcb,
        next: &Dcb,
        index: u64,
        scb: &Scb,
        epoch: u64,
        thread: u64,
        began: &mut u64,
    ) -> u64;
    fn primitives_timed_nothing(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, began: &mut u64);
}

/// Cycles of a function that only returns, measured in the same way.
pub(crate) fn nothing() -> u64 {
    let mut shortest = u64::MAX;
    for _ in 0..16 {
        let mut began = 0;
        // SAFETY: stores to `began` alone.
        unsafe { primitives_timed_nothing(0, 0, 0, 0, 0, 0, &mut began) };
        shortest = shortest.min(clock::cycles() - began);
    }
    shortest
}
