//! Two words by an SSE2 register, which every x86-64 has
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
            "movups {a}, [{from}]",
            "movups {b}, [{from} + 16]",
            "movups {c}, [{from} + 32]",
            "movups {d}, [{from} + 48]",
            "movups [{to}], {a}",
            "movups [{to} + 16], {b}",
            "movups [{to} + 32], {c}",
            "movups [{to} + 48], {d}",
            from = in(reg) from,
            to = in(reg) to,
            a = out(xmm_reg) _,
            b = out(xmm_reg) _,
            c = out(xmm_reg) _,
            d = out(xmm_reg) _,
            options(nostack, preserves_flags),
        );
    }
}
