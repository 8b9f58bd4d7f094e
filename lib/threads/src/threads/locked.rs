//! The lock of a core's threads, and handing over under it
#![expect(
    unsafe_code,
    reason = "scheduler state is shared under a lock; switches between threads"
)]

use super::{State, Threads, own_index, thread_of};
use crate::lock::Lock;
use crate::{Machine, Time};
use bulkhead_sched::policy::Policy;
use core::sync::atomic::Ordering::Relaxed;

impl<M: Machine, P: Policy, const N: usize> Threads<M, P, N> {
    #[inline(always)]
    pub(super) fn switch_to(&self, caller: u64, next: u64, name: u64, epoch: u64) -> bool {
        // SAFETY: `caller` runs, `next` is another thread, made under that name.
        unsafe { M::switch(caller, next, name, epoch) }
    }

    /// Returns the state for the holder of the lock.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
    pub(crate) fn state_locked(&self) -> &mut State<P, N> {
        // SAFETY: the caller holds the lock, and lets go of the state before the lock.
        unsafe { &mut *self.state.get() }
    }

    /// Notes which mutex the calling thread wants; null for none.
    #[inline(always)]
    pub(crate) fn want(&self, caller: u64, mutex: *const Lock) {
        // SAFETY: places are made once; this one is written by the thread itself, whole.
        let waits = unsafe { &(*self.state.get()).waits };
        if let Some(wait) = waits.get(thread_of(caller).index()) {
            wait.mutex.store(mutex.cast_mut(), Relaxed);
        }
    }

    /// Switches to a thread that has what the caller wants, or wants what the caller had.
    pub(crate) fn hand_over(&self, caller: u64, next: u64) {
        if caller == next {
            return;
        }
        let epoch = M::scb().epoch.load(Relaxed);
        // SAFETY: capabilities are written once, before their thread exists.
        let state = unsafe { &*self.state.get() };
        let name = state.name_of(next, M::scheduler_thread());
        if !self.switch_to(caller, next, name, epoch) {
            // Events or a stale epoch: the policy looks at it.
            self.take_again(caller);
        }
    }

    /// Hands over at the latest until `until`, when the scheduler decides again. It may return earlier; the caller
    /// checks again, too.
    pub(crate) fn hand_over_until(&self, caller: u64, next: u64, until: Time) {
        self.take(caller);
        let state = self.state_locked();
        let epoch = M::scb().epoch.load(Relaxed);
        let sooner = state.is_sooner(until, epoch);
        if sooner {
            state.note_armed(&self.lock, until, epoch);
        }
        let name = state.name_of(next, M::scheduler_thread());
        if self.hand_back(caller) {
            return;
        }
        if !sooner {
            self.hand_over(caller, next);
        } else if !M::dispatch(name, M::SAME_TIME, Some(until), epoch, None) {
            self.take_again(caller);
        }
    }

    /// Runs the preempted owner of the lock. The kernel dispatches it, because pending events cannot be
    /// read without the lock.
    #[cold]
    fn help(&self, owner: u64) {
        let epoch = M::scb().epoch.load(Relaxed);
        // SAFETY: names are written once, before their thread exists.
        let name = unsafe { &*self.state.get() }.name_of(owner, M::scheduler_thread());
        // Refused as stale: the lock is looked at again.
        let _helped = M::dispatch(name, M::SAME_TIME, None, epoch, None);
    }

    pub(super) fn take_again(&self, caller: u64) {
        if self.lock.try_take(caller) {
            self.reschedule(caller);
        }
    }

    #[inline(always)]
    pub(crate) fn take(&self, caller: u64) {
        while !self.lock.try_take(caller) {
            if let Some(owner) = self.lock.ask(caller) {
                self.help(owner);
            }
        }
    }

    #[inline(always)]
    pub(crate) fn give_back(&self, caller: u64) {
        self.hand_back(caller);
    }

    /// Releases the lock; returns true if a waiting thread received it.
    #[inline(always)]
    pub(super) fn hand_back(&self, caller: u64) -> bool {
        let waiter = self.lock.release();
        if let Some(waiter) = waiter {
            self.hand_over(caller, waiter);
        }
        waiter.is_some()
    }

    pub(super) fn with<R>(&self, act: impl FnOnce(&mut State<P, N>) -> R) -> R {
        let caller = own_index::<M>();
        self.take(caller);
        let state = self.state_locked();
        state.settle::<M>();
        let result = act(state);
        self.give_back(caller);
        result
    }
}
