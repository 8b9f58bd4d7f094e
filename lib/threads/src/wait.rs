//! Threads that wait for one thing
//!
//! A set of threads, accessed under the scheduler's lock. The granting thread removes a waiter from the set, and the
//! waiter's own state says how its wait ended. A deletion ends all waits, so that no waiter accesses a deleted object.
#![expect(
    unsafe_code,
    reason = "a waiting thread names the set in which it waits"
)]

use crate::threads::{State, thread_of};
use crate::{Machine, NEVER, Threads};
use bulkhead_sched::policy::Policy;
use bulkhead_sched::{ThreadId, Time};
use core::cell::Cell;

/// Why a thread was not granted what it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitError {
    /// The time to give up came first.
    TimedOut,
    /// The object was deleted.
    Deleted,
}
pub use WaitError::TimedOut;

/// How a thread waits for an object.
#[derive(Clone, Copy)]
pub(crate) enum Progress {
    /// In this set, or not at all.
    Waiting(*const Waiters),
    /// The thread has what it waited for.
    Granted,
    /// The object was deleted.
    Deleted,
}

/// Message that a waiting thread sends, or place for the one that it receives.
#[derive(Clone, Copy)]
pub(crate) struct Transfer {
    pub(crate) place: *mut u8,
    pub(crate) priority: u8,
}

impl Transfer {
    pub(crate) const NONE: Self = Self {
        place: core::ptr::null_mut(),
        priority: 0,
    };
}

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
    ) -> Result<(), WaitError> {
        self.state_locked().begin_wait(thread_of(caller), waiters);
        self.wait_begun(caller, until)
    }

    /// Waits on in the set in which the caller is, unless it was taken out since. The lock is held before and afterwards.
    pub(crate) fn wait_begun(&self, caller: u64, until: Time) -> Result<(), WaitError> {
        let thread = thread_of(caller);
        loop {
            if let Some(ended) = self.state_locked().wait_result(thread) {
                return ended;
            }
            if until != NEVER && M::now() >= until {
                self.state_locked().withdraw(thread);
                return Err(TimedOut);
            }
            self.block_locked(caller, until);
            self.take(caller);
        }
    }

    /// Ends the waits of all threads in `waiters`, because their object is deleted; a more important one runs at once. The
    /// lock is held, and released.
    pub(crate) fn end_waits(&self, caller: u64, sets: &[&Waiters]) {
        let state = self.state_locked();
        for waiters in sets {
            for thread in waiters.iter() {
                waiters.remove(thread);
                state.wait(thread).progress = Progress::Deleted;
                state.rouse::<M>(thread);
            }
        }
        self.run_others(caller);
    }
}

impl<P: Policy, const N: usize> State<P, N> {
    /// The thread begins to wait in `waiters`, behind those that do.
    pub(crate) fn begin_wait(&mut self, thread: ThreadId, waiters: &Waiters) {
        self.queue_up(thread);
        waiters.insert(thread);
        self.wait(thread).progress = Progress::Waiting(waiters);
    }

    /// How a wait that began has ended.
    fn wait_result(&mut self, thread: ThreadId) -> Option<Result<(), WaitError>> {
        match self.wait(thread).progress {
            Progress::Waiting(_) => None,
            Progress::Granted => Some(Ok(())),
            Progress::Deleted => Some(Err(WaitError::Deleted)),
        }
    }

    /// Takes a thread out of the set in which it waits, if it does.
    pub(crate) fn withdraw(&mut self, thread: ThreadId) {
        if let Progress::Waiting(waiters) = self.wait(thread).progress {
            self.wait(thread).progress = Progress::Granted;
            // SAFETY: a set in which a thread waits exists: its object is deleted only after the waits have ended.
            unsafe { &*waiters }.remove(thread);
        }
    }

    /// Grants the object to a thread in `waiters`.
    pub(crate) fn grant<M: Machine>(&mut self, waiters: &Waiters, thread: ThreadId) {
        self.pick_waiter(waiters, thread);
        self.rouse::<M>(thread);
    }

    /// Does so, while the caller wakes it.
    fn pick_waiter(&mut self, waiters: &Waiters, thread: ThreadId) {
        waiters.remove(thread);
        self.wait(thread).progress = Progress::Granted;
    }

    /// Takes out the most important thread, which is granted the object; among equals the one that waits longest. The caller
    /// wakes it.
    pub(crate) fn next_waiter(&mut self, waiters: &Waiters) -> Option<ThreadId> {
        let policy = self.scheduler.policy();
        let first = waiters.iter().reduce(|best, other| {
            let sooner = match (policy.outranks(other, best), policy.outranks(best, other)) {
                (false, false) => self.waits_longer(other, best),
                (outranks, _) => outranks,
            };
            if sooner { other } else { best }
        })?;
        self.pick_waiter(waiters, first);
        Some(first)
    }

    /// Grants the object to the most important thread in `waiters`, if there is one.
    pub(crate) fn grant_next<M: Machine>(&mut self, waiters: &Waiters) -> Option<ThreadId> {
        let thread = self.next_waiter(waiters)?;
        self.rouse::<M>(thread);
        Some(thread)
    }
}
