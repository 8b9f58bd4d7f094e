//! Translations, and the forgetting of cached ones, from EL2
//!
//! For the translations of the VMID in VTTBR_EL2; the caller orders with barriers (Arm ARM D8.13).
#![expect(unsafe_code, reason = "maintenance operations are instructions")]

use core::arch::asm;

macro_rules! invalidations {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() {
            // SAFETY: less is cached than before; what the tables say stays true.
            unsafe { asm!($text, options(nostack, preserves_flags)) }
        }
    )*};
}

invalidations! {
    /// Both stages, all cores of the inner-shareable domain.
    vmalls12e1is = "tlbi vmalls12e1is";
    /// Stage 1, this core.
    vmalle1 = "tlbi vmalle1";
    /// Everything of the guests, this core.
    alle1 = "tlbi alle1";
    /// Everything of EL2, this core.
    alle2 = "tlbi alle2";
}

/// Asks the walker of EL1 with both stages whether it may read an address: `PAR_EL1`.
#[inline(always)]
#[must_use]
pub fn at_s12e1r(address: u64) -> u64 {
    let result;
    // SAFETY: translates only; PAR_EL1 is no register the running program depends on.
    unsafe {
        asm!("at s12e1r, {address}", "isb", "mrs {result}, par_el1",
            address = in(reg) address, result = out(reg) result, options(nostack, preserves_flags));
    }
    result
}
