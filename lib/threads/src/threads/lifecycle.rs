//! Life of a core's threads: made or adopted, suspended and resumed, ended and joined
#![expect(
    unsafe_code,
    reason = "the joiners of a thread have a place of their own"
)]

use super::{Condition, IDLE, Threads, Wait, index_of, own_index, sleep, thread_of};
use crate::wait::{Progress, WaitError};
use crate::{Machine, NEVER, Time};
use bulkhead_sched::policy::Policy;

impl<M: Machine, P: Policy, const N: usize> Threads<M, P, N> {
    /// Makes the idle thread. Once, before [`Threads::run`].
    ///
    /// # Errors
    /// The machine's refusal.
    pub fn prepare(&self, maker: &mut M::Maker) -> Result<(), M::Error> {
        let idle = M::make(maker, sleep::<M>, IDLE)?;
        self.with(|state| state.idle = idle);
        Ok(())
    }

    /// Makes a thread, ready to run; its index, which `entry` gets, too.
    ///
    /// # Errors
    /// The policy's refusal of the parameters as [`Machine::REFUSED`], or the machine's.
    pub fn spawn(
        &self,
        maker: &mut M::Maker,
        entry: extern "C" fn(u64) -> !,
        parameters: P::Parameters,
    ) -> Result<u64, M::Error> {
        let now = M::now();
        let thread = self
            .with(|state| state.scheduler.add(parameters, now))
            .map_err(|_| M::REFUSED)?;
        let index = index_of(thread);
        let name = match M::make(maker, entry, index) {
            Ok(name) => name,
            Err(error) => {
                let _was_there = self.with(|state| state.scheduler.remove(thread, now));
                return Err(error);
            }
        };
        self.with(|state| {
            if let Some(place) = state.names.get_mut(thread.index()) {
                *place = name;
            }
            state.scheduler.wakeup(thread, now);
        });
        Ok(index)
    }

    /// Takes over a thread that another component made, under this scheduler at `index`, which is free or the
    /// index of a faulted thread; the thread is ready to run.
    ///
    /// # Errors
    /// The policy's refusal, or an index that is taken, as [`Machine::REFUSED`].
    pub fn adopt(&self, index: u64, name: u64, parameters: P::Parameters) -> Result<(), M::Error> {
        self.adopt_blocked(index, name, parameters)?;
        self.release(index);
        Ok(())
    }

    /// Does so with a thread that begins when it is woken.
    ///
    /// # Errors
    /// As for [`Self::adopt`].
    pub fn adopt_blocked(
        &self,
        index: u64,
        name: u64,
        parameters: P::Parameters,
    ) -> Result<(), M::Error> {
        let now = M::now();
        self.with(|state| {
            let thread = thread_of(index);
            let added = state.scheduler.insert(thread, parameters, now);
            added.map_err(|_| M::REFUSED)?;
            if let Some(place) = state.names.get_mut(thread.index()) {
                *place = name;
            }
            // What is known of the one that faulted is not this one's.
            *state.wait(thread) = Wait::none();
            state.outside.remove(thread);
            state.meter.clear(index);
            Ok(())
        })
    }

    /// Removes a thread that is blocked: it does not run again, and its index is free. Returns false if it is not blocked. A
    /// blocked thread neither holds the lock nor waits for it, so that it can be taken apart wherever it is.
    pub fn remove_blocked(&self, index: u64) -> bool {
        let now = M::now();
        self.with(|state| {
            let thread = thread_of(index);
            let is_blocked = state.scheduler.is_blocked(thread);
            is_blocked && state.scheduler.remove(thread, now).is_ok()
        })
    }

    /// Returns whether there is a thread of that index.
    pub fn has(&self, index: u64) -> bool {
        self.with(|state| state.scheduler.has(thread_of(index)))
    }

    /// Ends the calling thread: it never runs again, nor is its place used again.
    pub fn exit(&self) -> ! {
        loop {
            self.block(NEVER);
        }
    }

