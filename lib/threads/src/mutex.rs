//! Mutexes with priority inheritance
//!
//! Uncontended it is two atomic instructions. A thread that finds it taken lends its turn to the
//! owner, by switching to it: whatever importance the policy knows is inherited, through as many
//! mutexes as the owner itself waits for. Where the owner waits for something else, so does the
//! thread, until the owner lets go.
#![expect(unsafe_code, reason = "the value is reached by the owner of the lock")]

use crate::lock::Lock;
use crate::threads::{OWN, State, own_index, thread_of};
use crate::wait::Waiters;
use crate::{Machine, NEVER, Threads, Time};
use bulkhead_sched::policy::Policy;
use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};

/// A value that one thread at a time uses.
#[derive(Debug)]
pub struct Mutex<T> {
    lock: Lock,
    /// Threads that wait because the owner itself waits; accessed under the scheduler's lock.
    waiters: Waiters,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached under the lock, the waiters under the scheduler's.
unsafe impl<T: Send> Sync for Mutex<T> {}

/// Why a mutex was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockError {
    /// The time to give up came first.
    TimedOut,
    /// The owner waits, by way of other mutexes, for one that the caller has; or it is the caller.
    Deadlock,
    /// The mutex was deleted.
    Deleted,
}

impl<T> Mutex<T> {
    /// A mutex around `value`.
    pub const fn new(value: T) -> Self {
        Self {
            lock: Lock::new(),
            waiters: Waiters::new(),
            value: UnsafeCell::new(value),
        }
    }

