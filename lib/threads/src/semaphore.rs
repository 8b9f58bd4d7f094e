//! Counting semaphores
#![expect(
    unsafe_code,
    reason = "the count is reached under the scheduler's lock"
)]

use crate::queue::Full;
use crate::threads::{index_of, own_index};
use crate::wait::{TimedOut, WaitError, Waiters};
use crate::{Machine, NEVER, Threads, Time};
use bulkhead_sched::policy::Policy;
use core::cell::Cell;

/// So many units, at most `maximum`, that threads take and give.
#[derive(Debug)]
pub struct Semaphore {
    count: Cell<u32>,
    maximum: u32,
    waiters: Waiters,
}

// SAFETY: the cells are reached under the scheduler's lock.
unsafe impl Sync for Semaphore {}

impl Semaphore {
    /// A semaphore of `count` units now and at most `maximum`.
    #[must_use]
    pub const fn new(count: u32, maximum: u32) -> Self {
        assert!(count <= maximum, "more units than there may be");
        Self {
            count: Cell::new(count),
            maximum,
            waiters: Waiters::new(),
        }
    }

    /// Takes a unit, waiting for one until `until`; [`Time`] 0 does not wait.
    ///
    /// # Errors
    /// [`WaitError`].
    #[inline]
    pub fn wait<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        until: Time,
    ) -> Result<(), WaitError> {
        let caller = own_index::<M>();
        threads.take(caller);
        let taken = match self.count.get().checked_sub(1) {
            Some(rest) => {
                self.count.set(rest);
                Ok(())
            }
            None if until == 0 => Err(TimedOut),
            None => threads.wait_in(caller, &self.waiters, until),
        };
        threads.give_back(caller);
        taken
    }

    /// Waits without a time-out.
    #[inline]
    pub fn take<M: Machine, P: Policy, const N: usize>(&self, threads: &Threads<M, P, N>) {
        let _always_taken = self.wait(threads, NEVER);
    }

    /// Gives a unit: to the most important thread that waits for one, which runs at once if the policy
    /// says so.
    ///
    /// # Errors
    /// [`Full`]: it has its maximum.
    #[inline]
    pub fn give<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
    ) -> Result<(), Full> {
        let caller = own_index::<M>();
        threads.take(caller);
        if !self.waiters.is_empty()
            && let Some(thread) = threads.state_locked().next_waiter(&self.waiters)
        {
            threads.rouse(caller, index_of(thread));
            return Ok(());
        }
        let full = self.count.get() == self.maximum;
        self.count.set(self.count.get() + u32::from(!full));
        threads.give_back(caller);
        if full { Err(Full) } else { Ok(()) }
    }

    /// Ends all waits for units with [`WaitError::Deleted`]. No thread uses the semaphore afterwards.
    pub fn delete<M: Machine, P: Policy, const N: usize>(&self, threads: &Threads<M, P, N>) {
        let caller = own_index::<M>();
        threads.take(caller);
        threads.end_waits(caller, &[&self.waiters]);
    }

    /// Units there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count.get()
    }
}
