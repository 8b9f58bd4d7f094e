//! Who runs, on whose time, and until when
//!
//! A path sets [`Core::current`]; the way out of the kernel notices when that is not the thread whose
//! registers are in the machine. Every cycle is charged to the temporal capability in force. One
//! timer serves time-outs and ends of budgets.
//!
//! [`Core::current`]: crate::object::Core::current

use crate::call::Answer;
use crate::frame::Ref;
use crate::object::{Core, READY, Scheduler, Thread, Time, WAITING};
use crate::{Hal, Kernel};
use bulkhead_abi::dispatch::{EventKind, MAX_THREADS};
use bulkhead_abi::kernel::{ALL, KEEP, Kind, NEVER, SAME_TIME, SCHEDULERS, Status};

impl<'h, H: Hal> Kernel<'h, H> {
    /// A scheduler's decision, with time, time-out and epoch as arguments. A function of its own, so that other calls
    /// save no registers for it.
    #[inline(never)]
    pub(crate) fn dispatch(self, caller: Thread<'h>, next: Thread<'h>) -> Result<(), Status> {
        let [time, timeout, epoch, ..] = caller.arguments();
        let core = self.0.core();
        let scheduler = self.scheduler(caller.scheduler().reference());
        if self.epoch(scheduler).get() != epoch {
            return Err(Status::Stale);
        }
        // A thread that belongs to a core is bound.
        if next.state().get() != READY || next.core().reference() != core.at() {
            return Err(Status::NotReady);
        }
        let time = if time == SAME_TIME {
            self.time(core.time().reference())
        } else {
            self.own_time(caller, time)?
        };
        if timeout != KEEP {
            scheduler.timeout().set(timeout);
        }
        core.preempted().set(self.void().address());
        // What it must see when it runs again, before it is possibly resumed by others.
        caller.answer(Status::Ok as u64, 0);
        self.switch_or_expire(next, time);
        Ok(())
    }

    /// Has `next` run on `time`, if there is any of it.
    #[inline(always)]
    pub(crate) fn switch_or_expire(self, next: Thread<'h>, time: Time<'h>) {
        self.switch(next, time);
        if time.budget().get() == 0 {
            self.expire();
        }
    }

    /// Has `next` run on `time`, which begins when it does: on the way out ([`Kernel::leave`]).
    #[inline(always)]
    pub(crate) fn switch(self, next: Thread<'h>, time: Time<'h>) {
        let core = self.0.core();
        self.announce(next);
        let space = self.component(next.component().reference()).space().get();
        if space != core.space().get() {
            core.space().set(space);
            self.0.set_address_space(space);
        }
        self.0
            .lend_floating_point(core.fp_owner().reference() == next.at());
        // As late as possible: what is left of the path is nobody's.
        self.charge();
        core.time().set(time.at().address());
        core.current().set(next.at().address());
        core.spared().set(0);
        if core.running().reference() == next.at() {
            self.leave();
        }
    }

    /// Charges the time since the last charge to who ran.
    #[inline(always)]
    pub(crate) fn charge(self) {
        self.charge_until(self.0.now());
    }

    #[inline(always)]
    fn charge_until(self, now: u64) {
        let core = self.0.core();
        // Nothing, where nobody pays.
        let used = now.saturating_sub(core.since().get());
        core.since().set(now);
        let thread = self.current();
        thread
            .cycles()
            .set(thread.cycles().get().wrapping_add(used));
        let budget = self.time(core.time().reference()).budget();
        let left = budget.get();
        if left != ALL {
            budget.set(left.saturating_sub(used));
        }
    }

    /// An interrupt came at `began`. Who runs is only hit by it, and pays for what it executed before; what the
    /// kernel does until [`Kernel::leave`] is nobody's.
    #[inline(always)]
    pub fn interrupted(self, began: u64) {
        self.charge_until(began);
        self.0.core().since().set(NEVER);
    }

