//! The scheduler of one core
//!
//! Keeps the threads, blocked ones with their time-outs, and the running one; leaves the choice
//! among ready threads to its policy. A wake-up that comes before the block it answers is kept:
//! "check, then block" loses nothing.

use crate::policy::{Policy, Priority, ServerId};
use crate::thread::{NEVER, Refusal, ThreadId, Time};
use crate::timeouts::Timeouts;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Absent,
    Ready,
    Blocked,
}

/// How a block ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wakeup {
    /// By [`Scheduler::wakeup`].
    Woken,
    /// By its time-out.
    TimedOut,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    state: State,
    /// A wake-up came while the thread was not blocked.
    pending: bool,
    last: Wakeup,
}

const ABSENT: Record = Record {
    state: State::Absent,
    pending: false,
    last: Wakeup::Woken,
};

/// The thread to run, and the time of the next decision at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The thread; `None` = idle.
    pub thread: Option<ThreadId>,
    /// The next instant at which the answer may change by itself: a time-out, the end of a budget
    /// or quantum, a replenishment; [`NEVER`] where there is none.
    pub timer: Time,
    /// The budget on which it runs; `None` if none limits it.
    pub account: Option<Account>,
}

/// The budget on which a thread runs. A dispatcher that meters execution itself, as the kernel's
/// temporal capabilities do, grants it and reports what was used by [`Scheduler::account`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// The server that has it.
    pub server: ServerId,
    /// Rest of it, cycles.
    pub budget: Time,
    /// As [`Decision::timer`], but for the end of this budget.
    pub timer: Time,
}

/// Scheduler of one core for up to `N` threads under policy `P`.
#[derive(Clone, Debug)]
pub struct Scheduler<P, const N: usize> {
    policy: P,
    timeouts: Timeouts<N>,
    /// Of threads in the background.
    background: Timeouts<N>,
    threads: [Record; N],
    current: Option<ThreadId>,
    since: Time,
    /// True if the dispatcher reports the use of the current thread.
    metered: bool,
}

impl<P: Policy, const N: usize> Scheduler<P, N> {
    /// A scheduler without threads.
    #[must_use]
    pub const fn new(policy: P) -> Self {
        Self {
            policy,
            timeouts: Timeouts::new(),
            background: Timeouts::new(),
            threads: [ABSENT; N],
            current: None,
            since: 0,
            metered: false,
        }
    }

    /// The policy, to read its state.
    #[must_use]
    pub const fn policy(&self) -> &P {
        &self.policy
    }

    /// The policy, to change its servers and tables; the running thread is charged first.
    pub fn policy_mut(&mut self, now: Time) -> &mut P {
        self.charge(now);
        &mut self.policy
    }

    /// Returns the running thread.
    #[must_use]
    pub const fn current(&self) -> Option<ThreadId> {
        self.current
    }

    /// Returns true if there is such a thread.
    #[must_use]
    pub fn has(&self, thread: ThreadId) -> bool {
        self.state(thread) != State::Absent
    }

    /// Returns true if the thread is blocked.
    #[must_use]
    pub fn is_blocked(&self, thread: ThreadId) -> bool {
        self.state(thread) == State::Blocked
    }

    /// Returns true if the thread can run.
    #[must_use]
    pub fn is_ready(&self, thread: ThreadId) -> bool {
        self.state(thread) == State::Ready
    }

    /// Admits a thread, blocked; [`Scheduler::wakeup`] starts it.
    ///
    /// # Errors
    /// [`Refusal`] where there is no room or the policy refuses the parameters.
    pub fn add(&mut self, parameters: P::Parameters, now: Time) -> Result<ThreadId, Refusal> {
        let free = self
            .threads
            .iter()
            .position(|record| record.state == State::Absent);
        let thread = ThreadId(free.ok_or(Refusal::Full)? as u16);
        self.insert(thread, parameters, now)?;
        Ok(thread)
    }

    /// Admits a thread under a name that is free, blocked.
    ///
    /// # Errors
    /// [`Refusal`] where the name is taken or the policy refuses the parameters.
    pub fn insert(
        &mut self,
        thread: ThreadId,
        parameters: P::Parameters,
        now: Time,
    ) -> Result<(), Refusal> {
        let record = self.threads.get_mut(thread.index());
        let free = record.filter(|record| record.state == State::Absent);
        let record = free.ok_or(Refusal::Full)?;
        self.policy.add(thread, parameters, now)?;
        *record = Record {
            state: State::Blocked,
            ..ABSENT
        };
        Ok(())
    }

    /// Removes a thread, whatever its state.
    ///
    /// # Errors
    /// [`Refusal::NoSuchThread`].
    pub fn remove(&mut self, thread: ThreadId, now: Time) -> Result<(), Refusal> {
        self.check_exists(thread)?;
        self.charge(now);
        if self.state(thread) == State::Ready {
            self.policy.block(thread, now);
        }
        self.policy.remove(thread);
        self.disarm(thread);
        self.threads[thread.index()] = ABSENT;
        self.current = self.current.filter(|&current| current != thread);
        Ok(())
    }

    /// Changes a thread's parameters.
    ///
    /// # Errors
    /// [`Refusal`]; the old parameters stay.
    pub fn set_parameters(
        &mut self,
        thread: ThreadId,
        parameters: P::Parameters,
        now: Time,
    ) -> Result<(), Refusal> {
        self.check_exists(thread)?;
        self.charge(now);
        self.policy.set_parameters(thread, parameters, now)
    }

