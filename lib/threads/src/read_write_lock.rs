//! Reader-writer locks
//!
//! Phase-fair: a reader waits for one writer at most, and a writer for one group of readers at most, so that neither starves
//! the other and blocking has a bound (Brandenburg and Anderson, *Spin-based reader-writer synchronization for
//! multiprocessor real-time systems*, 2010). Waiting threads do not lend their importance.
#![expect(
    unsafe_code,
    reason = "the waiting threads are reached under the scheduler's lock"
)]

use crate::mutex::LockError;
use crate::threads::{State, own_index, thread_of};
use crate::wait::{WaitError, Waiters};
use crate::{Machine, Threads, Time};
use bulkhead_sched::ThreadId;
use bulkhead_sched::policy::Policy;
use core::cell::Cell;

/// A lock that many readers have, or one writer.
#[derive(Debug, Default)]
pub struct ReadWriteLock {
    /// Threads that have it to read.
    readers: Waiters,
    /// The thread that has it to write.
    writer: Cell<Option<ThreadId>>,
    waiting_readers: Waiters,
    waiting_writers: Waiters,
}

// SAFETY: the cells are reached under the scheduler's lock.
unsafe impl Sync for ReadWriteLock {}

impl ReadWriteLock {
    /// A free lock.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            readers: Waiters::new(),
            writer: Cell::new(None),
            waiting_readers: Waiters::new(),
            waiting_writers: Waiters::new(),
        }
    }

    fn is_had_by(&self, thread: ThreadId) -> bool {
        self.readers.contains(thread) || self.writer.get() == Some(thread)
    }

    /// Takes it to read, waiting until `until`.
    ///
    /// # Errors
    /// [`LockError`]; [`LockError::Deadlock`]: the caller has it.
    pub fn read<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        until: Time,
    ) -> Result<(), LockError> {
        self.take(threads, until, &self.waiting_readers, |thread| {
            let is_free = self.writer.get().is_none() && self.waiting_writers.is_empty();
            if is_free {
                self.readers.insert(thread);
            }
            is_free
        })
    }

    /// Takes it to write, waiting until `until`.
    ///
    /// # Errors
    /// [`LockError`]; [`LockError::Deadlock`]: the caller has it.
    pub fn write<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        until: Time,
    ) -> Result<(), LockError> {
        self.take(threads, until, &self.waiting_writers, |thread| {
            let is_free = self.writer.get().is_none() && self.readers.is_empty();
            if is_free {
                self.writer.set(Some(thread));
            }
            is_free
        })
    }

    fn take<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        until: Time,
        waiters: &Waiters,
        try_take: impl FnOnce(ThreadId) -> bool,
    ) -> Result<(), LockError> {
        let caller = own_index::<M>();
        let thread = thread_of(caller);
        threads.take(caller);
        let taken = if self.is_had_by(thread) {
            Err(LockError::Deadlock)
        } else if try_take(thread) {
            Ok(())
        } else if until == 0 {
            Err(LockError::TimedOut)
        } else {
            let waited = threads.wait_in(caller, waiters, until);
            if waited == Err(WaitError::TimedOut) {
                // Readers waited for this writer alone.
                self.admit::<M, P, N>(threads.state_locked());
                threads.run_others(caller);
                return Err(LockError::TimedOut);
            }
            waited.map_err(|_| LockError::Deleted)
        };
        threads.give_back(caller);
        taken
    }

    /// Gives it back. Returns false if the caller does not have it; nothing is done then.
    pub fn release<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
    ) -> bool {
        let caller = own_index::<M>();
        let thread = thread_of(caller);
        threads.take(caller);
        if !self.is_had_by(thread) {
            threads.give_back(caller);
            return false;
        }
        let state = threads.state_locked();
        self.readers.remove(thread);
        if self.writer.take().is_some() && !self.waiting_readers.is_empty() {
            self.admit_readers::<M, P, N>(state);
        }
        self.admit::<M, P, N>(state);
        threads.run_others(caller);
        true
    }

    /// Gives a free lock to the most important writer, or to all readers while no writer waits.
    fn admit<M: Machine, P: Policy, const N: usize>(&self, state: &mut State<P, N>) {
        if self.writer.get().is_some() {
            return;
        }
        if self.waiting_writers.is_empty() {
            self.admit_readers::<M, P, N>(state);
        } else if self.readers.is_empty() {
            self.writer
                .set(state.grant_next::<M>(&self.waiting_writers));
        }
    }

    fn admit_readers<M: Machine, P: Policy, const N: usize>(&self, state: &mut State<P, N>) {
        for thread in self.waiting_readers.iter() {
            self.readers.insert(thread);
            state.grant::<M>(&self.waiting_readers, thread);
        }
    }

    /// Ends all waits with [`LockError::Deleted`]. No thread uses it afterwards.
    pub fn delete<M: Machine, P: Policy, const N: usize>(&self, threads: &Threads<M, P, N>) {
        let caller = own_index::<M>();
        threads.take(caller);
        threads.end_waits(caller, &[&self.waiting_readers, &self.waiting_writers]);
    }
}
