//! Cache maintenance
#![expect(unsafe_code, reason = "maintenance operations are instructions")]

use core::arch::asm;

/// Forgets all cached instructions, on all cores of the inner-shareable domain.
#[inline(always)]
pub fn ic_ialluis() {
    // SAFETY: instructions are fetched again; they are what memory holds.
    unsafe { asm!("ic ialluis", options(nostack, preserves_flags)) }
}

/// Forgets all cached instructions of this core.
#[inline(always)]
pub fn ic_iallu() {
    // SAFETY: as above.
    unsafe { asm!("ic iallu", options(nostack, preserves_flags)) }
}

/// Writes back the line of data at an address and forgets it, for all observers.
///
/// # Safety
/// The address is mapped, or translation is off.
#[inline(always)]
pub unsafe fn dc_civac(address: u64) {
    // SAFETY: no content changes; mapped by the caller's promise.
    unsafe { asm!("dc civac, {}", in(reg) address, options(nostack, preserves_flags)) }
}
