//! Decisions become switches
#![expect(
    unsafe_code,
    reason = "scheduler state is shared under a lock; switches between threads"
)]

mod locked;
mod state;

use crate::accounts::{Accounts, Funding};
use crate::events::Wish;
use crate::held::HeldList;
use crate::lock::Lock;
use crate::meter::Meter;
use crate::wait::{Progress, Transfer, WaitError, Waiters};
use crate::{Machine, NEVER, Time};
use bulkhead_abi::dispatch::{EventKind, MAX_THREADS};
use bulkhead_sched::policy::{Policy, Priority, ServerId};
use bulkhead_sched::{Scheduler, ThreadId, Wakeup};
use core::cell::UnsafeCell;
use core::convert::Infallible;
use core::marker::PhantomData;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

/// Index of the thread that sleeps when no thread is ready.
const IDLE: u64 = MAX_THREADS as u64 - 1;
/// Index of the scheduler's own thread.
pub(crate) const OWN: u64 = 0;

/// The threads of one core under policy `P`, at most `N`.
pub struct Threads<M, P, const N: usize> {
    lock: Lock,
    state: UnsafeCell<State<P, N>>,
    machine: PhantomData<fn() -> M>,
}

/// State protected by the lock.
pub(crate) struct State<P, const N: usize> {
    pub(crate) scheduler: Scheduler<P, N>,
    /// Names of the threads in the machine.
    names: [u64; N],
    idle: u64,
    /// Time-out that the kernel will observe. An activation makes the kernel forget it.
    armed: Time,
    /// Epoch in which it was set.
    armed_in: u64,
    handed: Option<HandOver>,
    waits: [Wait; N],
    /// Waits that began.
    tickets: u64,
    /// Threads that wait in the kernel.
    outside: Waiters,
    accounts: Accounts<N>,
    /// Threads that have waited for notifications and may again.
    listeners: usize,
    /// Threads that faulted or used up their budget and have not been reported yet, one bit per index.
    ///
    faulted: u128,
    expired: u128,
    /// Threads that run no more until they are resumed.
    suspended: Waiters,
    meter: Meter<N>,
}

/// State of a thread that waits.
pub(crate) struct Wait {
    /// When it began, counted in waits.
    since: u64,
    /// Wish of the thread, or the answer to it.
    wish: Wish,
    /// Mutex that the thread wants; written by that thread alone.
    mutex: AtomicPtr<Lock>,
    /// Cycles of the kernel for its interrupts that have been charged.
    served: Time,
    /// Its wait for an object.
    pub(crate) progress: Progress,
    pub(crate) transfer: Transfer,
    /// Threads that wait for its end.
    joiners: Waiters,
    /// First of the mutexes with attributes that it has.
    pub(crate) held: HeldList,
    /// Ceiling that it has besides those of its mutexes.
    ceiling: Option<Priority>,
}

impl Wait {
    const fn none() -> Self {
        Self {
            since: 0,
            wish: Wish::any(0),
            mutex: AtomicPtr::new(core::ptr::null_mut()),
            served: 0,
            progress: Progress::Granted,
            transfer: Transfer::NONE,
            joiners: Waiters::new(),
            held: HeldList::new(),
            ceiling: None,
        }
    }
}

/// State of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The calling thread.
    Running,
    /// The thread runs when the policy picks it.
    Ready,
    /// The thread waits, or is suspended.
    Blocked,
}

/// A consumer that runs because a producer switched to it. The policy still regards the consumer as
/// blocked and the producer as running: if the consumer waits again before the next decision, nothing
/// has happened ("Slite", §VI-B, co-design of queues and scheduling).
#[derive(Clone, Copy)]
struct HandOver {
    consumer: u64,
    producer: u64,
}

// SAFETY: they name objects of the core that uses them; before its first thread there are none.
unsafe impl<M, P: Send, const N: usize> Send for Threads<M, P, N> {}

// SAFETY: the state is reached under the lock, by threads of one core.
unsafe impl<M, P, const N: usize> Sync for Threads<M, P, N> {}

/// Returns the index of the running thread, which user-level switches keep current.
#[inline(always)]
pub(crate) fn own_index<M: Machine>() -> u64 {
    M::scb().current.load(Relaxed)
}

extern "C" fn sleep<M: Machine>(_: u64) -> ! {
    loop {
        M::sleep();
    }
}

