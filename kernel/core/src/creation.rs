//! Objects from untyped pages
//!
//! Arguments are looked up before the page is claimed: a refused call leaves everything as it was.

use crate::dispatch::number;
use crate::frame::{Ref, State};
use crate::object::{Core, RETIRED, Scheduler, Thread, Time};
use crate::slot::Vacant;
use crate::system_call::Answer;
use crate::{Hal, Kernel, translation};
use bulkhead_abi::kernel::{
    IDENTITIES, IDENTITIES_SHIFT, Kind, LEAST, NESTING, NEVER, Rights, SCHEDULERS, Status,
};

const _: () = assert!(IDENTITIES == 8 * crate::frame::PAGE, "a bit each");

impl<'h, H: Hal> Kernel<'h, H> {
    pub(crate) fn make_table(self, place: Vacant<'h>, at: Ref, level: u64) -> Answer {
        if level > 1 {
            return Err(Status::BadArgument);
        }
        let content = if level == 0 { self.void().address() } else { 0 };
        self.claim(at, Kind::Table, content)?;
        if level == 0 {
            self.0.state(at).into_iter().for_each(State::root);
        }
        self.enter_in(place, Kind::Table, at, level)
    }

    pub(crate) fn make_pages(self, place: Vacant<'h>, at: Ref, level: u64) -> Answer {
        if !(1..=3).contains(&level) {
            return Err(Status::BadArgument);
        }
        self.claim(at, Kind::Pages, 0)?;
        self.enter_in(place, Kind::Pages, at, level)
    }

    pub(crate) fn make_component(
        self,
        caller: Thread<'h>,
        place: Vacant<'h>,
        at: Ref,
        [table, pages, named]: [u64; 3],
    ) -> Answer {
        let table = self.lookup(caller, table).of_kind(Kind::Table)?;
        let pages = self.lookup(caller, pages).of_kind(Kind::Pages)?;
        let identities = self.lookup(caller, named >> IDENTITIES_SHIFT);
        let identities = identities.of_kind(Kind::Identities)?;
        let identity = named & ((1 << IDENTITIES_SHIFT) - 1);
        let number = identity.wrapping_sub(identities.detail());
        if table.detail() != 0 || pages.detail() != 1 || number >= identities.extra() {
            return Err(Status::BadArgument);
        }
        self.new_component(at, [table.object(), pages.object()], identity)?;
        self.enter_in(place, Kind::Component, at, 0)
    }

    #[inline(never)]
    pub(crate) fn new_component(
        self,
        at: Ref,
        [table, pages]: [Ref; 2],
        identity: u64,
    ) -> Result<(), Status> {
        let bitmap = self.0.frame(self.0.core().identities().reference());
        let word = bitmap.word(identity / 64);
        let bit = 1 << (identity % 64);
        if word.get() & bit != 0 {
            return Err(Status::Occupied);
        }
        let held = [table, pages];
        self.add_references(held)?;
        self.claim(at, Kind::Component, 0)
            .inspect_err(|_| self.drop_references(held))?;
        if word.mark(bit) & bit != 0 {
            // Another core was faster; no core has seen the page.
            self.abandon(at, Kind::Component);
            self.drop_references(held);
            return Err(Status::Occupied);
        }
        let component = self.component(at);
        component.table().set(table.address());
        component
            .space()
            .set(translation::space(pages.address() - H::LINEAR, identity));
        Ok(())
    }

    /// Gives back a page that was claimed in vain.
    fn abandon(self, at: Ref, kind: Kind) {
        let state = self.0.state(at);
        let _nobody_has_seen_it = state.map(|state| state.release(kind, self.rest()));
    }

    pub(crate) fn make_thread(
        self,
        caller: Thread<'h>,
        place: Vacant<'h>,
        at: Ref,
        [component, entry, sp]: [u64; 3],
    ) -> Answer {
        let component = self.lookup(caller, component).of_kind(Kind::Component)?;
        self.new_thread(at, component.object(), [entry, sp])?;
        self.enter_in(place, Kind::Thread, at, 0)
    }

