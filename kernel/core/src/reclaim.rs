//! Objects become untyped pages again
//!
//! A page keeps its type while anything refers to it. Most references are counted in the frame table. References that a
//! thread takes and releases during an invocation are counted in the component, by the core that executes it. *Retire*,
//! on the core of a thread or scheduler, ends it and releases its references. Then the page rests, and may be used once
//! all cores were quiet ([`crate::quiescence`]).
//!
//! A component is given up in two steps (`models/reclaim.pml`). When no capability is left, another core
//! may still be about to invoke it through one that it has read before: after a period of quiet no thread
//! can enter any more, and its counts are final. Once no thread is inside, its translations
//! may still be in the TLB of the core that left last: after another period its identity can be given to others.

use crate::frame::{Ref, State};
use crate::object::{Component, RETIRED, Scheduler, Thread, Time};
use crate::slot::Slot;
use crate::system_call::Answer;
use crate::{Hal, Kernel, translation};
use bulkhead_abi::kernel::{DEPTH, Kind, MAX_CORES, Rights, SLOTS, Status};

impl<'h, H: Hal> Kernel<'h, H> {
    /// Ends a thread for good: it leaves its scheduler and the components into which it was invoked.
    #[inline(never)]
    pub(crate) fn retire(self, thread: Thread<'h>) -> Answer {
        let core = self.0.core();
        if thread.core().reference() == self.void() || thread.state().get() == RETIRED {
            return Err(Status::NotReady);
        }
        if thread.core().reference() != core.at() {
            return Err(Status::OtherCore);
        }
        let scheduler = self.scheduler(thread.scheduler().reference());
        if thread.is(self.current()) || scheduler.thread().reference() == thread.at() {
            return Err(Status::InUse);
        }
        // A call ends Listen of one interrupt: it is made again until none is left.
        if self.ignore_one(thread) {
            return Err(Status::Resting);
        }
        thread.state().set(RETIRED);
        let home = self.leave_all(thread);
        thread.component().set(home.address());
        for word in [core.preempted(), core.fp_owner()] {
            if word.reference() == thread.at() {
                word.set(self.void().address());
            }
        }
        scheduler
            .member(thread.index().get())
            .set(self.void().address());
        let members = scheduler.members();
        members.set(members.get().wrapping_sub(1));
        let time = thread.time().reference();
        thread.time().set(self.void().address());
        thread.scheduler().set(self.void().address());
        self.drop_reference(time);
        self.drop_references([scheduler.at(), thread.at()]);
        Ok(0)
    }

    /// Ends the invocations of a thread, which it never returns from. Returns the component in which it was made.
    fn leave_all(self, thread: Thread<'h>) -> Ref {
        let rank = self.0.core().rank().get();
        let mut component = thread.component().reference();
        let depth = thread.depth().get().min(DEPTH as u64);
        for depth in (0..depth).rev() {
            let inside = self.component(component).inside(rank);
            inside.set(inside.get().wrapping_sub(1));
            component = thread.invocation(depth)[0].reference();
        }
        thread.depth().set(0);
        component
    }

    /// A scheduler without other threads gives its own back to its parent.
    #[inline(never)]
    pub(crate) fn retire_scheduler(self, scheduler: Scheduler<'h>) -> Answer {
        let core = self.0.core();
        if scheduler.core().reference() == self.void() {
            return Err(Status::NotReady);
        }
        if scheduler.core().reference() != core.at() {
            return Err(Status::OtherCore);
        }
        let parent = self.scheduler(scheduler.parent().reference());
        let scheduler_thread = self.thread(scheduler.thread().reference());
        let has_threads = scheduler.members().get() != 0;
        let in_use = scheduler_thread.is(self.current()) || scheduler.owned().get() != 0;
        if !self.exists(parent) || in_use || has_threads {
            return Err(Status::InUse);
        }
        // Where it has dispatched away, its scheduler's page says where it is.
        self.collect(scheduler, scheduler_thread);
        let quota = parent.quota().get() + 1 + scheduler.quota().get();
        parent.quota().set(quota);
        scheduler_thread.scheduler().set(parent.at().address());
        scheduler_thread.index().set(scheduler.parent_index().get());
        self.place_in(
            scheduler_thread,
            self.component(scheduler_thread.component().reference()),
        );
        core.placed(scheduler.place().get())
            .set(self.void().address());
        scheduler.core().set(self.void().address());
        if let Some(state) = self.0.state(scheduler.scb().reference()) {
            state.unmap(Rights::Write, self.rest());
        }
        self.drop_references([scheduler_thread.at(), scheduler.component().reference()]);
        Ok(0)
    }

