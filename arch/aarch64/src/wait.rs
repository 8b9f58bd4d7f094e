//! Waiting and waking
#![expect(unsafe_code, reason = "hints are instructions")]

use core::arch::asm;

macro_rules! hints {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() {
            // SAFETY: a hint has no architectural effect but time.
            unsafe { asm!($text, options(nostack, preserves_flags)) }
        }
    )*};
}

hints! {
    /// Sleeps until an interrupt is pending, masked or not.
    wfi = "wfi";
    /// Lets others run, where several share a pipeline or an emulator's thread.
    pause = "yield";
    /// Wakes cores that wait in WFE.
    sev = "sev";
}
