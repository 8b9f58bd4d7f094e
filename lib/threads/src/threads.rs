//! Decisions become switches
#![expect(
    unsafe_code,
    reason = "scheduler state is shared under a lock; switches between threads"
)]

use crate::accounts::Accounts;
use crate::events::Wish;
use crate::lock::Lock;
use crate::wait::Waiters;
use crate::{Machine, NEVER, Time};
use bulkhead_abi::dispatch::{EVENTS, EventKind, MAX_THREADS, Scb};
use bulkhead_sched::policy::{Policy, ServerId};
use bulkhead_sched::{Decision, Scheduler, ThreadId, Wakeup};
use core::cell::UnsafeCell;
use core::convert::Infallible;
use core::marker::PhantomData;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

/// Index of the thread that sleeps when nobody is ready.
const IDLE: u64 = MAX_THREADS as u64 - 1;
/// Index of the scheduler's own thread.
pub(crate) const OWN: u64 = 0;

/// The threads of one core under policy `P`, at most `N`.
pub struct Threads<M, P, const N: usize> {
    lock: Lock,
    state: UnsafeCell<State<P, N>>,
    machine: PhantomData<fn() -> M>,
}

/// What the lock protects.
pub(crate) struct State<P, const N: usize> {
    pub(crate) scheduler: Scheduler<P, N>,
    /// What the machine calls the threads.
    names: [u64; N],
    idle: u64,
    /// Time-out that the kernel will observe, unless it has activated somebody since: this forgets it.
    armed: Time,
    /// Epoch in which it was set.
    armed_in: u64,
    handed: Option<HandOver>,
    waits: [Wait; N],
    /// Waits that began.
    tickets: u64,
    /// Who waits in the kernel.
    outside: Waiters,
    accounts: Accounts<N>,
    /// Threads that have waited for notifications and may again.
    listeners: usize,
    /// Threads that faulted, and that used up their budget, of which nobody has been told yet: by bit
    /// of their index.
    faulted: u128,
    expired: u128,
}

/// What is known of a thread that waits for something.
struct Wait {
    /// When it began, counted in waits.
    since: u64,
    /// What it waits for, or is answered.
    wish: Wish,
    /// The mutex that it wants, by its own word: nobody else writes it.
    mutex: AtomicPtr<Lock>,
    /// Cycles of the kernel for its interrupts that have been charged.
    served: Time,
}

impl Wait {
    const fn none() -> Self {
        Self {
            since: 0,
            wish: Wish::any(0),
            mutex: AtomicPtr::new(core::ptr::null_mut()),
            served: 0,
        }
    }
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
unsafe impl<M, P, const N: usize> Sync for Threads<M, P, N> {}

/// The index of the running thread: who switches in user mode says so.
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

    /// Takes a thread that somebody else made, under this scheduler at `index`, which is free or that of
    /// one that faulted; ready to run.
    ///
    /// # Errors
    /// The policy's refusal, or an index that is taken, as [`Machine::REFUSED`].
    pub fn adopt(&self, index: u64, name: u64, parameters: P::Parameters) -> Result<(), M::Error> {
        let now = M::now();
        self.with(|state| {
            let thread = thread_of(index);
            let added = state.scheduler.insert(thread, parameters, now);
            added.map_err(|_| M::REFUSED)?;
            if let Some(place) = state.names.get_mut(thread.index()) {
                *place = name;
            }
            state.scheduler.wakeup(thread, now);
            Ok(())
        })
    }

    /// Runs threads for ever; tells the index of each one that faulted ([`EventKind::Faulted`]), which
    /// does not run again, or used up its budget ([`EventKind::Expired`]), and what the machine calls
    /// it. Called by thread 0.
    pub fn run_telling(&self, mut tell: impl FnMut(u64, u64, EventKind)) -> ! {
        loop {
            while let Some((index, name, kind)) = self.with(State::take_stopped::<M>) {
                tell(index, name, kind);
            }
            let (decided, name) = self.decide(NEVER);
            let _decided_again =
                M::dispatch(name, decided.time, Some(decided.timer), decided.epoch);
        }
    }

