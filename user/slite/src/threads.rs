//! Decisions become switches
#![expect(
    unsafe_code,
    reason = "scheduler state is shared under a lock; switches between threads"
)]

use crate::accounts::Accounts;
use crate::lock::Lock;
use bulkhead_abi::dispatch::{EventKind, MAX_THREADS};
use bulkhead_abi::kernel::{KEEP, Operation, SAME_TIME, Status, WAIT, first};
use bulkhead_component::call::call;
use bulkhead_component::dispatch::{Switched, Target, dcb, next_event, scb, switch};
use bulkhead_component::{First, clock};
use bulkhead_sched::policy::{Policy, ServerId};
use bulkhead_sched::{Decision, NEVER, Scheduler, ThreadId, Time};
use core::cell::UnsafeCell;
use core::convert::Infallible;
use core::sync::atomic::Ordering::Relaxed;

/// Index of the thread that sleeps when nobody is ready.
const IDLE: u64 = MAX_THREADS as u64 - 1;
/// Index of the scheduler's own thread.
const OWN: u64 = 0;

/// The threads of one core under policy `P`, at most `N`.
pub struct Threads<P, const N: usize> {
    lock: Lock,
    state: UnsafeCell<State<P, N>>,
}

/// What the lock protects.
pub(crate) struct State<P, const N: usize> {
    pub(crate) scheduler: Scheduler<P, N>,
    /// Capabilities to the threads.
    slots: [u64; N],
    idle: u64,
    /// Time-out that the kernel will observe, unless it has activated somebody since: this forgets it.
    armed: Time,
    /// Epoch in which it was set.
    armed_in: u64,
    handed: Option<HandOver>,
    accounts: Accounts<N>,
    /// Threads that have waited for notifications and may again.
    listeners: usize,
}

/// A consumer that runs because a producer switched to it. The policy still takes the consumer for
/// blocked and the producer for running: if the consumer waits again before anybody decides, nothing
/// has happened (paper 004 §VI-B, co-design of queues and scheduling).
#[derive(Clone, Copy)]
struct HandOver {
    consumer: u64,
    producer: u64,
}

// SAFETY: the state is reached under the lock, by threads of one core.
unsafe impl<P, const N: usize> Sync for Threads<P, N> {}

/// The index of the running thread: who switches in user mode says so.
#[inline(always)]
pub(crate) fn own_index() -> u64 {
    scb().current.load(Relaxed)
}

extern "C" fn sleep(_: u64) -> ! {
    loop {
        clock::wait_for_interrupt();
    }
}

impl<P: Policy, const N: usize> Threads<P, N> {
    /// No threads.
    pub const fn new(policy: P) -> Self {
        Self {
            lock: Lock::new(),
            state: UnsafeCell::new(State {
                scheduler: Scheduler::new(policy),
                slots: [0; N],
                idle: 0,
                armed: NEVER,
                armed_in: 0,
                handed: None,
                accounts: Accounts::new(),
                listeners: 0,
            }),
        }
    }

    /// Makes the idle thread. Once, before [`Threads::run`].
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn prepare(&self, first: &mut First) -> Result<(), Status> {
        let idle = first.thread(sleep, IDLE, first::TIME)?;
        self.with(|state| state.idle = idle);
        Ok(())
    }

    /// Makes a thread, ready to run; its index.
    ///
    /// # Errors
    /// The policy's refusal of the parameters as [`Status::BadArgument`], or the kernel's.
    pub fn spawn(
        &self,
        first: &mut First,
        entry: extern "C" fn(u64) -> !,
        parameters: P::Parameters,
    ) -> Result<u64, Status> {
        let now = clock::now();
        let thread = self
            .with(|state| state.scheduler.add(parameters, now))
            .map_err(|_| Status::BadArgument)?;
        let index = u64::from(thread.0) + 1;
        let slot = first.thread(entry, index, first::TIME)?;
        self.with(|state| {
            if let Some(place) = state.slots.get_mut(thread.index()) {
                *place = slot;
            }
            state.scheduler.wakeup(thread, now);
        });
        Ok(index)
    }

    /// Gives the budget of a server of the policy a temporal capability, so that the kernel enforces
    /// it to the cycle.
    ///
    /// # Errors
    /// The kernel's refusal, or no room.
    pub fn enforce(&self, first: &mut First, server: ServerId) -> Result<(), Status> {
        self.with(|state| state.accounts.open(first, server))
    }

