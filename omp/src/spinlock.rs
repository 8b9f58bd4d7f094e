//! A lock for a few instructions at a time, in the slow paths only.

use crate::arch;
use crate::backend::{Backend, System};
use core::sync::atomic::{AtomicBool, Ordering};

/// Mutual exclusion for critical sections of bounded length.
#[derive(Debug)]
pub struct SpinLock(AtomicBool);

/// Unlocks when dropped.
#[derive(Debug)]
pub struct Guard<'a>(&'a SpinLock);

/// Spins before the holder is taken to be preempted.
const SPINS: u32 = 100;

impl Default for SpinLock {
    fn default() -> Self {
        Self::new()
    }
}

impl SpinLock {
    /// An unlocked lock.
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Waits for the lock.
    pub fn lock(&self) -> Guard<'_> {
        self.acquire();
        Guard(self)
    }

    /// Waits for the lock, which [`SpinLock::release`] gives back, possibly on another stack.
    pub fn acquire(&self) {
        let mut spins = 0;
        while self.0.swap(true, Ordering::Acquire) {
            spins += 1;
            if spins % SPINS == 0 {
                System::yield_now()
            } else {
                arch::pause()
            }
        }
    }

    /// Gives back what [`SpinLock::acquire`] took.
    pub fn release(&self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}
