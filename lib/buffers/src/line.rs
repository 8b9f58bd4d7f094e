//! A cache line's copy between private bytes and shared words
//!
//! Relaxed atomic words are what the language offers, and compilers copy them one by one. The
//! instructions of `line/ARCHITECTURE.rs` move the same words two at a time. To the language each
//! of their blocks is eight such accesses that it cannot see into: a racing peer still yields
//! nonsense and never undefined behaviour. A block also counts as touching all memory, so the
//! compiler moves no control word past it, and the processor orders its accesses as it does all
//! others: before a store that releases, after a load that acquires (Arm ARM B2.3.7; Intel SDM 3A
//! 9.2).

#[cfg_attr(
    all(target_arch = "x86_64", not(loom), not(miri)),
    path = "line/x86_64.rs"
)]
#[cfg_attr(
    all(target_arch = "aarch64", not(loom), not(miri)),
    path = "line/aarch64.rs"
)]
mod words;

pub(crate) use words::{load, store};