impl<M: Machine, P: Policy, const N: usize> Threads<M, P, N> {
    /// No threads.
    pub const fn new(policy: P) -> Self {
        const { assert!(N < IDLE as usize, "indices end there") };
        Self {
            lock: Lock::new(),
            state: UnsafeCell::new(State {
                scheduler: Scheduler::new(policy),
                names: [0; N],
                idle: 0,
                armed: NEVER,
                armed_in: 0,
                handed: None,
                waits: [const { Wait::none() }; N],
                tickets: 0,
                outside: Waiters::new(),
                accounts: Accounts::new(),
                listeners: 0,
                faulted: 0,
                expired: 0,
                suspended: Waiters::new(),
                meter: Meter::new(),
            }),
            machine: PhantomData,
        }
    }

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

    /// Changes a thread's parameters, then runs the thread that the policy picks. Returns false if the policy refuses them.
    pub fn set_parameters(&self, index: u64, parameters: P::Parameters) -> bool {
        let caller = own_index::<M>();
        self.take(caller);
        let state = self.state_locked();
        state.settle::<M>();
        let thread = thread_of(index);
        let set = state.scheduler.set_parameters(thread, parameters, M::now());
        self.reschedule_settled(caller);
        set.is_ok()
    }

    /// Gives the budget of a server of the policy time of its own, so that the kernel enforces it to
    /// the cycle.
    ///
    /// # Errors
    /// The machine's refusal, or no room.
    pub fn enforce(&self, maker: &mut M::Maker, server: ServerId) -> Result<(), M::Error> {
        self.with(|state| state.accounts.open::<M>(maker, server))
    }

    /// Sets what the kernel meters of each grant besides the thread's own cycles: it is not charged to budgets.
    pub fn set_switch(&self, cycles: Time) {
        self.with(|state| state.accounts.set_switch(cycles));
    }

    /// Changes or reads what the policy has beside threads (servers, tables).
    pub fn with_policy<R>(&self, act: impl FnOnce(&mut P, Time) -> R) -> R {
        self.with(|state| {
            let now = M::now();
            act(state.scheduler.policy_mut(now), now)
        })
    }

    /// Index of the calling thread.
    pub fn current(&self) -> u64 {
        own_index::<M>()
    }