    /// Changes a thread's parameters; whom the policy picks now runs. Whether the policy accepts them.
    pub fn set_parameters(&self, index: u64, parameters: P::Parameters) -> bool {
        let own = own_index::<M>();
        self.take(own);
        let state = self.state_locked();
        state.settle::<M>();
        let thread = thread_of(index);
        let set = state.scheduler.set_parameters(thread, parameters, M::now());
        self.reschedule(own);
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

    /// Changes or reads what the policy has beside threads (servers, tables).
    pub fn with_policy<R>(&self, act: impl FnOnce(&mut P, Time) -> R) -> R {
        self.with(|state| {
            let now = M::now();
            act(state.scheduler.policy_mut(now), now)
        })
    }

    /// Index of the calling thread.
    pub fn own(&self) -> u64 {
        own_index::<M>()
    }

    /// What the machine calls the thread of that index.
    pub fn name(&self, index: u64) -> u64 {
        self.with(|state| state.name_of(index, M::own()))
    }

    /// Ends the calling thread: it never runs again, nor is its place used again.
    pub fn exit(&self) -> ! {
        loop {
            self.block(NEVER);
        }
    }

    /// Runs threads until none is ready any more and none ever will be, or `until` has come. Called by
    /// thread 0.
    pub fn run(&self, until: Time) {
        while M::now() < until {
            self.hear_of_faults();
            let (decided, name) = self.decide(until);
            let ends = decided.thread.is_none() && decided.timer == NEVER;
            if ends && self.with(|state| state.listeners == 0) {
                return;
            }
            // Refused as stale: decide again.
            let _decided_again =
                M::dispatch(name, decided.time, Some(decided.timer), decided.epoch);
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
            self.hear_of_faults();
            let (decided, name) = self.decide(NEVER);
            if decided.thread.is_none() {
                wait()?;
                continue;
            }
            let _decided_again =
                M::dispatch(name, decided.time, Some(decided.timer), decided.epoch);
        }
    }

    fn hear_of_faults(&self) {
        while let Some((index, name, kind)) = self.with(State::take_stopped::<M>) {
            if kind == EventKind::Faulted {
                M::faulted(index, name);
            }
        }
    }

    /// Thread 0's decision, its timer at most `until`, and the name of who is to run.
    fn decide(&self, until: Time) -> (Decided, u64) {
        let own = own_index::<M>();
        loop {
            self.take(own);
            let state = self.state_locked();
            state.settle::<M>();
            let mut decided = state.decide::<M>();
            decided.timer = decided.timer.min(until);
            (state.armed, state.armed_in) = (decided.timer, decided.epoch);
            let idle = state.idle;
            let name = decided.thread.map_or(idle, |thread| state.name(thread));
            // Who waited for the lock may have decided otherwise: this decision is none any more.
            if !self.hand_back(own) {
                return (decided, name);
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
        let (own, epoch) = (own_index::<M>(), M::scb().epoch.load(Relaxed));
        let alone = self.lock.try_take(own);
        if !alone {
            self.take(own);
        }
        let state = self.state_locked();
        state.settle::<M>();
        state.hear::<M>();
        let interrupts = state.served_since::<M>(thread_of(own));
        let now = M::now();
        // Unless others ran meanwhile, who were not its business.
        let way = match alone && M::scb().epoch.load(Relaxed) == epoch {
            true => now - began,
            false => 0,
        };
        let cycles = way + interrupts;
        state.scheduler.surcharge(thread_of(own), cycles, now);
        self.reschedule(own);
        Ok(count)
    }

    /// Makes the receiving side of a thread's end-point, and the sending side that notifies it. From
    /// now on [`Threads::run`] waits for notifications where nobody is ready.
    ///
    /// # Errors
    /// The machine's refusal.
    pub fn end_point(&self, maker: &mut M::Maker, index: u64) -> Result<[u64; 2], M::Error> {
        let name = self.with(|state| {
            state.listeners += 1;
            state.name_of(index, M::own())
        });
        M::end_point(maker, name)
    }

    /// Blocks the caller until it is woken or `until` has come; which of them it was. A wake-up that
    /// came before is answered at once.
    pub fn block(&self, until: Time) -> Wakeup {
        let own = own_index::<M>();
        self.take(own);
        self.block_locked(own, until);
        self.with(|state| state.scheduler.last_wakeup(thread_of(own)))
    }

    /// Blocks the caller until `until` has come.
    pub fn sleep_until(&self, until: Time) {
        while M::now() < until {
            let own = own_index::<M>();
            self.take(own);
            self.block_locked(own, until);
        }
    }

    /// The same for a caller that holds the lock, which is released.
    pub(crate) fn block_locked(&self, own: u64, until: Time) {
        let thread = thread_of(own);
        let state = self.state_locked();
        if let Some(HandOver { consumer, producer }) = state.handed
            && consumer == own
            && until == NEVER
        {
            state.handed = None;
            let (name, epoch) = (
                state.name(thread_of(producer)),
                M::scb().epoch.load(Relaxed),
            );
            self.give_back(own);
            if !self.switch_to(own, producer, name, epoch) {
                self.take(own);
                self.reschedule(own);
            }
            return;
        }
        state.settle::<M>();
        if state.scheduler.block(thread, until, M::now()).is_some() {
            self.give_back(own);
            return;
        }
        self.reschedule(own);
    }

    /// Wakes a thread; it runs at once if the policy says so. One that waits in the kernel is the
    /// kernel's to wake.
    pub fn wakeup(&self, index: u64) {
        let own = own_index::<M>();
        self.take(own);
        if self.state_locked().outside.contains(thread_of(index)) {
            self.give_back(own);
        } else {
            let state = self.state_locked();
            state.settle::<M>();
            state.scheduler.wakeup(thread_of(index), M::now());
            self.reschedule(own);
        }
    }

    /// Wakes a thread that finds elsewhere what it was woken for. The lock is held, and released.
    #[inline(always)]
    pub(crate) fn rouse(&self, own: u64, index: u64) {
        let state = self.state_locked();
        state.settle::<M>();
        state.rouse::<M>(thread_of(index));
        self.reschedule(own);
    }

    /// Wakes a thread that waits for what the caller, which holds the lock, has put in its place; the
    /// lock is released. Where the policy cannot but pick it, it runs at once without a pick.
    #[inline(always)]
    pub(crate) fn hand_to(&self, own: u64, consumer: u64) {
        let state = self.state_locked();
        let thread = thread_of(consumer);
        let policy = state.scheduler.policy();
        if own == OWN || state.handed.is_some() || !policy.outranks(thread, thread_of(own)) {
            self.rouse(own, consumer);
            return;
        }
        state.handed = Some(HandOver {
            consumer,
            producer: own,
        });
        let (name, epoch) = (state.name(thread), M::scb().epoch.load(Relaxed));
        self.give_back(own);
        if !self.switch_to(own, consumer, name, epoch) {
            self.take(own);
            self.reschedule(own);
        }
    }

    /// Lets equals run.
    pub fn yield_now(&self) {
        let own = own_index::<M>();
        self.take(own);
        let state = self.state_locked();
        state.settle::<M>();
        state.scheduler.yield_now(thread_of(own), M::now());
        self.reschedule(own);
    }

    /// Has whom the policy picks run. The lock is held, and released.
    pub(crate) fn reschedule(&self, own: u64) {
        loop {
            let state = self.state_locked();
            state.settle::<M>();
            let Decided {
                thread,
                timer,
                time,
                epoch,
            } = state.decide::<M>();
            let next = thread.map_or(OWN, index_of);
            let name = thread.map_or(M::own(), |thread| state.name(thread));
            let sooner = timer < state.armed || epoch != state.armed_in;
            if sooner {
                (state.armed, state.armed_in) = (timer, epoch);
            }
            if self.hand_back(own) {
                // Somebody else decided in the meantime, and this decision is none any more.
                self.take(own);
                continue;
            }
            let done = if sooner || time != M::SAME_TIME {
                // The kernel keeps the time-out; to dispatch oneself is to set it, and the time, alone.
                M::dispatch(name, time, sooner.then_some(timer), epoch)
            } else {
                next == own || self.switch_to(own, next, name, epoch)
            };
            if done {
                return;
            }
            self.take(own);
        }
    }

    #[inline(always)]
    fn switch_to(&self, own: u64, next: u64, name: u64, epoch: u64) -> bool {
        // SAFETY: `own` runs, `next` is another thread, made under that name.
        unsafe { M::switch(own, next, name, epoch) }
    }

    /// What the lock protects, for who holds it.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
    pub(crate) fn state_locked(&self) -> &mut State<P, N> {
        // SAFETY: the caller holds the lock, and lets go of the state before the lock.
        unsafe { &mut *self.state.get() }
    }

    /// Notes which mutex the calling thread wants; null for none.
    #[inline(always)]
    pub(crate) fn want(&self, own: u64, mutex: *const Lock) {
        // SAFETY: places are made once; this one is written by the thread itself, whole.
        let waits = unsafe { &(*self.state.get()).waits };
        if let Some(wait) = waits.get(thread_of(own).index()) {
            wait.mutex.store(mutex.cast_mut(), Relaxed);
        }
    }

    /// Switches to a thread that has what the caller wants, or wants what the caller had.
    pub(crate) fn hand_over(&self, own: u64, next: u64) {
        if own == next {
            return;
        }
        let epoch = M::scb().epoch.load(Relaxed);
        // SAFETY: capabilities are written once, before their thread exists.
        let state = unsafe { &*self.state.get() };
        let name = state.name_of(next, M::own());
        if !self.switch_to(own, next, name, epoch) {
            // Events or a stale epoch: the policy looks at it.
            self.take_again(own);
        }
    }

    /// The same at the latest until `until`, when the scheduler looks again at who runs.
    pub(crate) fn hand_over_until(&self, own: u64, next: u64, until: Time) {
        self.take(own);
        let state = self.state_locked();
        let epoch = M::scb().epoch.load(Relaxed);
        if until >= state.armed && epoch == state.armed_in {
            self.give_back(own);
            self.hand_over(own, next);
            return;
        }
        (state.armed, state.armed_in) = (until, epoch);
        let name = state.name_of(next, M::own());
        self.give_back(own);
        if !M::dispatch(name, M::SAME_TIME, Some(until), epoch) {
            self.take_again(own);
        }
    }

    /// Has the lock's owner, which was preempted, run. By the kernel, since events may wait that nobody
    /// can read without the lock.
    #[cold]
    fn help(&self, owner: u64) {
        let epoch = M::scb().epoch.load(Relaxed);
        // SAFETY: names are written once, before their thread exists.
        let name = unsafe { &*self.state.get() }.name_of(owner, M::own());
        // Refused as stale: the lock is looked at again.
        let _helped = M::dispatch(name, M::SAME_TIME, None, epoch);
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
                self.help(owner);
            }
        }
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
        let own = own_index::<M>();
        self.take(own);
        let state = self.state_locked();
        state.settle::<M>();
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
    fn decide<M: Machine>(&mut self) -> Decided {
        let now = M::now();
        if let Some(used) = self.accounts.take_back::<M>() {
            self.scheduler.account(used, now);
        }
        self.hear::<M>();
        let epoch = M::scb().epoch.load(Relaxed);
        let now = M::now();
        let Decision {
            thread,
            timer,
            account,
        } = self.scheduler.decide(now);
        let time = self.accounts.grant::<M>(account);
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

    /// The next thread that was stopped, what the machine calls it, and by what.
    fn take_stopped<M: Machine>(&mut self) -> Option<(u64, u64, EventKind)> {
        self.hear::<M>();
        let (threads, kind) = match self.faulted {
            0 => (&mut self.expired, EventKind::Expired),
            _ => (&mut self.faulted, EventKind::Faulted),
        };
        let index = u64::from(threads.trailing_zeros());
        *threads &= threads.wrapping_sub(1);
        (index < MAX_THREADS as u64).then(|| (index, self.name(thread_of(index)), kind))
    }

    fn name(&self, thread: ThreadId) -> u64 {
        self.names.get(thread.index()).copied().unwrap_or(0)
    }

    /// Something happens: who ran on an account is charged with what it used, to the cycle, and who was
    /// handed over to is ready.
    #[inline(always)]
    fn settle<M: Machine>(&mut self) {
        if let Some(used) = self.accounts.used::<M>() {
            self.scheduler.account(used, M::now());
        }
        if let Some(HandOver { consumer, .. }) = self.handed.take() {
            self.scheduler.wakeup(thread_of(consumer), M::now());
        }
    }

    /// Wakes a thread if it is blocked: what woke it is kept elsewhere.
    pub(crate) fn rouse<M: Machine>(&mut self, thread: ThreadId) {
        if self.scheduler.is_blocked(thread) {
            self.scheduler.wakeup(thread, M::now());
        }
    }

    /// What the kernel says happened.
    #[inline(always)]
    fn hear<M: Machine>(&mut self) {
        if M::scb().overflow.load(Relaxed) != 0 {
            M::fetch();
        }
        while let Some((index, kind)) = next_event(M::scb()) {
            if index == OWN || index == IDLE {
                continue;
            }
            let now = M::now();
            match kind {
                EventKind::Activated => {
                    self.outside.remove(thread_of(index));
                    self.scheduler.wakeup(thread_of(index), now);
                    self.scheduler.favour(thread_of(index));
                }
                EventKind::Blocked => {
                    self.outside.insert(thread_of(index));
                    // A wake-up that it was given before is answered, and it blocks all the same.
                    let answered = self.scheduler.block(thread_of(index), NEVER, now);
                    if answered.is_some() {
                        self.scheduler.block(thread_of(index), NEVER, now);
                    }
                }
                EventKind::Faulted => {
                    self.faulted |= 1 << (index % MAX_THREADS as u64);
                    let _known = self.scheduler.remove(thread_of(index), now);
                }
                EventKind::Expired => self.expired |= 1 << (index % MAX_THREADS as u64),
            }
        }
    }

    /// What the kernel has spent on a thread's interrupts since this was last asked.
    fn served_since<M: Machine>(&mut self, thread: ThreadId) -> Time {
        let served = M::served(self.name(thread));
        let wait = self.wait(thread);
        served.wrapping_sub(core::mem::replace(&mut wait.served, served))
    }

    fn wait(&mut self, thread: ThreadId) -> &mut Wait {
        &mut self.waits[thread.index()]
    }

    /// The thread begins to wait, behind those that do.
    pub(crate) fn queue_up(&mut self, thread: ThreadId) {
        self.tickets += 1;
        self.wait(thread).since = self.tickets;
    }

    pub(crate) fn waits_longer(&self, one: ThreadId, other: ThreadId) -> bool {
        self.waits[one.index()].since < self.waits[other.index()].since
    }

    pub(crate) fn wish(&mut self, thread: ThreadId, wish: Wish) {
        self.wait(thread).wish = wish;
    }

    pub(crate) fn wished(&self, thread: ThreadId) -> Wish {
        self.waits[thread.index()].wish
    }

    /// Which mutex the thread wants; null for none.
    pub(crate) fn wants(&self, thread: ThreadId) -> *const Lock {
        let wait = self.waits.get(thread.index());
        wait.map_or(core::ptr::null(), |wait| wait.mutex.load(Relaxed))
    }

    fn name_of(&self, index: u64, own: u64) -> u64 {
        if index == OWN {
            own
        } else {
            self.name(thread_of(index))
        }
    }
}

/// The next event: the thread's index, and what happened to it.
fn next_event(scb: &Scb) -> Option<(u64, EventKind)> {
    const KINDS: [EventKind; 4] = [
        EventKind::Activated,
        EventKind::Blocked,
        EventKind::Expired,
        EventKind::Faulted,
    ];
    let consumed = scb.consumed.load(Relaxed);
    if consumed == scb.produced.load(Relaxed) {
        return None;
    }
    let event = &scb.events[consumed as usize % EVENTS];
    let (index, kind) = (event.thread.load(Relaxed), event.kind.load(Relaxed));
    scb.consumed.store(consumed.wrapping_add(1), Relaxed);
    let kind = KINDS.into_iter().find(|known| *known as u32 == kind)?;
    Some((index.into(), kind))
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
