//! Dispatch, accounting, time-outs and ends of budgets
//!
//! A path sets [`Core::current`]; the way out of the kernel switches if the registers of another thread
//! are in the machine. Every cycle is charged to the temporal capability in force. One
//! timer serves time-outs and ends of budgets.
//!
//! [`Core::current`]: crate::object::Core::current

use crate::frame::Ref;
use crate::object::{Core, READY, Scheduler, Thread, Time, WAITING};
use crate::system_call::Answer;
use crate::{Hal, Kernel};
use bulkhead_abi::dispatch::{EventKind, MAX_THREADS};
use bulkhead_abi::kernel::{ALL, KEEP, Kind, NESTING, NEVER, SAME_TIME, Status};

impl<'h, H: Hal> Kernel<'h, H> {
    /// A scheduler's decision: time, time-out, epoch, cycles and funds are its arguments. Nothing has changed where it
    /// is refused. A function of its own, so that other calls save no registers for it.
    #[inline(never)]
    pub(crate) fn dispatch(self, caller: Thread<'h>, next: Thread<'h>) -> Result<(), Status> {
        let [time, timeout, epoch, cycles, funds] = caller.arguments();
        let core = self.0.core();
        let scheduler = self.scheduler(caller.scheduler().reference());
        // A server on a client's thread decides nothing for the client's scheduler.
        if scheduler.component().get() != caller.component().get() {
            return Err(Status::Foreign);
        }
        if self.epoch(scheduler).get() != epoch {
            return Err(Status::Stale);
        }
        // A thread that belongs to a core is bound.
        if next.state().get() != READY || next.core().reference() != core.at() {
            return Err(Status::NotReady);
        }
        // The time-outs of all ancestors go on counting, since they are ancestors of the next thread, too.
        if !self.is_under(self.scheduler(next.scheduler().reference()), scheduler) {
            return Err(Status::Foreign);
        }
        let time = if time == SAME_TIME {
            self.time(core.time().reference())
        } else {
            self.own_time(caller, time)?
        };
        let funding = match funds {
            0 => None,
            funds => Some(self.funding(caller, time, cycles, funds)?),
        };
        if timeout != KEEP {
            scheduler.timeout().set(timeout);
        }
        core.preempted().set(self.void().address());
        // What it must see when it runs again, before it is possibly resumed by others.
        caller.answer(Status::Ok as u64, 0);
        self.approach(next);
        self.charge();
        if let Some(funding) = funding {
            self.fund(caller, time, funding);
            self.count_grant(scheduler);
        }
        self.run_on(next, time);
        if time.budget().get() == 0 {
            self.activate(self.expired());
        }
        Ok(())
    }

    /// Has `next` run on `time`, if there is any of it.
    #[inline(always)]
    pub(crate) fn switch_or_expire(self, next: Thread<'h>, time: Time<'h>) {
        self.switch(next, time);
        if time.budget().get() == 0 {
            self.activate(self.expired());
        }
    }

    /// Returns whether `scheduler` is `ancestor` or below it.
    #[inline(always)]
    pub(crate) fn is_under(self, scheduler: Scheduler<'h>, ancestor: Scheduler<'h>) -> bool {
        scheduler.is(ancestor) || self.is_below(scheduler, ancestor)
    }

    #[inline(never)]
    fn is_below(self, scheduler: Scheduler<'h>, ancestor: Scheduler<'h>) -> bool {
        let mut scheduler = scheduler;
        for _ in 0..NESTING {
            if !self.exists(scheduler) {
                return false;
            }
            if scheduler.is(ancestor) {
                return true;
            }
            scheduler = self.scheduler(scheduler.parent().reference());
        }
        false
    }

    /// Has `next` run on `time`, which begins when it does: on the way out ([`Kernel::leave`]).
    #[inline(always)]
    pub(crate) fn switch(self, next: Thread<'h>, time: Time<'h>) {
        self.approach(next);
        self.charge();
        self.run_on(next, time);
    }

    /// Prepares the machine for `next`, on the time of the thread that ran.
    #[inline(always)]
    fn approach(self, next: Thread<'h>) {
        let core = self.0.core();
        self.announce(next);
        let component = next.component().reference();
        if component != core.component().reference() {
            self.put_in_force(self.component(component));
        }
        self.0
            .lend_floating_point(core.fp_owner().reference() == next.at());
    }

    /// Makes `next` current on `time`, which pays for the rest of the path.
    #[inline(always)]
    fn run_on(self, next: Thread<'h>, time: Time<'h>) {
        let core = self.0.core();
        let former = self.time(core.time().reference());
        if !former.is(time) && former.budget().get() != ALL {
            self.show_rest(former);
        }
        core.time().set(time.at().address());
        core.current().set(next.at().address());
        if core.running().reference() == next.at() {
            self.leave();
        }
    }

