//! The threads of one core: their shared state, their parameters, their waits for time, notifications and each other
#![expect(
    unsafe_code,
    reason = "scheduler state is shared under a lock; switches between threads"
)]

mod dispatch;
mod lifecycle;
mod locked;
mod state;

use crate::accounts::Accounts;
use crate::events::Wish;
use crate::held::HeldList;
use crate::lock::Lock;
use crate::run_time_meter::Meter;
use crate::wait::{Progress, Transfer, Waiters};
use crate::{Machine, NEVER, Time};
use bulkhead_abi::dispatch::MAX_THREADS;
use bulkhead_sched::policy::{Policy, Priority, ServerId};
use bulkhead_sched::{Scheduler, ThreadId, Wakeup};
use core::cell::UnsafeCell;
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

    /// Sets the calling thread's priority ceiling: threads of lower or equal priority do not preempt it. `None` removes the
    /// ceiling. Returns false if the policy has no ceilings.
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

    /// Time for which a thread has run, with interrupts of the kernel in the meantime, where [`Machine::IS_METERED`]; index 0 is
    /// the scheduler's own thread, and an index that no thread has is idle time.
    pub fn run_time(&self, index: u64) -> Time {
        self.with(|state| state.meter.run_time(index, M::now()))
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
