//! Event flags
#![expect(
    unsafe_code,
    reason = "the flags are reached under the scheduler's lock"
)]

use crate::threads::{State, own_index, thread_of};
use crate::wait::{TimedOut, WaitError, Waiters};
use crate::{Machine, Threads, Time};
use bulkhead_sched::policy::Policy;
use core::cell::Cell;

/// Condition for which a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The flags that matter; not 0.
    pub flags: u32,
    /// All of them must be set, not just one.
    pub all: bool,
    /// Clears the flags for the thread that is served.
    pub clear: bool,
}

impl Wish {
    /// Any of `flags`, which are cleared.
    #[must_use]
    pub const fn any(flags: u32) -> Self {
        Self {
            flags,
            all: false,
            clear: true,
        }
    }

    /// All of `flags`, which are cleared.
    #[must_use]
    pub const fn all(flags: u32) -> Self {
        Self {
            all: true,
            ..Self::any(flags)
        }
    }

    /// Waits without clearing the flags.
    #[must_use]
    pub const fn keeping(self) -> Self {
        Self {
            clear: false,
            ..self
        }
    }

    /// The flags of the wish that are set, where they satisfy it.
    pub(crate) const fn of(self, set: u32) -> Option<u32> {
        let found = set & self.flags;
        let satisfied = if self.all {
            found == self.flags
        } else {
            found != 0
        };
        if satisfied { Some(found) } else { None }
    }
}

/// 32 flags that threads set and wait for. A set first serves every thread with a satisfied condition, and then
/// clears the flags that these threads asked to clear.
#[derive(Debug)]
pub struct Events {
    flags: Cell<u32>,
    waiters: Waiters,
}

// SAFETY: the cells are reached under the scheduler's lock.
unsafe impl Sync for Events {}

impl Default for Events {
    fn default() -> Self {
        Self::new()
    }
}

impl Events {
    /// No flag set.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            flags: Cell::new(0),
            waiters: Waiters::new(),
        }
    }

    /// Waits until `wish` is satisfied or `until` comes ([`Time`] 0: does not wait); the flags of the
    /// wish that were set.
    ///
    /// # Errors
    /// [`WaitError`].
    pub fn wait<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        wish: Wish,
        until: Time,
    ) -> Result<u32, WaitError> {
        self.wait_all(threads, wish, until)
            .map(|set| set & wish.flags)
    }

    /// Does so; all flags that were set, before those of the wish were cleared.
    ///
    /// # Errors
    /// [`WaitError`].
    pub fn wait_all<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        wish: Wish,
        until: Time,
    ) -> Result<u32, WaitError> {
        let caller = own_index::<M>();
        threads.take(caller);
        let set = self.flags.get();
        let found = match wish.of(set) {
            Some(_) => {
                self.clear_for(wish);
                Ok(set)
            }
            None if until == 0 => Err(TimedOut),
            None => {
                let thread = thread_of(caller);
                threads.state_locked().wish(thread, wish);
                threads
                    .wait_in(caller, &self.waiters, until)
                    .map(|()| threads.state_locked().wished(thread).flags)
            }
        };
        threads.give_back(caller);
        found
    }

    /// Sets `flags`; a thread that this serves runs if the policy picks it.
    pub fn set<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        flags: u32,
    ) {
        let caller = own_index::<M>();
        threads.take(caller);
        self.flags.set(self.flags.get() | flags);
        if self.waiters.is_empty() {
            threads.give_back(caller);
        } else {
            self.serve::<M, P, N>(threads.state_locked());
            threads.reschedule(caller);
        }
    }

    fn serve<M: Machine, P: Policy, const N: usize>(&self, state: &mut State<P, N>) {
        let set = self.flags.get();
        for thread in self.waiters.iter() {
            let wish = state.wished(thread);
            if wish.of(set).is_some() {
                self.clear_for(wish);
                // What it is answered.
                state.wish(thread, Wish { flags: set, ..wish });
                state.grant::<M>(&self.waiters, thread);
            }
        }
    }

    fn clear_for(&self, wish: Wish) {
        if wish.clear {
            self.flags.set(self.flags.get() & !wish.flags);
        }
    }

    /// Flags that are set.
    #[must_use]
    pub fn flags(&self) -> u32 {
        self.flags.get()
    }

    /// Ends all waits for the flags with [`WaitError::Deleted`]. No thread uses them afterwards.
    pub fn delete<M: Machine, P: Policy, const N: usize>(&self, threads: &Threads<M, P, N>) {
        let caller = own_index::<M>();
        threads.take(caller);
        threads.end_waits(caller, &[&self.waiters]);
    }

    /// Clears `flags`; those that were set.
    pub fn clear<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        flags: u32,
    ) -> u32 {
        self.clear_all(threads, flags) & flags
    }

    /// Does so; all flags that were set before.
    pub fn clear_all<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        flags: u32,
    ) -> u32 {
        let caller = own_index::<M>();
        threads.take(caller);
        let set = self.flags.get();
        self.flags.set(set & !flags);
        threads.give_back(caller);
        set
    }
}