    /// The way out of the kernel, after an interrupt or where another thread runs next. Its time begins, and
    /// the timer is set to the end of that or the first time-out of its scheduler and their ancestors,
    /// whichever comes first.
    #[inline(never)]
    pub fn leave(self) {
        let core = self.0.core();
        let mut deadline = core.due().get();
        let mut lasts = ALL;
        if core.spared().get() == 0 {
            lasts = self.time(core.time().reference()).budget().get();
            deadline = deadline.min(self.first_timeout());
        }
        let now = self.0.now();
        core.since().set(now);
        deadline = deadline.min(now.saturating_add(lasts));
        if deadline != core.armed().get() {
            core.armed().set(deadline);
            self.0.set_timer(deadline);
        }
    }

    /// Of the current thread's scheduler and its ancestors.
    #[inline(always)]
    fn first_timeout(self) -> u64 {
        let mut first = NEVER;
        let mut scheduler = self.scheduler(self.current().scheduler().reference());
        for _ in 0..SCHEDULERS {
            first = first.min(scheduler.timeout().get());
            scheduler = self.scheduler(scheduler.parent().reference());
            if !self.exists(scheduler) {
                break;
            }
        }
        first
    }

    /// The timer fired.
    pub fn tick(self) {
        let core = self.0.core();
        // It is a level: silent until the next deadline is set.
        core.armed().set(NEVER);
        self.0.set_timer(NEVER);
        let now = self.0.now();
        self.quiesce(now);
        if self.time(core.time().reference()).budget().get() == 0 {
            self.expire();
        } else if let Some(scheduler) = self.timed_out(now) {
            self.activate(scheduler);
        }
    }

    /// Among the current thread's scheduler and its ancestors, the outermost whose time-out has come.
    fn timed_out(self, now: u64) -> Option<Scheduler<'h>> {
        let mut found = None;
        let mut scheduler = self.scheduler(self.current().scheduler().reference());
        for _ in 0..SCHEDULERS {
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

    /// The budget in force is used up.
    fn expire(self) {
        let time = self.time(self.0.core().time().reference());
        self.tell(self.current(), EventKind::Expired);
        self.activate(self.scheduler(time.owner().reference()));
    }

    /// Runs a scheduler's own thread, or that of the nearest ancestor that has time; where none
    /// has, the current thread goes on, without end.
    pub(crate) fn activate(self, scheduler: Scheduler<'h>) {
        let mut scheduler = scheduler;
        for _ in 0..SCHEDULERS {
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
        self.0.core().spared().set(1);
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
        let scheduler = self.own(caller, scheduler).expect(Kind::Scheduler)?;
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
        self.refer_both(held)?;
        self.refer(time.at())
            .inspect_err(|_| self.forget_both(held))?;
        // A retired thread keeps its core.
        if member.reference() != self.void() || !self.adopt(thread, core) {
            self.forget_both(held);
            self.forget(time.at());
            return Err(Status::Occupied);
        }
        member.set(thread.at().address());
        thread.scheduler().set(scheduler.at().address());
        thread.index().set(index);
        thread.number().set(number(scheduler, index));
        thread.message(0).set(index);
        self.place_in(thread, self.component(thread.component().reference()));
        thread.time().set(time.at().address());
        Ok(0)
    }

    /// Has a thread that is nobody's belong to a core. Of several cores that try, one succeeds.
    pub(crate) fn adopt(self, thread: Thread<'h>, core: Core<'h>) -> bool {
        let void = self.void().address();
        thread.core().exchange(void, core.at().address())
    }

    /// The time on which notifications run a thread.
    pub(crate) fn set_time(self, thread: Thread<'h>, time: Ref) -> Result<(), Status> {
        self.refer(time)?;
        thread.time().set(time.address());
        Ok(())
    }
}

/// What a thread at `index` of a scheduler is called on its core.
pub(crate) fn number(scheduler: Scheduler<'_>, index: u64) -> u64 {
    scheduler.place().get() * MAX_THREADS as u64 + index
}