    /// Blocks the thread until a wake-up or `until` ([`NEVER`]: no time-out). Returns at once
    /// if a wake-up came before.
    pub fn block(&mut self, thread: ThreadId, until: Time, now: Time) -> Option<Wakeup> {
        self.charge(now);
        let record = self.threads.get_mut(thread.index())?;
        if record.state != State::Ready || core::mem::take(&mut record.pending) {
            record.last = Wakeup::Woken;
            return Some(Wakeup::Woken);
        }
        record.state = State::Blocked;
        self.policy.block(thread, now);
        if until != NEVER {
            let timeouts = match self.policy.is_background(thread) {
                true => &mut self.background,
                false => &mut self.timeouts,
            };
            timeouts.arm(thread, until.max(now));
        }
        None
    }

    /// Raises a thread to a priority ceiling, or ends that ([`Policy::set_ceiling`]).
    ///
    /// # Errors
    /// [`Refusal`]; nothing has changed.
    pub fn set_ceiling(
        &mut self,
        thread: ThreadId,
        ceiling: Option<Priority>,
        now: Time,
    ) -> Result<(), Refusal> {
        self.check_exists(thread)?;
        self.charge(now);
        self.policy.set_ceiling(thread, ceiling)
    }

    /// Blocks a thread, whatever its state, until the next wake-up; its time-out is dropped.
    pub fn suspend(&mut self, thread: ThreadId, now: Time) {
        self.charge(now);
        match self.state(thread) {
            State::Absent => {}
            State::Blocked => self.disarm(thread),
            State::Ready => {
                self.threads[thread.index()].state = State::Blocked;
                self.policy.block(thread, now);
            }
        }
    }

    /// Wakes the thread, or remembers the wake-up for its next block.
    pub fn wakeup(&mut self, thread: ThreadId, now: Time) {
        match self.state(thread) {
            State::Absent => {}
            State::Ready => self.threads[thread.index()].pending = true,
            State::Blocked => self.make_ready(thread, Wakeup::Woken, now),
        }
    }

    /// How the thread's last block ended.
    #[must_use]
    pub fn last_wakeup(&self, thread: ThreadId) -> Wakeup {
        self.threads
            .get(thread.index())
            .map_or(Wakeup::Woken, |record| record.last)
    }

    /// The thread lets its equals run.
    pub fn yield_now(&mut self, thread: ThreadId, now: Time) {
        self.charge(now);
        if self.state(thread) == State::Ready {
            self.policy.yield_now(thread, now);
        }
    }

    /// Charges the running thread up to `now`, wakes threads that have timed out, and has the policy pick. A thread is ready from its
    /// time-out on, however late this is called: what its budget loses by that is not lost again a period later.
    pub fn decide(&mut self, now: Time) -> Decision {
        self.charge(now);
        while let Some((thread, due)) = self.timeouts.expire(now) {
            self.make_ready(thread, Wakeup::TimedOut, due);
        }
        while let Some((thread, due)) = self.background.expire(now) {
            self.make_ready(thread, Wakeup::TimedOut, due);
        }
        let pick = self.policy.pick(now);
        let mut timeout = self.timeouts.earliest().unwrap_or(NEVER);
        if let Some(earliest) = self.background.earliest()
            && pick.is_none_or(|pick| self.policy.is_background(pick.thread))
        {
            timeout = timeout.min(earliest);
        }
        let until = pick.map_or(NEVER, |pick| pick.until);
        let timer = timeout.min(self.policy.next_event(now));
        let account = pick.and_then(|pick| {
            Some(Account {
                server: pick.server?,
                budget: until - now,
                timer,
            })
        });
        Decision {
            thread: pick.map(|pick| pick.thread),
            timer: timer.min(until),
            account,
        }
    }

    /// Charges exactly `used` cycles until `now` to the current thread, whatever
    /// the clock shows: the rest went to the dispatcher, or to interrupts. To be called for a thread that was
    /// dispatched by [`Scheduler::dispatched_on_account`], before any other call.
    pub fn account(&mut self, used: Time, now: Time) {
        if let Some(thread) = self.current {
            self.policy.charge(thread, now.saturating_sub(used), now);
        }
    }

    /// The decided thread runs from `now` on, and what it uses is said by [`Scheduler::account`].
    pub fn dispatched_on_account(&mut self, thread: Option<ThreadId>, now: Time) {
        self.dispatched(thread, now);
        self.metered = true;
    }

    /// A thread that was activated from outside runs before its equals.
    pub fn favour(&mut self, thread: ThreadId) {
        self.policy.favour(thread);
    }

    /// So many cycles up to `now` were spent on behalf of a thread before it could run.
    pub fn surcharge(&mut self, thread: ThreadId, cycles: Time, now: Time) {
        self.policy.surcharge(thread, cycles, now);
    }

    /// The decided thread runs from `now` on.
    pub fn dispatched(&mut self, thread: Option<ThreadId>, now: Time) {
        self.charge(now);
        self.current = thread;
        self.metered = false;
    }

    fn charge(&mut self, now: Time) {
        if let Some(thread) = self.current
            && now > self.since
            && !self.metered
        {
            self.policy.charge(thread, self.since, now);
        }
        self.since = self.since.max(now);
    }

    fn disarm(&mut self, thread: ThreadId) {
        self.timeouts.disarm(thread);
        self.background.disarm(thread);
    }

    fn make_ready(&mut self, thread: ThreadId, how: Wakeup, now: Time) {
        self.disarm(thread);
        let record = &mut self.threads[thread.index()];
        record.state = State::Ready;
        record.last = how;
        self.policy.wakeup(thread, now);
    }

    fn state(&self, thread: ThreadId) -> State {
        self.threads
            .get(thread.index())
            .map_or(State::Absent, |record| record.state)
    }

    fn check_exists(&self, thread: ThreadId) -> Result<(), Refusal> {
        match self.state(thread) {
            State::Absent => Err(Refusal::NoSuchThread),
            _ => Ok(()),
        }
    }
}
