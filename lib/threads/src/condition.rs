//! Condition variables
//!
//! A thread that has a mutex gives it back and waits, as one step: no signal between the two is lost (Hoare, *Monitors*,
//! 1974, with the rule of Mesa: the thread that was signalled looks at the condition again).
#![expect(
    unsafe_code,
    reason = "the waiting threads are reached under the scheduler's lock"
)]

use crate::mutex::{LockError, Mutex};
use crate::threads::{own_index, thread_of};
use crate::wait::{WaitError, Waiters};
use crate::{Machine, NEVER, Threads, Time};
use bulkhead_sched::policy::Policy;

/// A place at which threads wait until a condition may hold that a mutex protects.
#[derive(Debug, Default)]
pub struct ConditionVariable(Waiters);

// SAFETY: the set is reached under the scheduler's lock.
unsafe impl Sync for ConditionVariable {}

impl ConditionVariable {
    /// No thread waits.
    #[must_use]
    pub const fn new() -> Self {
        Self(Waiters::new())
    }

    /// Gives `mutex` back, which the caller has, waits for a signal until `until`, and takes the mutex again, for however
    /// long that takes.
    ///
    /// # Errors
    /// [`LockError::TimedOut`] and [`LockError::Deleted`], with the mutex taken; [`LockError::Deadlock`]: the caller does not
    /// have the mutex, or taking it again would close a circle.
    pub fn wait<T, M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        mutex: &Mutex<T>,
        until: Time,
    ) -> Result<(), LockError> {
        let caller = own_index::<M>();
        if mutex.owner() != Some(caller) {
            return Err(LockError::Deadlock);
        }
        threads.take(caller);
        threads
            .state_locked()
            .begin_wait(thread_of(caller), &self.0);
        threads.give_back(caller);
        mutex.release(threads);
        threads.take(caller);
        let waited = threads.wait_begun(caller, until);
        threads.give_back(caller);
        mutex.acquire(threads, NEVER)?;
        waited.map_err(|error| match error {
            WaitError::TimedOut => LockError::TimedOut,
            WaitError::Deleted => LockError::Deleted,
        })
    }

    /// Continues the most important thread that waits, if there is one.
    pub fn signal<M: Machine, P: Policy, const N: usize>(&self, threads: &Threads<M, P, N>) {
        let caller = own_index::<M>();
        threads.take(caller);
        match threads.state_locked().grant_next::<M>(&self.0) {
            Some(_) => threads.run_others(caller),
            None => threads.give_back(caller),
        }
    }

    /// Continues all threads that wait.
    pub fn broadcast<M: Machine, P: Policy, const N: usize>(&self, threads: &Threads<M, P, N>) {
        let caller = own_index::<M>();
        threads.take(caller);
        let state = threads.state_locked();
        for thread in self.0.iter() {
            state.grant::<M>(&self.0, thread);
        }
        threads.run_others(caller);
    }

    /// Ends all waits with [`LockError::Deleted`]. No thread uses it afterwards.
    pub fn delete<M: Machine, P: Policy, const N: usize>(&self, threads: &Threads<M, P, N>) {
        let caller = own_index::<M>();
        threads.take(caller);
        threads.end_waits(caller, &[&self.0]);
    }
}
