//! The atomic words, real or under the model checker

#[cfg(not(loom))]
pub use core::sync::atomic::AtomicU64;
#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{Ordering, fence};

#[cfg(loom)]
pub use loom::sync::atomic::AtomicU64;
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{Ordering, fence};

/// Stores `value` so that no later [`look`] of this thread is satisfied before the store is visible
/// to all threads.
///
/// The two halves of Dekker's argument: each side announces, then looks. A sequentially consistent
/// store and load have one total order, so at least one side sees the other's announcement.
/// x86-64: `xchg`; Armv8: `stlr`, which a later `ldar` may not overtake (Arm ARM B2.3, RCsc).
#[cfg(not(loom))]
#[inline]
pub(crate) fn announce(word: &AtomicU64, value: u64) {
    word.store(value, Ordering::SeqCst);
}

/// Variant for the model checker, which treats sequentially consistent accesses as acquire and
/// release, but models the fence.
#[cfg(loom)]
pub(crate) fn announce(word: &AtomicU64, value: u64) {
    word.store(value, Ordering::Release);
    fence(Ordering::SeqCst);
}

/// Load what the other side announced; see [`announce`].
#[inline]
pub(crate) fn look(word: &AtomicU64) -> u64 {
    word.load(Ordering::SeqCst)
}
