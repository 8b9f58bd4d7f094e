//! Reports the order of the program's accesses to ThreadSanitizer when the `tsan` feature is built in.
//!
//! The sanitizer sees the program's accesses but not the runtime's atomics, so the runtime says at
//! each of OpenMP's synchronisation points what it orders: everything before a `release` of an
//! address comes before everything behind a later `acquire` of it. Nothing else is said, and a
//! switch of stacks orders nothing: two tasks that the program does not order race, even if one
//! worker happened to run them one after the other on two stacks.

#[cfg(not(feature = "tsan"))]
mod off;
#[cfg(not(feature = "tsan"))]
pub use off::{Stack, acquire, release};

#[cfg(feature = "tsan")]
mod on;
#[cfg(feature = "tsan")]
pub use on::{Stack, acquire, release};