    /// Returns the machine's name of the thread.
    pub fn name(&self, index: u64) -> u64 {
        self.with(|state| state.name_of(index, M::scheduler_thread()))
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

    /// Raises the calling thread to a priority at which it is not preempted by those of lower and equal priority, or ends
    /// that. Returns false if the policy has no ceilings.
    pub fn set_ceiling(&self, ceiling: Option<Priority>) -> bool {
        let caller = own_index::<M>();
        self.take(caller);
        let state = self.state_locked();
        state.settle::<M>();
        let thread = thread_of(caller);
        let set = caller != OWN && {
            state.wait(thread).ceiling = ceiling;
            state.refresh_ceiling::<M>(thread)
        };
        self.run_others(caller);
        set
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

    /// Time for which a thread has run, with interrupts of the kernel in the meantime, where [`Machine::IS_METERED`]; index 0 is
    /// the scheduler's own thread, and an index that no thread has is idle time.
    pub fn run_time(&self, index: u64) -> Time {
        self.with(|state| state.meter.run_time(index, M::now()))
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

    /// Waits for notifications of the calling thread, of which `receive` is the receiving side; how
    /// many were merged. The kernel runs the notified thread at once, on the scheduler's time (the top
    /// half of an interrupt); from the return on it runs when the policy says so, on its own account,
    /// which the way here is charged to, with what the kernel spent on the interrupts, and before its equals (the bottom half; spec 30-scheduling §2).
    ///
    /// # Errors
    /// The machine's refusal.
    pub fn wait_notified(&self, receive: u64) -> Result<u64, M::Error> {
        let count = M::receive(receive)?;
        let began = M::now();
        let (caller, epoch) = (own_index::<M>(), M::scb().epoch.load(Relaxed));
        let alone = self.lock.try_take(caller);
        if !alone {
            self.take(caller);
        }
        let state = self.state_locked();
        state.settle::<M>();
        state.hear::<M>();
        let interrupts = state.served_since::<M>(thread_of(caller));
        let now = M::now();
        // Other threads ran meanwhile if the epoch changed; then the switch is not the scheduler's own.
        let way = match alone && M::scb().epoch.load(Relaxed) == epoch {
            true => now - began,
            false => 0,
        };
        let cycles = way + interrupts;
        state.scheduler.surcharge(thread_of(caller), cycles, now);
        self.reschedule_settled(caller);
        Ok(count)
    }

    /// Makes the receive end of a thread and the send end that notifies it. From
    /// now on [`Threads::run`] waits for notifications while no thread is ready.
    ///
    /// # Errors
    /// The machine's refusal.
    pub fn receive_end(&self, maker: &mut M::Maker, index: u64) -> Result<[u64; 2], M::Error> {
        let name = self.with(|state| {
            state.listeners += 1;
            state.name_of(index, M::scheduler_thread())
        });
        M::receive_end(maker, name)
    }

    /// Blocks the caller until it is woken or `until` has come; which of them it was. A wake-up that
    /// came before is answered at once.
    pub fn block(&self, until: Time) -> Wakeup {
        let caller = own_index::<M>();
        self.take(caller);
        self.block_locked(caller, until);
        self.with(|state| state.scheduler.last_wakeup(thread_of(caller)))
    }

    /// Blocks the caller until `until` has come.
    pub fn sleep_until(&self, until: Time) {
        while M::now() < until {
            let caller = own_index::<M>();
            self.take(caller);
            self.block_locked(caller, until);
        }
    }

    /// Blocks the caller, which holds the lock; the lock is released.
    pub(crate) fn block_locked(&self, caller: u64, until: Time) {
        let thread = thread_of(caller);
        let state = self.state_locked();
        if let Some(HandOver { consumer, producer }) = state.handed
            && consumer == caller
            && until == NEVER
        {
            state.handed = None;
            state.meter::<M>(producer);
            let (name, epoch) = (
                state.name(thread_of(producer)),
                M::scb().epoch.load(Relaxed),
            );
            self.give_back(caller);
            if !self.switch_to(caller, producer, name, epoch) {
                self.take(caller);
                self.reschedule(caller);
            }
            return;
        }
        state.settle::<M>();
        if state.scheduler.block(thread, until, M::now()).is_some() {
            self.give_back(caller);
            return;
        }
        self.reschedule_settled(caller);
    }

    /// Wakes a thread; it runs at once if the policy says so. One that waits in the kernel is the
    /// kernel's to wake; a suspended one continues when it is resumed.
    pub fn wakeup(&self, index: u64) {
        let caller = own_index::<M>();
        self.take(caller);
        let state = self.state_locked();
        if state.outside.contains(thread_of(index)) || state.suspended.contains(thread_of(index)) {
            self.give_back(caller);
        } else {
            state.settle::<M>();
            state.scheduler.wakeup(thread_of(index), M::now());
            self.reschedule_settled(caller);
        }
    }

    /// Wakes a thread that finds elsewhere what it was woken for. The lock is held, and released.
    #[inline(always)]
    pub(crate) fn rouse(&self, caller: u64, index: u64) {
        let state = self.state_locked();
        state.settle::<M>();
        state.rouse::<M>(thread_of(index));
        self.reschedule_settled(caller);
    }

    /// Wakes a thread that waits for what the caller, which holds the lock, has put in its place; the
    /// lock is released. Where the policy cannot but pick it, it runs at once without a pick.
    #[inline(always)]
    pub(crate) fn hand_to(&self, caller: u64, consumer: u64) {
        let state = self.state_locked();
        let thread = thread_of(consumer);
        let policy = state.scheduler.policy();
        if caller == OWN
            || state.handed.is_some()
            || state.suspended.contains(thread)
            || !policy.outranks(thread, thread_of(caller))
        {
            self.rouse(caller, consumer);
            return;
        }
        state.handed = Some(HandOver {
            consumer,
            producer: caller,
        });
        state.meter::<M>(consumer);
        let (name, epoch) = (state.name(thread), M::scb().epoch.load(Relaxed));
        self.give_back(caller);
        if !self.switch_to(caller, consumer, name, epoch) {
            self.take(caller);
            self.reschedule(caller);
        }
    }

    /// Lets equals run.
    pub fn yield_now(&self) {
        let caller = own_index::<M>();
        self.take(caller);
        let state = self.state_locked();
        state.settle::<M>();
        state.scheduler.yield_now(thread_of(caller), M::now());
        self.reschedule_settled(caller);
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
    fn reschedule_settled(&self, caller: u64) {
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
struct Decided {
    thread: Option<ThreadId>,
    timer: Time,
    funding: Funding,
    /// In which it was made.
    epoch: u64,
}

impl Decided {
    /// Has the kernel run the decided thread, of that name. Returns whether it did.
    #[inline(always)]
    fn dispatch<M: Machine>(&self, name: u64, timeout: Option<Time>) -> bool {
        let Funding { time, moved, .. } = self.funding;
        M::dispatch(name, time, timeout, self.epoch, moved)
    }
}

/// The policy's name of the thread of that index.
#[inline(always)]
pub(crate) const fn thread_of(index: u64) -> ThreadId {
    ThreadId(index.wrapping_sub(1) as u16)
}

/// And back.
#[inline(always)]
pub(crate) const fn index_of(thread: ThreadId) -> u64 {
    thread.0 as u64 + 1
}

#[cfg(test)]
mod tests;