    /// Changes or reads what the policy has beside threads (servers, tables).
    pub fn with_policy<R>(&self, act: impl FnOnce(&mut P, Time) -> R) -> R {
        self.with(|state| {
            let now = clock::now();
            act(state.scheduler.policy_mut(now), now)
        })
    }

    /// Runs threads until none is ready any more and none ever will be, or `until` has come. Called by
    /// thread 0.
    pub fn run(&self, until: Time) {
        while clock::now() < until {
            let (decided, slot) = self.decide(until);
            let ends = decided.thread.is_none() && decided.timer == NEVER;
            if ends && self.with(|state| state.listeners == 0) {
                return;
            }
            // Refused as stale: decide again.
            let words = [decided.time, decided.timer, decided.epoch];
            let _decided_again = call(slot, Operation::Dispatch, words);
        }
    }

    /// Runs the threads of a subsystem: where none is ready it waits until its parent notifies it, and
    /// time-outs that come in the meantime are observed then.
    ///
    /// # Errors
    /// The kernel's refusal to wait.
    pub fn run_nested(&self) -> Result<Infallible, Status> {
        loop {
            let (decided, slot) = self.decide(NEVER);
            if decided.thread.is_none() {
                call(first::RECEIVE, Operation::Receive, [WAIT])?;
                continue;
            }
            let words = [decided.time, decided.timer, decided.epoch];
            let _decided_again = call(slot, Operation::Dispatch, words);
        }
    }

    /// Thread 0's decision, its timer at most `until`.
    fn decide(&self, until: Time) -> (Decided, u64) {
        let own = own_index();
        loop {
            self.take(own);
            // SAFETY: the lock is held.
            let state = unsafe { &mut *self.state.get() };
            state.settle();
            let mut decided = state.decide();
            decided.timer = decided.timer.min(until);
            (state.armed, state.armed_in) = (decided.timer, decided.epoch);
            let idle = state.idle;
            let slot = decided.thread.map_or(idle, |thread| state.slot(thread));
            // Where it was handed to somebody who decided otherwise, this decision is none any more.
            if !self.hand_back(own) {
                return (decided, slot);
            }
        }
    }

    /// Waits for notifications of the calling thread, of which `receive` is the receiving side; how
    /// many were merged. The kernel runs the notified thread at once, on the scheduler's time (the top
    /// half of an interrupt); from the return on it runs when the policy says so, on its own account,
    /// which the way here is charged to, before its equals (the bottom half; spec 30-scheduling §2).
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn wait_notified(&self, receive: u64) -> Result<u64, Status> {
        let count = call(receive, Operation::Receive, [WAIT])?;
        let began = clock::now();
        let (own, epoch) = (own_index(), scb().epoch.load(Relaxed));
        let alone = self.lock.try_take(own);
        if !alone {
            self.take(own);
        }
        // SAFETY: the lock is held.
        let state = unsafe { &mut *self.state.get() };
        state.settle();
        state.hear();
        let now = clock::now();
        // Unless others ran meanwhile, who were not its business.
        if alone && scb().epoch.load(Relaxed) == epoch {
            state.scheduler.surcharge(thread_of(own), now - began, now);
        }
        self.reschedule(own);
        Ok(count)
    }

