//! Locks by user-level dispatch
//!
//! One word holds the owner and the waiter. A thread that finds the lock taken switches to the owner, which
//! thereby inherits its turn, and the release switches back: priority inheritance without a policy ("Slite",
//! §III-B). A thread that is picked instead of the waiter and wants the lock, too, helps the same owner.
//! Threads of one core only, so orderings are relaxed: the switch itself is sequential.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

const WAITER_SHIFT: u32 = 32;
const OWNER: u64 = (1 << WAITER_SHIFT) - 1;

/// Owner index of a lock that the end of its owner has left locked; no thread has this index.
pub(crate) const ABANDONED: u64 = u32::MAX as u64 - 1;

/// The word: owner's index + 1 below, waiter's above; 0 = free.
#[derive(Debug, Default)]
pub(crate) struct Lock(AtomicU64);

impl Lock {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Takes it if it is free.
    #[inline(always)]
    pub(crate) fn try_take(&self, caller: u64) -> bool {
        self.0
            .compare_exchange(0, caller + 1, Relaxed, Relaxed)
            .is_ok()
    }

    /// Notes that thread `caller` wants it; the owner's index, or `None` where it is free by now.
    pub(crate) fn ask(&self, caller: u64) -> Option<u64> {
        let ask = |word: u64| {
            let owner = word & OWNER;
            (owner != 0).then_some(owner | (caller + 1) << WAITER_SHIFT)
        };
        let marked = self.0.fetch_update(Relaxed, Relaxed, ask);
        marked.ok().map(|word| (word & OWNER) - 1)
    }

    /// Returns the index of the owner.
    pub(crate) fn owner(&self) -> Option<u64> {
        (self.0.load(Relaxed) & OWNER).checked_sub(1)
    }

    /// Locks it for good.
    pub(crate) fn abandon(&self) {
        self.0.store(ABANDONED + 1, Relaxed);
    }

    /// Returns true if a thread waits for the lock; called by the owner.
    #[inline(always)]
    pub(crate) fn is_wanted(&self) -> bool {
        self.0.load(Relaxed) > OWNER
    }

    /// Returns true if thread `caller` is the owner.
    #[inline(always)]
    pub(crate) fn is_owned_by(&self, caller: u64) -> bool {
        self.0.load(Relaxed) & OWNER == caller + 1
    }

    /// Gives it back; the index of the thread that wants it.
    #[inline(always)]
    pub(crate) fn release(&self) -> Option<u64> {
        self.0
            .swap(0, Relaxed)
            .checked_shr(WAITER_SHIFT)?
            .checked_sub(1)
    }
}