    /// Ends a thread, the calling one, too: it never runs again, and its place is free for [`Self::adopt`] once the machine's
    /// thread is renewed. Its wait ends, its robust mutexes are released, and other mutexes with attributes stay locked for
    /// good. Returns false if there is no such thread.
    pub fn end(&self, index: u64) -> bool {
        let caller = own_index::<M>();
        self.take(caller);
        let state = self.state_locked();
        state.settle::<M>();
        let thread = thread_of(index);
        if !state.scheduler.has(thread) {
            self.give_back(caller);
            return false;
        }
        state.withdraw(thread);
        state.abandon_mutexes::<M>(thread);
        state.suspended.remove(thread);
        state.outside.remove(thread);
        let wait = core::mem::replace(state.wait(thread), Wait::none());
        let _was_there = state.scheduler.remove(thread, M::now());
        if index != caller {
            M::retire(state.name(thread));
        }
        for joiner in wait.joiners.iter() {
            // The set was replaced above.
            state.wait(joiner).progress = Progress::Granted;
            state.rouse::<M>(joiner);
        }
        self.run_others(caller);
        true
    }

    /// Begins a thread that was adopted, without running it at once: for thread 0 before it runs threads.
    pub fn release(&self, index: u64) {
        let now = M::now();
        self.with(|state| state.scheduler.wakeup(thread_of(index), now));
    }

    /// Stops the machine's thread at an index after the thread there has ended itself.
    pub fn retire(&self, index: u64) {
        self.with(|state| {
            let thread = thread_of(index);
            if !state.scheduler.has(thread) {
                M::retire(state.name(thread));
            }
        });
    }

    /// Waits for the end of a thread, until `until`. A thread that has ended has left its index without a thread.
    ///
    /// # Errors
    /// [`WaitError::TimedOut`].
    pub fn join(&self, index: u64, until: Time) -> Result<(), WaitError> {
        let caller = own_index::<M>();
        self.take(caller);
        let state = self.state_locked();
        let thread = thread_of(index);
        let joined = match state.scheduler.has(thread) {
            false => Ok(()),
            true if until == 0 => Err(WaitError::TimedOut),
            true => {
                let joiners = &raw const state.wait(thread).joiners;
                // SAFETY: the state of a thread has its place for good.
                let joiners = unsafe { &*joiners };
                self.wait_in(caller, joiners, until)
            }
        };
        self.give_back(caller);
        joined
    }

    /// Stops a thread, the calling one, too, until it is resumed. A wait of its for an object continues meanwhile. Returns
    /// false if there is no such thread.
    pub fn suspend(&self, index: u64) -> bool {
        let caller = own_index::<M>();
        self.take(caller);
        let state = self.state_locked();
        state.settle::<M>();
        let thread = thread_of(index);
        let is_there = state.scheduler.has(thread);
        if is_there {
            state.suspended.insert(thread);
            state.scheduler.suspend(thread, M::now());
        }
        self.run_others(caller);
        is_there
    }

    /// Continues a suspended thread. Returns false if it is not suspended.
    pub fn resume(&self, index: u64) -> bool {
        let caller = own_index::<M>();
        self.take(caller);
        let state = self.state_locked();
        state.settle::<M>();
        let thread = thread_of(index);
        let was_suspended = state.suspended.contains(thread);
        if was_suspended {
            state.suspended.remove(thread);
            // A thread that waits looks whether it still has to.
            state.scheduler.wakeup(thread, M::now());
        }
        self.run_others(caller);
        was_suspended
    }

    /// State of a thread; `None` if there is none.
    pub fn condition(&self, index: u64) -> Option<Condition> {
        let caller = own_index::<M>();
        if index == caller {
            return Some(Condition::Running);
        }
        self.with(|state| {
            let thread = thread_of(index);
            let waits = state.scheduler.is_blocked(thread) || !state.wants(thread).is_null();
            state.scheduler.has(thread).then_some(match waits {
                true => Condition::Blocked,
                false => Condition::Ready,
            })
        })
    }
}