    /// Makes the receiving side of a thread's end-point, and the sending side that notifies it: their
    /// slots. From now on [`Threads::run`] waits for notifications where nobody is ready.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn end_point(&self, first: &mut First, index: u64) -> Result<[u64; 2], Status> {
        let (receive, send) = (first.slot(), first.slot());
        let thread = self.with(|state| {
            state.listeners += 1;
            state.slot(thread_of(index))
        });
        call(thread, Operation::Receiver, [receive])?;
        call(thread, Operation::Sender, [send])?;
        Ok([receive, send])
    }

    /// Blocks the caller until it is woken or `until` has come.
    pub fn block(&self, until: Time) {
        let own = own_index();
        self.take(own);
        self.block_locked(own, until);
    }

    /// The same for a caller that holds the lock, which is released.
    pub(crate) fn block_locked(&self, own: u64, until: Time) {
        let thread = thread_of(own);
        // SAFETY: the caller holds the lock.
        let state = unsafe { &mut *self.state.get() };
        if let Some(HandOver { consumer, producer }) = state.handed
            && consumer == own
            && until == NEVER
        {
            state.handed = None;
            let (slot, epoch) = (state.slot(thread_of(producer)), scb().epoch.load(Relaxed));
            self.give_back(own);
            if self.switch_to(own, producer, slot, epoch) == Switched::Refused {
                self.take(own);
                self.reschedule(own);
            }
            return;
        }
        state.settle();
        if state.scheduler.block(thread, until, clock::now()).is_some() {
            self.give_back(own);
            return;
        }
        self.reschedule(own);
    }

    /// Wakes a thread; it runs at once if the policy says so.
    pub fn wakeup(&self, index: u64) {
        let own = own_index();
        self.take(own);
        self.wakeup_locked(own, index);
    }

    /// The same for a caller that holds the lock, which is released.
    #[inline(always)]
    pub(crate) fn wakeup_locked(&self, own: u64, index: u64) {
        // SAFETY: the caller holds the lock.
        let state = unsafe { &mut *self.state.get() };
        state.settle();
        state.scheduler.wakeup(thread_of(index), clock::now());
        self.reschedule(own);
    }

    /// Wakes a thread that waits for what the caller, which holds the lock, has put in its place; the
    /// lock is released. Where the policy cannot but pick it, it runs at once without a pick.
    #[inline(always)]
    pub(crate) fn hand_to(&self, own: u64, consumer: u64) {
        // SAFETY: the caller holds the lock.
        let state = unsafe { &mut *self.state.get() };
        let thread = thread_of(consumer);
        let policy = state.scheduler.policy();
        if own == OWN || state.handed.is_some() || !policy.outranks(thread, thread_of(own)) {
            self.wakeup_locked(own, consumer);
            return;
        }
        state.handed = Some(HandOver {
            consumer,
            producer: own,
        });
        let (slot, epoch) = (state.slot(thread), scb().epoch.load(Relaxed));
        self.give_back(own);
        if self.switch_to(own, consumer, slot, epoch) == Switched::Refused {
            self.take(own);
            self.reschedule(own);
        }
    }

    /// Lets equals run.
    pub fn yield_now(&self) {
        let own = own_index();
        self.take(own);
        // SAFETY: the lock is held.
        let state = unsafe { &mut *self.state.get() };
        state.settle();
        state.scheduler.yield_now(thread_of(own), clock::now());
        self.reschedule(own);
    }

    /// Whether the thread waits for something.
    pub(crate) fn is_blocked(&self, index: u64) -> bool {
        self.with(|state| state.scheduler.is_blocked(thread_of(index)))
    }

    /// Has whom the policy picks run. The lock is held, and released.
    fn reschedule(&self, own: u64) {
        loop {
            // SAFETY: the lock is held.
            let state = unsafe { &mut *self.state.get() };
            state.settle();
            let Decided {
                thread,
                timer,
                time,
                epoch,
            } = state.decide();
            let next = thread.map_or(OWN, |thread| u64::from(thread.0) + 1);
            let slot = thread.map_or(first::THREAD, |thread| state.slot(thread));
            let sooner = timer < state.armed || epoch != state.armed_in;
            if sooner {
                (state.armed, state.armed_in) = (timer, epoch);
            }
            if self.hand_back(own) {
                // Somebody else decided in the meantime, and this decision is none any more.
                self.take(own);
                continue;
            }
            let done = if sooner || time != SAME_TIME {
                // The kernel keeps the time-out; to dispatch oneself is to set it, and the time, alone.
                let timer = if sooner { timer } else { KEEP };
                call(slot, Operation::Dispatch, [time, timer, epoch]).is_ok()
            } else {
                next == own || self.switch_to(own, next, slot, epoch) == Switched::Resumed
            };
            if done {
                return;
            }
            self.take(own);
        }
    }

    #[inline(always)]
    fn switch_to(&self, own: u64, next: u64, thread: u64, epoch: u64) -> Switched {
        let target = Target {
            dcb: dcb(next as usize),
            index: next,
            thread,
        };
        // SAFETY: `own` is the running thread; both are under the scheduler of this SCB.
        unsafe { switch(dcb(own as usize), target, scb(), epoch) }
    }

    /// Switches to a thread that has what the caller wants, or wants what the caller had.
    pub(crate) fn hand_over(&self, own: u64, next: u64) {
        if own == next {
            return;
        }
        let epoch = scb().epoch.load(Relaxed);
        if self.switch_to(own, next, self.slot_of(next), epoch) == Switched::Refused {
            // Events or a stale epoch: the policy looks at it.
            self.take_again(own);
        }
    }

    fn take_again(&self, own: u64) {
        if self.lock.try_take(own) {
            self.reschedule(own);
        }
    }

    #[inline(always)]
    pub(crate) fn take(&self, own: u64) {
        while !self.lock.try_take(own) {
            if let Some(owner) = self.lock.ask(own) {
                self.help(own, owner);
            }
        }
    }

    /// Has the owner of the lock go on. Events that wait are no reason to refuse, as they are for a
    /// switch in user mode: they cannot be read before the owner has given the lock back.
    #[cold]
    fn help(&self, own: u64, owner: u64) {
        let epoch = scb().epoch.load(Relaxed);
        if self.switch_to(own, owner, self.slot_of(owner), epoch) == Switched::Refused {
            let words = [SAME_TIME, KEEP, epoch];
            let _asked_again = call(self.slot_of(owner), Operation::Dispatch, words);
        }
    }

    /// The capability to a thread by its index.
    fn slot_of(&self, index: u64) -> u64 {
        if index == OWN {
            return first::THREAD;
        }
        // SAFETY: capabilities are written once, before their thread exists.
        let state = unsafe { &*self.state.get() };
        state.slot(thread_of(index))
    }

    #[inline(always)]
    pub(crate) fn give_back(&self, own: u64) {
        self.hand_back(own);
    }

    /// Gives the lock back; whether to somebody who waited for it.
    #[inline(always)]
    fn hand_back(&self, own: u64) -> bool {
        let waiter = self.lock.release();
        if let Some(waiter) = waiter {
            self.hand_over(own, waiter);
        }
        waiter.is_some()
    }

    fn with<R>(&self, act: impl FnOnce(&mut State<P, N>) -> R) -> R {
        let own = own_index();
        self.take(own);
        // SAFETY: the lock is held.
        let state = unsafe { &mut *self.state.get() };
        state.settle();
        let result = act(state);
        self.give_back(own);
        result
    }
}

