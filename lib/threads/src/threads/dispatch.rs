//! Decisions become switches: the loops of a core's scheduler, and what a thread does after a change of its state

use super::{IDLE, OWN, State, Threads, index_of, own_index};
use crate::accounts::Funding;
use crate::{Machine, NEVER, Time};
use bulkhead_abi::dispatch::EventKind;
use bulkhead_sched::ThreadId;
use bulkhead_sched::policy::Policy;
use core::convert::Infallible;

impl<M: Machine, P: Policy, const N: usize> Threads<M, P, N> {
    /// Runs threads for ever. Reports each thread that faulted ([`EventKind::Faulted`]) and does not run
    /// again, or used up its budget ([`EventKind::Expired`]), by its index and its name in the machine.
    /// Called by thread 0.
    pub fn run_telling(&self, mut tell: impl FnMut(u64, u64, EventKind)) -> ! {
        loop {
            let Some((decided, name)) = self.decide(NEVER, true) else {
                while let Some((index, name, kind)) = self.with(State::take_stopped::<M>) {
                    tell(index, name, kind);
                }
                continue;
            };
            let _decided_again = decided.dispatch::<M>(name, Some(decided.timer));
        }
    }

    /// Runs threads until none is ready any more and none ever will be, or `until` has come. Called by
    /// thread 0.
    pub fn run(&self, until: Time) {
        while M::now() < until {
            let Some((decided, name)) = self.decide(until, false) else {
                self.tell_of_faults();
                continue;
            };
            let ends = decided.thread.is_none() && decided.timer == NEVER;
            if ends && self.with(|state| state.listeners == 0) {
                return;
            }
            // Refused as stale: decide again.
            let _decided_again = decided.dispatch::<M>(name, Some(decided.timer));
        }
    }

    /// Runs the threads of a subsystem: where none is ready, `wait` is called, which returns when
    /// something happened, or with its refusal, which is answered. Time-outs that come in the meantime
    /// are observed then.
    ///
    /// # Errors
    /// The refusal of `wait`.
    pub fn run_waiting<E>(&self, mut wait: impl FnMut() -> Result<(), E>) -> Result<Infallible, E> {
        loop {
            let Some((decided, name)) = self.decide(NEVER, false) else {
                self.tell_of_faults();
                continue;
            };
            if decided.thread.is_none() {
                wait()?;
                continue;
            }
            let _decided_again = decided.dispatch::<M>(name, Some(decided.timer));
        }
    }

    fn tell_of_faults(&self) {
        while let Some((index, name, kind)) = self.with(State::take_stopped::<M>) {
            if kind == EventKind::Faulted {
                M::faulted(index, name);
            }
        }
    }

    /// Makes thread 0's decision, with its timer at most at `until`, and returns the name of the next thread. Returns
    /// `None` if a report is due first; exhausted budgets count as reports only with `expired`, because no budget pays for them.
    fn decide(&self, until: Time, expired: bool) -> Option<(Decided, u64)> {
        let caller = own_index::<M>();
        loop {
            self.take(caller);
            let state = self.state_locked();
            state.settle::<M>();
            state.hear::<M>();
            if !state.is_told_all(expired) {
                self.hand_back(caller);
                return None;
            }
            let mut decided = state.decide_settled::<M>();
            decided.timer = decided.timer.min(until);
            state.note_armed(&self.lock, decided.timer, decided.epoch);
            let idle = state.idle;
            state.meter::<M>(decided.thread.map_or(IDLE, index_of));
            let name = decided.thread.map_or(idle, |thread| state.name(thread));
            // A thread that waited for the lock may have decided otherwise; this decision is then stale.
            if !self.hand_back(caller) {
                return Some((decided, name));
            }
        }
    }

    /// Runs the thread that the policy picks. The lock is held, and released.
    pub(crate) fn reschedule(&self, caller: u64) {
        self.run_picked(caller, false);
    }

    /// Does so, unless the caller is the scheduler's own thread, which runs the others when it is done. The lock is held, and
    /// released.
    pub(crate) fn run_others(&self, caller: u64) {
        match caller {
            OWN => self.give_back(caller),
            _ => self.reschedule(caller),
        }
    }

    /// Does so where the thread on an account has been charged.
    pub(super) fn reschedule_settled(&self, caller: u64) {
        self.run_picked(caller, true);
    }

    fn run_picked(&self, caller: u64, is_settled: bool) {
        let mut is_settled = is_settled;
        loop {
            let state = self.state_locked();
            let decided = match core::mem::take(&mut is_settled) {
                true => state.decide_settled::<M>(),
                false => state.decide::<M>(),
            };
            let Decided {
                thread,
                timer,
                epoch,
                ..
            } = decided;
            let next = thread.map_or(OWN, index_of);
            let name = thread.map_or(M::scheduler_thread(), |thread| state.name(thread));
            state.meter::<M>(next);
            let sooner = state.is_sooner(timer, epoch);
            if sooner {
                state.note_armed(&self.lock, timer, epoch);
            }
            if self.hand_back(caller) {
                // Another thread decided in the meantime; this decision is stale.
                self.take(caller);
                continue;
            }
            let done = if sooner || decided.funding.time != M::SAME_TIME {
                // The kernel keeps the time-out; to dispatch oneself is to set it, and the time, alone.
                decided.dispatch::<M>(name, sooner.then_some(timer))
            } else {
                next == caller || self.switch_to(caller, next, name, epoch)
            };
            if done {
                return;
            }
            self.take(caller);
        }
    }
}

/// A decision, ready to be dispatched.
pub(super) struct Decided {
    pub(super) thread: Option<ThreadId>,
    pub(super) timer: Time,
    pub(super) funding: Funding,
    /// In which it was made.
    pub(super) epoch: u64,
}

impl Decided {
    /// Has the kernel run the decided thread, of that name. Returns whether it did.
    #[inline(always)]
    fn dispatch<M: Machine>(&self, name: u64, timeout: Option<Time>) -> bool {
        let Funding { time, moved, .. } = self.funding;
        M::dispatch(name, time, timeout, self.epoch, moved)
    }
}