    /// Lays an object without references at rest, continues to give up a component, or
    /// makes a page untyped that has rested. Refuses a page that another core may still hold: the call
    /// is to be tried again.
    #[inline(never)]
    pub(crate) fn reclaim(self, at: Ref) -> Answer {
        let state = self.0.state(at).ok_or(Status::WrongPage)?;
        match state.object() {
            Some(Kind::Time) => self.reclaim_time(self.time(at), state),
            Some(Kind::Component) => state
                .close(self.rest())
                .and_then(|()| self.reclaim_component(self.component(at), state)),
            Some(Kind::Thread) => {
                let home = self.thread(at).component().reference();
                let released = state.release(Kind::Thread, self.rest());
                released.map(|()| self.drop_reference(home))
            }
            Some(Kind::Scheduler) => {
                let retired = self.scheduler(at).core().reference() == self.void();
                let retired = retired.then_some(()).ok_or(Status::InUse);
                retired.and_then(|()| state.release(Kind::Scheduler, self.rest()))
            }
            Some(kind @ (Kind::Pages | Kind::Table)) => self.reclaim_table(kind, at, state),
            None if state.is_closing() => self.reclaim_component(self.component(at), state),
            _ => state.settle(|rest| self.is_quiet(rest)),
        }
        .map(|()| 0)
    }

    /// Gives up a table that is empty.
    fn reclaim_table(self, kind: Kind, at: Ref, state: &State) -> Result<(), Status> {
        let frame = self.0.frame(at);
        let is_empty = match kind {
            Kind::Pages => self.0.has_only_invalid(at),
            _ if state.is_root() => self.0.has_only(at, self.void().address()),
            _ => (0..SLOTS).all(|index| Slot::of(frame, index).is_empty()),
        };
        if !is_empty {
            return Err(Status::InUse);
        }
        state.release(kind, self.rest())
    }

    /// Time that is in force, or was when a notification preempted, is referred to without a count.
    fn reclaim_time(self, time: Time<'h>, state: &State) -> Result<(), Status> {
        let core = self.0.core();
        if time.core().reference() != core.at() {
            return Err(Status::OtherCore);
        }
        let preempted = core.preempted().reference() != self.void();
        let pays_again = preempted && core.preempted_time().reference() == time.at();
        if core.time().reference() == time.at() || pays_again {
            return Err(Status::InUse);
        }
        state.release(Kind::Time, self.rest())?;
        let owner = self.scheduler(time.owner().reference());
        if self.exists(owner) {
            owner.owned().set(owner.owned().get().wrapping_sub(1));
        }
        Ok(())
    }

    /// Continues to give up a component without capabilities.
    fn reclaim_component(self, component: Component<'h>, state: &State) -> Result<(), Status> {
        state.desert(
            |rest| self.is_quiet(rest),
            || self.is_deserted(component),
            || self.rest(),
        )?;
        let held = [
            component.table().reference(),
            Ref(translation::physical(component.space().get()) + H::LINEAR),
        ];
        let identity = translation::identity(component.space().get());
        self.0.forget_translations();
        state.leave(|rest| self.is_quiet(rest))?;
        // The page is no longer a component's, and no other core has come so far.
        let identities = self.0.frame(self.0.core().identities().reference());
        identities.word(identity / 64).unmark(1 << (identity % 64));
        self.drop_references(held);
        Ok(())
    }

    /// Returns true if no thread of any core is inside.
    fn is_deserted(self, component: Component<'h>) -> bool {
        (0..MAX_CORES as u64).all(|rank| component.inside(rank).get() == 0)
    }
}
