//! Mutexes with attributes: recursive, robust, with a priority ceiling
//!
//! A [`Mutex`], so that a waiting thread lends its importance to the owner, with what its owner has to know about it. The
//! mutexes of a thread are a list, from which its ceiling follows whatever the order in which it releases them, and by which
//! they are found when it ends (POSIX, *pthread_mutexattr*: `type`, `protocol`, `robust`).
#![expect(
    unsafe_code,
    reason = "a list of objects that do not move while a thread has them"
)]

use crate::lock::ABANDONED;
use crate::mutex::{LockError, Mutex};
use crate::threads::{OWN, State, own_index, thread_of};
use crate::{Machine, Threads, Time};
use bulkhead_sched::ThreadId;
use bulkhead_sched::policy::{Policy, Priority};
use core::cell::Cell;
use core::ptr;

/// Attributes of a mutex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Its owner may take it again, and gives it back as often.
    pub recursive: bool,
    /// It is released when its owner ends; else it stays locked then.
    pub robust: bool,
    /// Its owner runs at this priority at least, from the moment at which it has the mutex.
    pub ceiling: Option<Priority>,
}

/// A mutex with attributes. It must not move while a thread has it or waits for it.
#[derive(Debug)]
pub struct AttributeMutex {
    mutex: Mutex<()>,
    attributes: Attributes,
    depth: Cell<u32>,
    /// The next one of its owner's.
    next: Cell<*const Self>,
}

// SAFETY: the cells are reached by the owner, or under the scheduler's lock.
unsafe impl Sync for AttributeMutex {}

/// Mutexes with attributes that a thread has.
pub(crate) struct HeldMutex(Cell<*const AttributeMutex>);

impl HeldMutex {
    pub(crate) const fn none() -> Self {
        Self(Cell::new(ptr::null()))
    }

    /// The mutexes, newest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &AttributeMutex> {
        // SAFETY: a mutex that a thread has exists; it leaves the list before it is released or deleted.
        let first = unsafe { self.0.get().as_ref() };
        // SAFETY: as above.
        core::iter::successors(first, |mutex| unsafe { mutex.next.get().as_ref() })
    }

    fn push(&self, mutex: &AttributeMutex) {
        mutex.next.set(self.0.replace(mutex));
    }

    fn remove(&self, mutex: &AttributeMutex) {
        let before = self.iter().find(|one| ptr::eq(one.next.get(), mutex));
        match before {
            Some(before) => before.next.set(mutex.next.get()),
            None if ptr::eq(self.0.get(), mutex) => self.0.set(mutex.next.get()),
            None => {}
        }
    }
}

impl AttributeMutex {
    /// A free mutex.
    #[must_use]
    pub const fn new(attributes: Attributes) -> Self {
        Self {
            mutex: Mutex::new(()),
            attributes,
            depth: Cell::new(0),
            next: Cell::new(ptr::null()),
        }
    }

    pub(crate) const fn ceiling(&self) -> Option<Priority> {
        self.attributes.ceiling
    }

    /// Takes it, waiting until `until`.
    ///
    /// # Errors
    /// [`LockError`]; [`LockError::Deadlock`] also for an owner that takes a mutex again that is not recursive.
    pub fn acquire<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        until: Time,
    ) -> Result<(), LockError> {
        let caller = own_index::<M>();
        if self.mutex.owner() == Some(caller) {
            let deeper = self.depth.get().checked_add(1);
            let deeper = deeper.filter(|_| self.attributes.recursive);
            self.depth.set(deeper.ok_or(LockError::Deadlock)?);
            return Ok(());
        }
        self.mutex.acquire_noted(threads, until, |state, caller| {
            self.depth.set(1);
            if caller != OWN {
                let thread = thread_of(caller);
                state.wait(thread).held.push(self);
                if self.attributes.ceiling.is_some() {
                    state.refresh_ceiling::<M>(thread);
                }
            }
        })
    }

    /// Gives it back once. Returns false if the caller does not have it; nothing is done then.
    pub fn release<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
    ) -> bool {
        let caller = own_index::<M>();
        if self.mutex.owner() != Some(caller) {
            return false;
        }
        self.depth.set(self.depth.get().saturating_sub(1));
        if self.depth.get() > 0 {
            return true;
        }
        let has_ceiling = self.attributes.ceiling.is_some();
        self.mutex.release_noted(threads, |state| {
            if caller != OWN {
                let thread = thread_of(caller);
                state.wait(thread).held.remove(self);
                if has_ceiling {
                    state.refresh_ceiling::<M>(thread);
                }
            }
        });
        true
    }

    /// Index of the thread that has it; `None` if it is free, or its owner has ended.
    #[must_use]
    pub fn owner(&self) -> Option<u64> {
        self.mutex.owner().filter(|owner| *owner != ABANDONED)
    }

    /// Ends all waits for it with [`LockError::Deleted`], and takes it away from its owner. No thread uses it afterwards.
    pub fn delete<M: Machine, P: Policy, const N: usize>(&self, threads: &Threads<M, P, N>) {
        let caller = own_index::<M>();
        threads.take(caller);
        let state = threads.state_locked();
        if let Some(owner) = self.owner().filter(|owner| *owner != OWN) {
            state.wait(thread_of(owner)).held.remove(self);
            state.refresh_ceiling::<M>(thread_of(owner));
        }
        self.mutex.end_all_waits(threads, caller);
    }
}

impl<P: Policy, const N: usize> State<P, N> {
    /// Releases the robust mutexes of a thread that ends, and locks its others for good.
    pub(crate) fn abandon_mutexes<M: Machine>(&mut self, thread: ThreadId) {
        let held = core::mem::replace(&mut self.wait(thread).held, HeldMutex::none());
        let mut next = held.0.get();
        // SAFETY: a mutex that a thread has exists.
        while let Some(mutex) = unsafe { next.as_ref() } {
            next = mutex.next.get();
            mutex
                .mutex
                .abandon::<M, P, N>(self, mutex.attributes.robust);
        }
    }
}
