//! One-shot and periodic timers
//!
//! One thread of the application serves them all, at the priority it was given: what an expiry does
//! runs there, so it may wait for nothing for long.
#![expect(
    unsafe_code,
    reason = "the timers are reached under the scheduler's lock"
)]

use crate::threads::{index_of, own_index};
use crate::wait::Waiters;
use crate::{Machine, NEVER, Threads, Time};
use bulkhead_sched::policy::Policy;
use bulkhead_sched::{ThreadId, Timeouts};
use core::cell::UnsafeCell;

/// Action at the expiry of a timer.
#[derive(Clone, Copy, Debug)]
pub struct Expiry {
    /// Ticks from one expiry to the next; 0 = it expires once.
    pub period: Time,
    /// Called with `argument` and the instant for which it was set.
    pub action: fn(argument: u64, due: Time),
    /// Argument of `action`.
    pub argument: u64,
}

struct Content<const K: usize> {
    /// The heap of time-outs serves timers as it serves threads.
    due: Timeouts<K>,
    expiries: [Option<Expiry>; K],
}

/// Up to `K` timers, named 0 to `K - 1`.
pub struct Timers<const K: usize> {
    content: UnsafeCell<Content<K>>,
    /// The serving thread, while it waits.
    server: Waiters,
}

// SAFETY: the content is reached under the scheduler's lock.
unsafe impl<const K: usize> Sync for Timers<K> {}

impl<const K: usize> Default for Timers<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const K: usize> Timers<K> {
    /// None started.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            content: UnsafeCell::new(Content {
                due: Timeouts::new(),
                expiries: [None; K],
            }),
            server: Waiters::new(),
        }
    }

    /// Starts a timer, or sets it anew: it expires at `due`, and then by its period. Whether there is a
    /// timer of that number.
    pub fn start<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        timer: usize,
        due: Time,
        expiry: Expiry,
    ) -> bool {
        let caller = own_index::<M>();
        threads.take(caller);
        // SAFETY: the scheduler's lock is held.
        let content = unsafe { &mut *self.content.get() };
        let is_timer = timer < K;
        if is_timer {
            content.expiries[timer] = Some(expiry);
            content.arm(timer, due);
        }
        match self.server.iter().next() {
            // It waits for what came first until now.
            Some(server) if content.due.earliest() == Some(due) => {
                let _server = threads.state_locked().next_waiter(&self.server);
                threads.rouse(caller, index_of(server));
            }
            _ => threads.give_back(caller),
        }
        is_timer
    }

    /// Stops a timer; whether it was started and had not expired for good.
    pub fn stop<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        timer: usize,
    ) -> bool {
        let caller = own_index::<M>();
        threads.take(caller);
        // SAFETY: the scheduler's lock is held.
        let content = unsafe { &mut *self.content.get() };
        let running = timer < K && content.expiries[timer].take().is_some();
        if running {
            content.due.disarm(ThreadId(timer as u16));
        }
        threads.give_back(caller);
        running
    }

    /// Returns true if a timer was started and has not expired for good.
    pub fn is_running<M: Machine, P: Policy, const N: usize>(
        &self,
        threads: &Threads<M, P, N>,
        timer: usize,
    ) -> bool {
        let caller = own_index::<M>();
        threads.take(caller);
        // SAFETY: the scheduler's lock is held.
        let content = unsafe { &*self.content.get() };
        let is_running = content.expiries.get(timer).is_some_and(Option::is_some);
        threads.give_back(caller);
        is_running
    }

    /// Serves the timers: the whole work of a thread.
    pub fn serve<M: Machine, P: Policy, const N: usize>(&self, threads: &Threads<M, P, N>) -> ! {
        let caller = own_index::<M>();
        loop {
            threads.take(caller);
            // SAFETY: the scheduler's lock is held.
            let content = unsafe { &mut *self.content.get() };
            if let Some((expiry, due)) = content.expire(M::now()) {
                threads.give_back(caller);
                (expiry.action)(expiry.argument, due);
                continue;
            }
            let until = content.due.earliest().unwrap_or(NEVER);
            // Started anew or come: either way it looks again.
            let _looks_again = threads.wait_in(caller, &self.server, until);
            threads.give_back(caller);
        }
    }
}

impl<const K: usize> Content<K> {
    fn arm(&mut self, timer: usize, due: Time) {
        self.due.arm(ThreadId(timer as u16), due);
    }

    /// Returns a timer that is due; sets a periodic one to its next expiry.
    fn expire(&mut self, now: Time) -> Option<(Expiry, Time)> {
        let (timer, due) = self.due.expire(now)?;
        let timer = timer.index();
        let expiry = self.expiries[timer]?;
        if expiry.period == 0 {
            self.expiries[timer] = None;
        } else {
            self.arm(timer, due.saturating_add(expiry.period));
        }
        Some((expiry, due))
    }
}