    #[inline(never)]
    pub(crate) fn new_thread(
        self,
        at: Ref,
        component: Ref,
        [entry, sp]: [u64; 2],
    ) -> Result<Thread<'h>, Status> {
        self.add_reference(component)?;
        self.claim(at, Kind::Thread, 0)
            .inspect_err(|_| self.drop_reference(component))?;
        let thread = self.thread(at);
        let void = self.void().address();
        thread.component().set(component.address());
        thread.scheduler().set(void);
        thread.core().set(void);
        thread.time().set(void);
        thread.pc().set(entry);
        thread.sp().set(sp);
        self.place_in(thread, self.component(component));
        Ok(thread)
    }

    pub(crate) fn make_scheduler(
        self,
        caller: Thread<'h>,
        place: Vacant<'h>,
        at: Ref,
        scb: Ref,
        [thread, component, parent]: [u64; 3],
    ) -> Answer {
        let thread = self.lookup(caller, thread).of_kind(Kind::Thread)?;
        let component = self.lookup(caller, component).of_kind(Kind::Component)?;
        let parent = self.lookup(caller, parent).of_kind(Kind::Scheduler)?;
        let parent = self.scheduler(parent.object());
        let thread = self.thread(thread.object());
        let core = self.0.core();
        if thread.core().reference() == self.void() {
            // It would have no parent that runs when its time ends.
            return Err(Status::NotReady);
        }
        if thread.core().reference() != core.at() {
            return Err(Status::OtherCore);
        }
        if thread.state().get() == RETIRED || thread.depth().get() != 0 {
            return Err(Status::NotReady);
        }
        // Pages that a scheduler shares say where threads of its component are resumed.
        if thread.component().reference() != component.object() {
            return Err(Status::BadArgument);
        }
        if thread.scheduler().reference() != parent.at() {
            return Err(Status::Foreign);
        }
        if parent.nesting().get() >= NESTING as u64 {
            return Err(Status::Exhausted);
        }
        let remaining = parent.quota().get().checked_sub(1);
        let remaining = remaining.ok_or(Status::Exhausted)?;
        self.new_scheduler(core, at, thread, scb)?;
        parent.quota().set(remaining);
        self.enter_in(place, Kind::Scheduler, at, 0)
    }

    /// Moves places from the quota of a scheduler to that of another one of the core.
    pub(crate) fn grant(
        self,
        caller: Thread<'h>,
        from: Scheduler<'h>,
        [into, places]: [u64; 2],
    ) -> Answer {
        let into = self.lookup(caller, into).of_kind(Kind::Scheduler)?;
        let into = self.scheduler(into.object());
        if [from, into].map(|one| one.core().reference()) != [self.0.core().at(); 2] {
            return Err(Status::OtherCore);
        }
        let remaining = from.quota().get().checked_sub(places);
        from.quota().set(remaining.ok_or(Status::Exhausted)?);
        into.quota().set(into.quota().get() + places);
        Ok(0)
    }

    /// Its thread leaves the scheduler it was under, which becomes the parent, and has index 0. The first one of a
    /// core has a thread that was unbound, which belongs to `core` from now on.
    #[inline(never)]
    pub(crate) fn new_scheduler(
        self,
        core: Core<'h>,
        at: Ref,
        thread: Thread<'h>,
        scb: Ref,
    ) -> Result<Scheduler<'h>, Status> {
        let parent = self.scheduler(thread.scheduler().reference());
        if parent.thread().reference() == thread.at() || thread.state().get() == RETIRED {
            return Err(Status::Occupied);
        }
        let free = |&place: &u64| core.placed(place).reference() == self.void();
        let mut places = 0..SCHEDULERS as u64;
        let place = places.find(free).ok_or(Status::Exhausted)?;
        let alone = thread.core().reference() == self.void();
        let state = self.0.state(scb).ok_or(Status::WrongPage)?;
        let held = [thread.at(), thread.component().reference()];
        self.add_references(held)?;
        let fresh = state
            .map(Rights::Write, self.rest(), |rest| self.is_quiet(rest))
            .inspect_err(|_| self.drop_references(held))?;
        let undo = || {
            state.unmap(Rights::Write, self.rest());
            self.drop_references(held);
        };
        self.claim(at, Kind::Scheduler, self.void().address())
            .inspect_err(|_| undo())?;
        if alone && !self.adopt(thread, core) {
            // Another core was faster.
            self.abandon(at, Kind::Scheduler);
            undo();
            return Err(Status::OtherCore);
        }
        if fresh {
            self.0.fill(scb, 0, crate::frame::WORDS as u64);
        }
        if !alone && !thread.is(self.current()) {
            // Where it has dispatched away, the page of its former scheduler says where it is.
            self.collect(parent, thread);
        }
        core.placed(place).set(at.address());
        let reuses = core.reuses().get() + 1;
        core.reuses().set(reuses);
        core.reused(place).set(reuses);
        let scheduler = self.scheduler(at);
        let quota = if alone { SCHEDULERS as u64 - 1 } else { 0 };
        scheduler.quota().set(quota);
        scheduler.window().set(0);
        scheduler.sent().set(0);
        scheduler.core().set(core.at().address());
        scheduler.scb().set(scb.address());
        scheduler.thread().set(thread.at().address());
        scheduler.component().set(thread.component().get());
        scheduler.place().set(place);
        scheduler.parent_index().set(thread.index().get());
        self.place_below(parent, scheduler);
        scheduler.timeout().set(NEVER);
        scheduler.owned().set(0);
        scheduler.members().set(0);
        scheduler.overflow().set(0);
        scheduler.overflow_high().set(0);
        scheduler.member(0).set(thread.at().address());
        thread.scheduler().set(at.address());
        thread.index().set(0);
        if alone {
            thread.number().set(number(scheduler, 0));
        }
        self.place_in(thread, self.component(thread.component().reference()));
        Ok(scheduler)
    }

    /// Notes the parent of a scheduler, its outermost ancestor below the root, and how deep it is nested.
    fn place_below(self, parent: Scheduler<'h>, scheduler: Scheduler<'h>) {
        let (mut outermost, mut above) = (parent, 0);
        if self.exists(parent) {
            outermost = self.scheduler(parent.outermost().reference());
            if !self.exists(outermost) {
                outermost = scheduler;
            }
            above = parent.nesting().get();
        }
        scheduler.parent().set(parent.at().address());
        scheduler.outermost().set(outermost.at().address());
        scheduler.nesting().set(above + 1);
    }

    pub(crate) fn make_time(
        self,
        caller: Thread<'h>,
        place: Vacant<'h>,
        at: Ref,
        [source, cycles, priority]: [u64; 3],
    ) -> Answer {
        let source = self.own_time(caller, source)?;
        self.charge();
        let had = source.budget().get();
        if cycles != bulkhead_abi::kernel::ALL && had < cycles {
            return Err(Status::NoTime);
        }
        let time = self.new_time(self.0.core(), at)?;
        let grading = self.grading(caller, source, priority);
        if cycles == 0 {
            // None is moved, and the vector is that of the source.
            self.meet(source, time, 0, grading);
        } else {
            self.transfer(source, time, cycles, grading)?;
        }
        // A server on a client's thread makes no time of which the client's scheduler is told.
        let scheduler = self.scheduler(caller.scheduler().reference());
        let decides = scheduler.component().get() == caller.component().get();
        let split = self.scheduler(source.owner().reference());
        let owner = if decides { scheduler } else { split };
        self.set_owner(time, owner);
        self.enter_in(place, Kind::Time, at, 0)
    }

    #[inline(never)]
    pub(crate) fn new_time(self, core: Core<'h>, at: Ref) -> Result<Time<'h>, Status> {
        self.claim(at, Kind::Time, LEAST)?;
        let time = self.time(at);
        time.core().set(core.at().address());
        time.budget().set(0);
        time.places().set(0);
        time.cleared().set(core.reuses().get());
        time.owner().set(self.void().address());
        Ok(time)
    }

    /// Makes a scheduler the owner of time without one: it gets an event when the time ends.
    pub(crate) fn set_owner(self, time: Time<'h>, owner: Scheduler<'h>) {
        time.owner().set(owner.at().address());
        owner.owned().set(owner.owned().get().wrapping_add(1));
    }

    /// The first capability to a new object.
    pub(crate) fn enter_in(self, place: Vacant<'h>, kind: Kind, at: Ref, detail: u64) -> Answer {
        self.name(place, kind, at, [detail, 0])
    }
}