    /// Charges the time since the last charge to the thread that ran.
    #[inline(always)]
    pub(crate) fn charge(self) {
        self.charge_until(self.0.now());
    }

    #[inline(always)]
    fn charge_until(self, now: u64) {
        let core = self.0.core();
        // Nothing in an interrupt, where it is NEVER: the kernel's time is not charged.
        let used = now.saturating_sub(core.since().get());
        core.since().set(now);
        let thread = self.current();
        thread
            .cycles()
            .set(thread.cycles().get().wrapping_add(used));
        let time = self.time(core.time().reference());
        let remaining = time.budget().get();
        if remaining == ALL {
            return;
        }
        match remaining.checked_sub(used) {
            Some(rest) => time.budget().set(rest),
            None => self.overdraw(time, used - remaining),
        }
    }

    /// Charges the time since the last charge to the thread that ran, and to time without end instead of the one in force.
    #[inline(always)]
    pub(crate) fn charge_to_source(self, thread: Thread<'h>) {
        let core = self.0.core();
        let now = self.0.now();
        let used = now.saturating_sub(core.since().get());
        core.since().set(now);
        let cycles = thread.cycles();
        cycles.set(cycles.get().wrapping_add(used));
    }

    /// Charges what the current thread used beyond the time in force to its scheduler, then to the ancestors of that.
    /// A scheduler therefore gains nothing by slices that are shorter than a path of the kernel, and takes nothing
    /// from other schedulers, even by time that is theirs.
    #[cold]
    #[inline(never)]
    fn overdraw(self, time: Time<'h>, excess: u64) {
        time.budget().set(0);
        let mut excess = excess;
        let mut scheduler = self.scheduler(self.current().scheduler().reference());
        for _ in 0..NESTING {
            if excess == 0 || !self.exists(scheduler) {
                break;
            }
            let scheduler_thread = self.thread(scheduler.thread().reference());
            let budget = self.time(scheduler_thread.time().reference()).budget();
            let remaining = budget.get();
            if remaining == ALL {
                break;
            }
            budget.set(remaining.saturating_sub(excess));
            excess = excess.saturating_sub(remaining);
            scheduler = self.scheduler(scheduler.parent().reference());
        }
    }

    /// An interrupt came at `began`. The thread that runs pays for what it executed before. What the kernel does
    /// until [`Kernel::leave_interrupt`] is not charged, except for a timer's: see [`Kernel::tick`].
    #[inline(always)]
    pub fn interrupted(self, began: u64) {
        self.charge_until(began);
        self.0.core().since().set(NEVER);
    }

    /// The way out of the kernel, after an interrupt or where another thread runs next. The timer is set to the end of
    /// its time or to the first time-out of its scheduler and their ancestors, the earlier of both.
    #[inline(never)]
    pub fn leave(self) {
        let core = self.0.core();
        let time = self.time(core.time().reference());
        let lasts = time.budget().get();
        let end = core.since().get().saturating_add(lasts);
        if lasts != ALL {
            self.show_end(time, end);
        }
        let deadline = core.due().get().min(self.first_timeout()).min(end);
        if deadline != core.armed().get() {
            core.armed().set(deadline);
            self.0.set_timer(deadline);
        }
    }

    /// Leaves after an interrupt other than the timer's: time is charged again from now on.
    #[inline(always)]
    pub fn leave_interrupt(self) {
        self.0.core().since().set(self.0.now());
        self.leave();
    }

    /// Of the current thread's scheduler and its ancestors.
    #[inline(always)]
    fn first_timeout(self) -> u64 {
        let mut first = NEVER;
        let mut scheduler = self.scheduler(self.current().scheduler().reference());
        for _ in 0..NESTING {
            first = first.min(scheduler.timeout().get());
            scheduler = self.scheduler(scheduler.parent().reference());
            if !self.exists(scheduler) {
                break;
            }
        }
        first
    }

    /// The timer fired, at `began`. The scheduler that is activated pays from then on: it asked for the time-out,
    /// or owns the time that ended.
    pub fn tick(self, began: u64) {
        let core = self.0.core();
        // It is a level: silent until the next deadline is set.
        core.armed().set(NEVER);
        self.0.set_timer(NEVER);
        let now = self.0.now();
        self.quiesce(now);
        let ended = self.time(core.time().reference()).budget().get() == 0;
        let due = if ended {
            Some(self.expired())
        } else {
            self.timed_out(now)
        };
        if let Some(scheduler) = due {
            self.activate(scheduler);
            core.since().set(began);
        } else {
            core.since().set(now);
        }
        self.leave();
    }

