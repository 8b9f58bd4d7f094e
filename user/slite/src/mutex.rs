//! Mutexes with priority inheritance
#![expect(unsafe_code, reason = "the value is reached by the owner of the lock")]

use crate::Threads;
use crate::lock::Lock;
use crate::threads::own_index;
use bulkhead_abi::dispatch::MAX_THREADS;
use bulkhead_component::clock;
use bulkhead_sched::policy::Policy;
use core::cell::UnsafeCell;

/// A value that one thread at a time uses. Uncontended it is two atomic instructions; a thread that
/// finds it taken lends its turn to the owner (see `lock`), or waits where the owner itself waits.
#[derive(Debug)]
pub struct Mutex<T> {
    lock: Lock,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached under the lock.
unsafe impl<T: Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    /// A mutex around `value`.
    pub const fn new(value: T) -> Self {
        Self {
            lock: Lock::new(),
            value: UnsafeCell::new(value),
        }
    }

    /// Lets `act` use the value; other threads of `threads` wait.
    #[inline(always)]
    pub fn with<R, P: Policy, const N: usize>(
        &self,
        threads: &Threads<P, N>,
        act: impl FnOnce(&mut T) -> R,
    ) -> R {
        let own = own_index();
        if !self.lock.try_take(own) {
            self.wait(threads, own);
        }
        // SAFETY: the lock is held.
        let result = act(unsafe { &mut *self.value.get() });
        if let Some(waiter) = self.lock.release() {
            Self::pass_on(threads, own, waiter);
        }
        result
    }

    #[cold]
    fn wait<P: Policy, const N: usize>(&self, threads: &Threads<P, N>, own: u64) {
        while !self.lock.try_take(own) {
            let Some(owner) = self.lock.ask(own) else {
                continue;
            };
            if threads.is_blocked(owner) {
                // It wakes who asked last; the bound lets others look again.
                threads.block(clock::now() + clock::frequency() / LOOKS_PER_SECOND);
            } else {
                threads.hand_over(own, owner);
            }
        }
    }

    #[cold]
    fn pass_on<P: Policy, const N: usize>(threads: &Threads<P, N>, own: u64, waiter: u64) {
        if waiter < MAX_THREADS as u64 && threads.is_blocked(waiter) {
            threads.wakeup(waiter);
        } else {
            threads.hand_over(own, waiter);
        }
    }
}

/// How often a thread looks again for a mutex whose owner is blocked and was asked by another, too.
const LOOKS_PER_SECOND: u64 = 1000;
