//! Atomics of the lock-free parts, in one place: `tests/loom.rs` puts loom's here instead.

pub(crate) use core::sync::atomic::{AtomicI64, AtomicIsize, AtomicPtr, Ordering, fence};
