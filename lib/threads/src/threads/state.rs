//! From events to decisions

use super::dispatch::Decided;
use super::{HandOver, IDLE, OWN, State, Wait, thread_of};
use crate::events::Wish;
use crate::lock::Lock;
use crate::wait::Transfer;
use crate::{Machine, NEVER, Time};
use bulkhead_abi::dispatch::{EventKind, MAX_THREADS};
use bulkhead_sched::policy::Policy;
use bulkhead_sched::{Decision, ThreadId};
use core::sync::atomic::Ordering::Relaxed;

impl<P: Policy, const N: usize> State<P, N> {
    /// Charges the thread on an account, processes all events, and decides.
    #[inline(always)]
    pub(super) fn decide<M: Machine>(&mut self) -> Decided {
        self.settle::<M>();
        self.decide_settled::<M>()
    }

    /// Decides where the thread on an account has been charged.
    #[inline(always)]
    pub(super) fn decide_settled<M: Machine>(&mut self) -> Decided {
        self.wake_handed::<M>();
        self.hear::<M>();
        let epoch = M::scb().epoch.load(Relaxed);
        let now = M::now();
        let Decision {
            thread,
            timer,
            account,
        } = self.scheduler.decide(now);
        let funding = self.accounts.fund::<M>(account);
        match funding.is_metered {
            true => self.scheduler.dispatched_on_account(thread, now),
            false => self.scheduler.dispatched(thread, now),
        }
        let metered = account.filter(|_| funding.is_metered);
        Decided {
            thread,
            timer: metered.map_or(timer, |account| account.timer),
            funding,
            epoch,
        }
    }

    /// Returns true if the kernel does not observe `timer` by itself.
    #[inline(always)]
    pub(super) fn is_sooner(&self, timer: Time, epoch: u64) -> bool {
        timer < self.armed || epoch != self.armed_in
    }

    /// Notes the time-out of a decision that is about to be dispatched. A thread that waits for the lock decides first,
    /// so that no time-out is noted that the kernel never receives. A thread that waits later arrives by an activation,
    /// which invalidates the note.
    #[inline(always)]
    pub(super) fn note_armed(&mut self, lock: &Lock, timer: Time, epoch: u64) {
        if !lock.is_wanted() {
            (self.armed, self.armed_in) = (timer, epoch);
        }
    }

    /// Returns true if all faults, and with `expired` all exhausted budgets, were reported.
    pub(super) fn is_told_all(&self, expired: bool) -> bool {
        self.faulted == 0 && (!expired || self.expired == 0)
    }

    /// The next thread that was stopped, what the machine calls it, and by what.
    pub(super) fn take_stopped<M: Machine>(&mut self) -> Option<(u64, u64, EventKind)> {
        self.hear::<M>();
        let (threads, kind) = match self.faulted {
            0 => (&mut self.expired, EventKind::Expired),
            _ => (&mut self.faulted, EventKind::Faulted),
        };
        let index = u64::from(threads.trailing_zeros());
        *threads &= threads.wrapping_sub(1);
        (index < MAX_THREADS as u64).then(|| (index, self.name(thread_of(index)), kind))
    }

    pub(super) fn name(&self, thread: ThreadId) -> u64 {
        self.names.get(thread.index()).copied().unwrap_or(0)
    }

    /// Processes one event: the thread on an account is charged to the cycle, and a thread that
    /// received a hand-over is ready.
    #[inline(always)]
    pub(super) fn settle<M: Machine>(&mut self) {
        if let Some(used) = self.accounts.used::<M>() {
            self.scheduler.account(used, M::now());
        }
        self.wake_handed::<M>();
    }

    #[inline(always)]
    fn wake_handed<M: Machine>(&mut self) {
        if let Some(HandOver { consumer, .. }) = self.handed.take() {
            self.scheduler.wakeup(thread_of(consumer), M::now());
        }
    }

    /// Wakes a thread if it is blocked: what woke it is kept elsewhere.
    pub(crate) fn rouse<M: Machine>(&mut self, thread: ThreadId) {
        if self.scheduler.is_blocked(thread) && !self.suspended.contains(thread) {
            self.scheduler.wakeup(thread, M::now());
        }
    }

    /// Processes the events of the kernel.
    #[inline(always)]
    pub(super) fn hear<M: Machine>(&mut self) {
        if M::scb().overflow.load(Relaxed) != 0 {
            self.fetch_all::<M>();
        }
        self.process_queue::<M>();
    }

    /// Processes events until none is left that found no room in the queue: a call fetches a few.
    #[cold]
    #[inline(never)]
    fn fetch_all<M: Machine>(&mut self) {
        while M::scb().overflow.load(Relaxed) != 0 {
            self.process_queue::<M>();
            M::fetch();
        }
    }

    #[inline(always)]
    fn process_queue<M: Machine>(&mut self) {
        while let Some((index, kind)) = M::scb().next_event() {
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
                // The work of a thread is done if its budget ends while it blocks.
                EventKind::Expired
                    if self.accounts.has_ended()
                        && !self.scheduler.is_blocked(thread_of(index)) =>
                {
                    self.expired |= 1 << (index % MAX_THREADS as u64);
                }
                EventKind::Expired => {}
            }
        }
    }

    /// Returns the kernel's time for a thread's interrupts since the last call.
    pub(super) fn served_since<M: Machine>(&mut self, thread: ThreadId) -> Time {
        let served = M::served(self.name(thread));
        let wait = self.wait(thread);
        served.wrapping_sub(core::mem::replace(&mut wait.served, served))
    }

    pub(crate) fn wait(&mut self, thread: ThreadId) -> &mut Wait {
        &mut self.waits[thread.index()]
    }

    /// Message that was left for the calling thread.
    pub(crate) fn transfer(&self, caller: u64) -> Transfer {
        self.waits[thread_of(caller).index()].transfer
    }

    /// Sets the ceiling at which a thread runs: the most important of its own and those of its mutexes. Returns false if the
    /// policy has no ceilings.
    pub(crate) fn refresh_ceiling<M: Machine>(&mut self, thread: ThreadId) -> bool {
        let Some(wait) = self.waits.get(thread.index()) else {
            return false;
        };
        let ceiling = wait.held.ceiling().into_iter().chain(wait.ceiling).min();
        self.scheduler
            .set_ceiling(thread, ceiling, M::now())
            .is_ok()
    }

    /// Notes that the thread of that index runs from now on.
    #[inline(always)]
    pub(crate) fn meter<M: Machine>(&mut self, index: u64) {
        if M::IS_METERED {
            self.meter.switch_to(index, M::now());
        }
    }

    /// The thread waits from now on, behind those that do.
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

    /// Ends all wishes for a mutex, because it is deleted.
    pub(crate) fn end_wants(&self, lock: &Lock) {
        for wait in &self.waits {
            if core::ptr::eq(wait.mutex.load(Relaxed), lock) {
                wait.mutex.store(core::ptr::null_mut(), Relaxed);
            }
        }
    }

    pub(super) fn name_of(&self, index: u64, scheduler: u64) -> u64 {
        if index == OWN {
            scheduler
        } else {
            self.name(thread_of(index))
        }
    }
}
