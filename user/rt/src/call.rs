//! System calls
#![expect(unsafe_code, reason = "system calls are an instruction")]

use bulkhead_abi::kernel::{Operation, Status};
use core::arch::asm;

/// The kernel's answer: a value, or the reason for a rejection.
pub type Answer = Result<u64, Status>;

/// Invokes `operation` on the capability at `index` with up to five words. Returns the value of the
/// answer.
///
/// # Errors
/// The kernel's refusal.
#[inline(always)]
pub fn call<const N: usize>(index: u64, operation: Operation, words: [u64; N]) -> Answer {
    let word = |number: usize| words.get(number).copied().unwrap_or(0);
    match raw(
        index,
        operation as u64,
        [word(0), word(1), word(2), word(3), word(4)],
    ) {
        [0, value] => Ok(value),
        [status, _] => Err(Status::of(status).unwrap_or(Status::BadArgument)),
    }
}

/// The system call itself. Returns `x0` and `x1`.
#[inline(always)]
pub fn raw(index: u64, operation: u64, words: [u64; 5]) -> [u64; 2] {
    let (status, value);
    // SAFETY: the kernel preserves the registers that a function preserves. Effects on this
    // component's memory need capabilities that the caller names: mapping goes through `First`.
    unsafe {
        asm!("svc #0",
            inlateout("x0") index => status, inlateout("x1") operation => value,
            inlateout("x2") words[0] => _, inlateout("x3") words[1] => _,
            inlateout("x4") words[2] => _, inlateout("x5") words[3] => _,
            inlateout("x6") words[4] => _,
            lateout("x7") _, lateout("x8") _, lateout("x9") _, lateout("x10") _,
            lateout("x11") _, lateout("x12") _, lateout("x13") _, lateout("x14") _,
            lateout("x15") _, lateout("x16") _, lateout("x17") _, lateout("x18") _, options(nostack));
    }
    [status, value]
}