/// A decision, ready to be dispatched.
struct Decided {
    thread: Option<ThreadId>,
    timer: Time,
    /// The time to run it on; `SAME_TIME` where that is in force.
    time: u64,
    /// In which it was made.
    epoch: u64,
}

impl<P: Policy, const N: usize> State<P, N> {
    /// Hears what happened, charges who ran, decides, and grants the budget.
    #[inline(always)]
    fn decide(&mut self) -> Decided {
        let now = clock::now();
        if let Some(used) = self.accounts.take_back() {
            self.scheduler.account(used, now);
        }
        self.hear();
        let epoch = scb().epoch.load(Relaxed);
        let now = clock::now();
        let Decision {
            thread,
            timer,
            account,
        } = self.scheduler.decide(now);
        let time = self.accounts.grant(account);
        match self.accounts.is_granted() {
            true => self.scheduler.dispatched_on_account(thread, now),
            false => self.scheduler.dispatched(thread, now),
        }
        let metered = account.filter(|_| self.accounts.is_granted());
        Decided {
            thread,
            timer: metered.map_or(timer, |account| account.timer),
            time,
            epoch,
        }
    }

    fn slot(&self, thread: ThreadId) -> u64 {
        self.slots.get(thread.index()).copied().unwrap_or(0)
    }

    /// Something happens: who ran on an account is charged with what it used, to the cycle, and who was
    /// handed over to is ready.
    #[inline(always)]
    fn settle(&mut self) {
        if let Some(used) = self.accounts.used() {
            self.scheduler.account(used, clock::now());
        }
        if let Some(HandOver { consumer, .. }) = self.handed.take() {
            self.scheduler.wakeup(thread_of(consumer), clock::now());
        }
    }

    /// What the kernel says happened.
    #[inline(always)]
    fn hear(&mut self) {
        while let Some((index, kind)) = next_event(scb()) {
            if index == OWN || index == IDLE {
                continue;
            }
            let now = clock::now();
            match kind {
                // The kernel counts what comes while the thread does not wait.
                EventKind::Activated if !self.scheduler.is_blocked(thread_of(index)) => {}
                EventKind::Activated => {
                    self.scheduler.wakeup(thread_of(index), now);
                    self.scheduler.favour(thread_of(index));
                }
                EventKind::Blocked => {
                    self.scheduler.block(thread_of(index), NEVER, now);
                }
                EventKind::Faulted => {
                    let _known = self.scheduler.remove(thread_of(index), now);
                }
                EventKind::Expired => {}
            }
        }
    }
}

#[inline(always)]
const fn thread_of(index: u64) -> ThreadId {
    ThreadId(index.wrapping_sub(1) as u16)
}