    /// Returns the outermost of the current thread's scheduler and its ancestors that has timed out.
    fn timed_out(self, now: u64) -> Option<Scheduler<'h>> {
        let mut found = None;
        let mut scheduler = self.scheduler(self.current().scheduler().reference());
        for _ in 0..NESTING {
            if !self.exists(scheduler) {
                break;
            }
            if scheduler.timeout().get() <= now {
                found = Some(scheduler);
            }
            scheduler = self.scheduler(scheduler.parent().reference());
        }
        found
    }

    /// The budget in force is used up: the scheduler to activate. That is the owner of the time if it is the
    /// current thread's scheduler or an ancestor of it: a thread does not hand the core to the owner of
    /// any of its times.
    fn expired(self) -> Scheduler<'h> {
        let time = self.time(self.0.core().time().reference());
        let current = self.current();
        self.report(current, EventKind::Expired);
        let direct = self.scheduler(current.scheduler().reference());
        let owner = self.scheduler(time.owner().reference());
        if self.is_under(direct, owner) {
            owner
        } else {
            direct
        }
    }

    /// Runs a scheduler's own thread, or that of the nearest ancestor that has time. The last ancestor is the root of
    /// the core: it has time without end, and where it faults the partition fails.
    pub(crate) fn activate(self, scheduler: Scheduler<'h>) {
        let mut scheduler = scheduler;
        for _ in 0..NESTING {
            if !self.exists(scheduler) {
                break;
            }
            let thread = self.thread(scheduler.thread().reference());
            let time = self.time(thread.time().reference());
            if time.budget().get() != 0 && thread.state().get() != crate::object::FAULTED {
                let epoch = self.epoch(scheduler);
                epoch.set(epoch.get().wrapping_add(1));
                scheduler.timeout().set(NEVER);
                self.ready(thread);
                self.0.core().preempted().set(self.void().address());
                self.switch(thread, time);
                return;
            }
            scheduler = self.scheduler(scheduler.parent().reference());
        }
    }

    /// Ends a wait: the answer is the number of notifications.
    pub(crate) fn ready(self, thread: Thread<'h>) {
        if thread.state().get() == WAITING {
            thread.state().set(READY);
            thread.answer(Status::Ok as u64, thread.pending().get());
            thread.pending().set(0);
        }
    }

    /// Puts a thread under a scheduler: `[scheduler, index, time]`.
    #[inline(never)]
    pub(crate) fn bind(
        self,
        caller: Thread<'h>,
        thread: Thread<'h>,
        [scheduler, index, time]: [u64; 3],
    ) -> Answer {
        let scheduler = self.lookup(caller, scheduler).of_kind(Kind::Scheduler)?;
        let scheduler = self.scheduler(scheduler.object());
        let core = self.0.core();
        if scheduler.core().reference() != core.at() {
            return Err(Status::OtherCore);
        }
        let time = self.own_time(caller, time)?;
        if index >= MAX_THREADS as u64 {
            return Err(Status::BadArgument);
        }
        let member = scheduler.member(index);
        let held = [thread.at(), scheduler.at()];
        self.add_references(held)?;
        self.add_reference(time.at())
            .inspect_err(|_| self.drop_references(held))?;
        // A retired thread keeps its core.
        if member.reference() != self.void() || !self.adopt(thread, core) {
            self.drop_references(held);
            self.drop_reference(time.at());
            return Err(Status::Occupied);
        }
        member.set(thread.at().address());
        scheduler.members().set(scheduler.members().get() + 1);
        self.empty_block(scheduler, index);
        thread.scheduler().set(scheduler.at().address());
        thread.index().set(index);
        thread.number().set(number(scheduler, index));
        thread.message(0).set(index);
        self.place_in(thread, self.component(thread.component().reference()));
        thread.time().set(time.at().address());
        Ok(0)
    }

    /// Binds an unbound thread to a core. Of several cores that try, one succeeds.
    pub(crate) fn adopt(self, thread: Thread<'h>, core: Core<'h>) -> bool {
        let void = self.void().address();
        thread.core().exchange(void, core.at().address())
    }

    /// The time on which notifications run a thread.
    pub(crate) fn set_time(self, thread: Thread<'h>, time: Ref) -> Result<(), Status> {
        self.add_reference(time)?;
        thread.time().set(time.address());
        Ok(())
    }
}

/// Number of the thread at `index` of a scheduler, unique on its core.
pub(crate) fn number(scheduler: Scheduler<'_>, index: u64) -> u64 {
    scheduler.place().get() * MAX_THREADS as u64 + index
}
