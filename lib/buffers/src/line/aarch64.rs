//! Two words by a pair of general registers: a thread without floating-point state stays one
#![expect(unsafe_code, reason = "two words with one instruction")]

use crate::region::{Bytes, Words};
use core::arch::asm;

/// Store a line.
#[inline(always)]
pub(crate) fn store(words: &Words, line: &Bytes) {
    // SAFETY: both are a line long; words may be written through a shared reference to them.
    unsafe { copy(line.as_ptr(), words.as_ptr().cast_mut().cast()) }
}

/// Load a line.
#[inline(always)]
pub(crate) fn load(words: &Words, line: &mut Bytes) {
    // SAFETY: both are a line long.
    unsafe { copy(words.as_ptr().cast(), line.as_mut_ptr()) }
}

/// # Safety
/// A line can be read at `from` and written at `to`.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8) {
    // SAFETY: the caller's promise; only the registers named are changed.
    unsafe {
        asm!(
            "ldp {a}, {b}, [{from}]",
            "ldp {c}, {d}, [{from}, #16]",
            "stp {a}, {b}, [{to}]",
            "stp {c}, {d}, [{to}, #16]",
            "ldp {a}, {b}, [{from}, #32]",
            "ldp {c}, {d}, [{from}, #48]",
            "stp {a}, {b}, [{to}, #32]",
            "stp {c}, {d}, [{to}, #48]",
            from = in(reg) from,
            to = in(reg) to,
            a = out(reg) _,
            b = out(reg) _,
            c = out(reg) _,
            d = out(reg) _,
            options(nostack, preserves_flags),
        );
    }
}
