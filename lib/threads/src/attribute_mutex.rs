//! Mutexes with attributes: recursive, robust, with a priority ceiling
//!
//! A [`Mutex`], so that a waiting thread lends its importance to the owner, with what its owner has to know about it. The
//! mutexes of a thread are a list, from which its ceiling follows whatever the order in which it releases them, and by which
//! they are found when it ends (POSIX, *pthread_mutexattr*: `type`, `protocol`, `robust`).
#![expect(
    unsafe_code,
    reason = "a list of objects that do not move while a thread has them"
)]

use crate::held::Held;
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
    /// The end of the owner releases the mutex; without this it stays locked.
    pub robust: bool,
    /// Its owner runs at this priority at least, from the moment at which it has the mutex.
    pub ceiling: Option<Priority>,
}

/// A mutex with attributes. It must not move while a thread has it or waits for it.
#[derive(Debug)]
#[repr(C)]
pub struct AttributeMutex {
    /// Its place in the list of its owner's; the list names the mutex by it.
    held: Held,
    mutex: Mutex<()>,
    attributes: Attributes,
    depth: Cell<u32>,
}

// SAFETY: the cells are reached by the owner, or under the scheduler's lock.
unsafe impl Sync for AttributeMutex {}

impl AttributeMutex {
    /// A free mutex.
    #[must_use]
    pub const fn new(attributes: Attributes) -> Self {
        Self {
            held: Held::new(attributes.ceiling),
            mutex: Mutex::new(()),
            attributes,
            depth: Cell::new(0),
        }
    }

    fn as_held(&self) -> *const Held {
        ptr::from_ref(self).cast()
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
                state.wait(thread).held.push(self.as_held());
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
                state.wait(thread).held.remove(self.as_held());
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
            state.wait(thread_of(owner)).held.remove(self.as_held());
            state.refresh_ceiling::<M>(thread_of(owner));
        }
        self.mutex.end_all_waits(threads, caller);
    }
}

impl<P: Policy, const N: usize> State<P, N> {
    /// Releases the robust mutexes of a thread that ends, and locks its others for good.
    pub(crate) fn abandon_mutexes<M: Machine>(&mut self, thread: ThreadId) {
        while let Some(held) = self.wait(thread).held.pop() {
            // SAFETY: a mutex that a thread has exists, and is in the list by its first field.
            let mutex = unsafe { &*held.cast::<AttributeMutex>() };
            mutex
                .mutex
                .abandon::<M, P, N>(self, mutex.attributes.robust);
        }
    }
}