    /// Takes it, waiting until `until`; it is given back when the guard goes.
    ///
    /// # Errors
    /// [`LockError`].
    #[inline(always)]
    pub fn lock<'a, M: Machine, P: Policy, const N: usize>(
        &'a self,
        threads: &'a Threads<M, P, N>,
        until: Time,
    ) -> Result<Guard<'a, T, M, P, N>, LockError> {
        self.acquire(threads, until)?;
        Ok(Guard {
            mutex: self,
            threads,
        })
    }

    /// Takes the mutex without a guard; the caller must call [`Mutex::release`].
    ///
    /// # Errors
    /// [`LockError`].
    #[inline(always)]
    pub fn acquire<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        until: Time,
    ) -> Result<(), LockError> {
        let caller = own_index::<M>();
        if self.lock.try_take(caller) {
            Ok(())
        } else {
            self.wait::<false, _, _, N>(threads, caller, until, |_, _| ())
        }
    }

    /// Takes the mutex, and calls `note` under the scheduler's lock, so that no thread sees one without the other.
    pub(crate) fn acquire_noted<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        until: Time,
        note: impl Fn(&mut State<P, N>, u64),
    ) -> Result<(), LockError> {
        let caller = own_index::<M>();
        threads.take(caller);
        let taken = self.lock.try_take(caller);
        if taken {
            note(threads.state_locked(), caller);
        }
        threads.give_back(caller);
        match taken {
            true => Ok(()),
            false => self.wait::<true, _, _, N>(threads, caller, until, note),
        }
    }

    /// Gives back what [`Mutex::acquire_noted`] took; `note` is called under the scheduler's lock.
    pub(crate) fn release_noted<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        note: impl FnOnce(&mut State<P, N>),
    ) {
        let caller = own_index::<M>();
        threads.take(caller);
        let waiter = self.lock.release();
        note(threads.state_locked());
        match waiter {
            Some(waiter) => self.pass_on_locked(threads, caller, waiter),
            None => threads.run_others(caller),
        }
    }

    /// Gives back what [`Mutex::acquire`] took. Whether the caller had it; nothing is done where not.
    #[inline(always)]
    pub fn release<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
    ) -> bool {
        let caller = own_index::<M>();
        if !self.lock.is_owned_by(caller) {
            return false;
        }
        if let Some(waiter) = self.lock.release() {
            self.pass_on(threads, caller, waiter);
        }
        true
    }

    /// Lets `act` use the value; other threads of `threads` wait.
    ///
    /// # Errors
    /// [`LockError::Deadlock`].
    #[inline(always)]
    pub fn with<R, M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        act: impl FnOnce(&mut T) -> R,
    ) -> Result<R, LockError> {
        let mut guard = self.lock(threads, NEVER)?;
        Ok(act(&mut guard))
    }

    /// Index of the thread that has it.
    pub(crate) fn owner(&self) -> Option<u64> {
        self.lock.owner()
    }

    /// Ends all waits with [`LockError::Deleted`]. The scheduler's lock is held, and released.
    pub(crate) fn end_all_waits<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        caller: u64,
    ) {
        threads.state_locked().end_wants(&self.lock);
        threads.end_waits(caller, &[&self.waiters]);
    }

    /// Takes it away from its owner, which has ended: it is free, or locked for good. Waiting threads look again.
    pub(crate) fn abandon<M: Machine, P: Policy, const K: usize>(
        &self,
        state: &mut State<P, K>,
        is_freed: bool,
    ) {
        match is_freed {
            true => {
                self.lock.release();
            }
            false => self.lock.abandon(),
        }
        for thread in self.waiters.iter() {
            state.grant::<M>(&self.waiters, thread);
        }
    }

    /// Waits for the mutex. One that is never deleted is looked at without the scheduler's lock, too.
    #[cold]
    fn wait<const IS_DELETABLE: bool, M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        caller: u64,
        until: Time,
        note: impl Fn(&mut State<P, N>, u64),
    ) -> Result<(), LockError> {
        threads.want(caller, &raw const self.lock);
        threads.take(caller);
        let taken = loop {
            // Here the scheduler's lock is held.
            if IS_DELETABLE
                && caller != OWN
                && threads.state_locked().wants(thread_of(caller)).is_null()
            {
                // Deleted: the mutex may be other memory by now.
                threads.give_back(caller);
                return Err(LockError::Deleted);
            }
            if self.lock.try_take(caller) {
                note(threads.state_locked(), caller);
                break Ok(());
            }
            if until != NEVER && M::now() >= until {
                break Err(LockError::TimedOut);
            }
            let Some(owner) = self.lock.ask(caller) else {
                continue;
            };
            if self.waits_for_itself(threads, caller, owner) {
                break Err(LockError::Deadlock);
            }
            if owner != OWN && !threads.state_locked().scheduler.is_ready(thread_of(owner)) {
                let _looks_again = threads.wait_in(caller, &self.waiters, until);
                continue;
            }
            threads.state_locked().meter::<M>(owner);
            threads.give_back(caller);
            if until == NEVER {
                threads.hand_over(caller, owner);
            } else {
                threads.hand_over_until(caller, owner, until);
            }
            if !IS_DELETABLE && self.lock.try_take(caller) {
                threads.want(caller, core::ptr::null());
                return Ok(());
            }
            threads.take(caller);
        };
        threads.give_back(caller);
        threads.want(caller, core::ptr::null());
        taken
    }

    /// Returns true if `owner` waits, through any chain of mutexes, for a mutex of `caller`, or is `caller`. The
    /// scheduler's lock is held, and a waiting thread keeps its wish until it runs.
    fn waits_for_itself<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        caller: u64,
        owner: u64,
    ) -> bool {
        let state = threads.state_locked();
        let mut owner = owner;
        for _ in 0..N {
            if owner == caller {
                return true;
            }
            let lock = state.wants(thread_of(owner));
            if lock.is_null() {
                return false;
            }
            // SAFETY: its owner, in the middle of a wait for it, borrows the mutex.
            match unsafe { (*lock).owner() } {
                // It has what it wanted and has not run since.
                Some(next) if next != owner => owner = next,
                _ => return false,
            }
        }
        false
    }

    /// `waiter` asked last. It runs at once where the policy cannot but pick it.
    #[cold]
    fn pass_on<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        caller: u64,
        waiter: u64,
    ) {
        threads.take(caller);
        self.pass_on_locked(threads, caller, waiter);
    }

    /// Does so where the scheduler's lock is held; it is released.
    fn pass_on_locked<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        caller: u64,
        waiter: u64,
    ) {
        let state = threads.state_locked();
        if self.waiters.is_empty() {
            let thread = thread_of(waiter);
            let here = state.wants(thread) == &raw const self.lock;
            let ready = here && !state.scheduler.is_blocked(thread);
            if caller != OWN
                && ready
                && state.scheduler.policy().outranks(thread, thread_of(caller))
            {
                threads.state_locked().meter::<M>(waiter);
                threads.give_back(caller);
                threads.hand_over(caller, waiter);
                return;
            }
        } else {
            // They look again, in the order of the policy.
            for thread in self.waiters.iter() {
                state.grant::<M>(&self.waiters, thread);
            }
        }
        threads.reschedule(caller);
    }
}

/// The value, while it is taken.
pub struct Guard<'a, T, M: Machine, P: Policy, const N: usize> {
    mutex: &'a Mutex<T>,
    threads: &'a Threads<M, P, N>,
}

impl<T, M: Machine, P: Policy, const N: usize> Deref for Guard<'_, T, M, P, N> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T, M: Machine, P: Policy, const N: usize> DerefMut for Guard<'_, T, M, P, N> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, and the guard is borrowed as exclusive.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T, M: Machine, P: Policy, const N: usize> Drop for Guard<'_, T, M, P, N> {
    #[inline(always)]
    fn drop(&mut self) {
        let caller = own_index::<M>();
        if let Some(waiter) = self.mutex.lock.release() {
            self.mutex.pass_on(self.threads, caller, waiter);
        }
    }
}
