//! Threads that wait for one thing
//!
//! A set of threads, accessed under the scheduler's lock. The granting thread removes a waiter from the set;
//! a waiter that finds itself removed was granted the object, however its wait ended.

use crate::threads::{State, thread_of};
use crate::{Machine, Threads};
use bulkhead_sched::policy::Policy;
use bulkhead_sched::{ThreadId, Time};
use core::cell::Cell;

/// The time to give up came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOut;

/// One bit per thread.
#[derive(Debug, Default)]
pub(crate) struct Waiters(Cell<u128>);

const fn bit(thread: ThreadId) -> u128 {
    1 << (thread.0 % 128)
}

impl Waiters {
    pub(crate) const fn new() -> Self {
        Self(Cell::new(0))
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.get() == 0
    }

    pub(crate) fn insert(&self, thread: ThreadId) {
        self.0.set(self.0.get() | bit(thread));
    }

    pub(crate) fn remove(&self, thread: ThreadId) {
        self.0.set(self.0.get() & !bit(thread));
    }

    pub(crate) fn contains(&self, thread: ThreadId) -> bool {
        self.0.get() & bit(thread) != 0
    }

    /// The threads that waited when it was called.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ThreadId> {
        let mut waiting = self.0.get();
        core::iter::from_fn(move || {
            let thread = (waiting != 0).then(|| ThreadId(waiting.trailing_zeros() as u16))?;
            waiting &= waiting - 1;
            Some(thread)
        })
    }
}

impl<M: Machine, P: Policy, const N: usize> Threads<M, P, N> {
    /// Waits in `waiters` until taken out, or until `until`. The lock is held before and afterwards.
    pub(crate) fn wait_in(
        &self,
        caller: u64,
        waiters: &Waiters,
        until: Time,
    ) -> Result<(), TimedOut> {
        let thread = thread_of(caller);
        self.state_locked().queue_up(thread);
        waiters.insert(thread);
        loop {
            self.block_locked(caller, until);
            self.take(caller);
            if !waiters.contains(thread) {
                return Ok(());
            }
            if M::now() >= until {
                waiters.remove(thread);
                return Err(TimedOut);
            }
        }
    }
}

impl<P: Policy, const N: usize> State<P, N> {
    /// Takes out the most important thread; among equals the one that waits longest.
    pub(crate) fn next_waiter(&self, waiters: &Waiters) -> Option<ThreadId> {
        let policy = self.scheduler.policy();
        let first = waiters.iter().reduce(|best, other| {
            let sooner = match (policy.outranks(other, best), policy.outranks(best, other)) {
                (false, false) => self.waits_longer(other, best),
                (outranks, _) => outranks,
            };
            if sooner { other } else { best }
        })?;
        waiters.remove(first);
        Some(first)
    }
}
