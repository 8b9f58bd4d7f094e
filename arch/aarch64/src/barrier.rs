//! Barriers
#![expect(unsafe_code, reason = "barriers are instructions")]

use core::arch::asm;

macro_rules! barriers {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() {
            // SAFETY: a barrier only orders; without `nomem` the compiler orders with it.
            unsafe { asm!($text, options(nostack, preserves_flags)) }
        }
    )*};
}

barriers! {
    /// Everything before has completed for the whole system.
    dsb_sy = "dsb sy";
    /// Everything before has completed for the inner-shareable domain.
    dsb_ish = "dsb ish";
    /// Every store before has completed for the inner-shareable domain.
    dsb_ishst = "dsb ishst";
    /// Everything before has completed for this core.
    dsb_nsh = "dsb nsh";
    /// Instructions after are fetched with the context set before.
    isb = "isb";
}
