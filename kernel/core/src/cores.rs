//! Further cores of a partition
//!
//! A core has a page, schedulers, threads and time of its own; capability tables, address spaces and
//! memory are common. The holder of a core's capability gives it its first thread and starts it, once. Only a core
//! itself changes its objects: calls on other cores are refused, or post to its mailbox.

use crate::frame::Ref;
use crate::memory::page_of;
use crate::object::{Core, OFF, PREPARED, PREPARING, STARTED, Scheduler, Thread, Time};
use crate::slot::Slot;
use crate::system_call::{Answer, Arguments};
use crate::{Hal, Kernel};
use bulkhead_abi::kernel::{ALL, Kind, Operation, STACK_TOP, Status};

/// Pages of which a core's first thread, scheduler and time are made, and their SCB.
const PAGES: u64 = 4;

impl<'h, H: Hal> Kernel<'h, H> {
    pub(crate) fn core_operation(
        self,
        caller: Thread<'h>,
        slot: Slot<'h>,
        operation: Operation,
        arguments: Arguments,
    ) -> Answer {
        let at = slot.object();
        let core = Core::new(at, self.0.frame(at));
        match operation {
            Operation::Prepare => self.prepare(caller, core, arguments),
            Operation::Start => self.start(core, arguments),
            _ => Err(Status::NoOperation),
        }
    }

    /// A first thread, `[memory, first page, destination, component, entry]`.
    #[inline(never)]
    fn prepare(
        self,
        caller: Thread<'h>,
        core: Core<'h>,
        [memory, first, destination, component, entry]: Arguments,
    ) -> Answer {
        let memory = self.lookup(caller, memory).of_kind(Kind::Memory)?;
        let component = self.lookup(caller, component).of_kind(Kind::Component)?;
        let last = first.checked_add(PAGES - 1).ok_or(Status::BadArgument)?;
        let [at, _] = [page_of(memory, first)?, page_of(memory, last)?];
        let mut places = [self.destination(caller, destination)?; 3];
        for (number, place) in (0..).zip(&mut places) {
            let index = destination.checked_add(number);
            *place = self.destination(caller, index.ok_or(Status::BadArgument)?)?;
        }
        for page in 0..PAGES - 1 {
            self.free(self.0.state(at.plus(page)).ok_or(Status::WrongPage)?)?;
        }
        let shared = self.0.state(at.plus(PAGES - 1)).ok_or(Status::WrongPage)?;
        if !shared.is_memory() {
            return Err(Status::WrongPage);
        }
        if !core.stage().exchange(OFF, PREPARING) {
            return Err(Status::Occupied);
        }
        // Where another core has taken a page since, what was made of the others stays so.
        let made = self.first_thread_of(core, at, component.object(), entry);
        let stage = if made.is_ok() { PREPARED } else { OFF };
        core.stage().exchange(PREPARING, stage);
        for (place, (kind, at)) in places.into_iter().zip(made?) {
            self.enter_in(place, kind, at, 0)?;
        }
        Ok(0)
    }

    fn first_thread_of(
        self,
        core: Core<'h>,
        at: Ref,
        component: Ref,
        entry: u64,
    ) -> Result<[(Kind, Ref); 3], Status> {
        // Of an attempt that failed.
        core.placed(0).set(self.void().address());
        let thread = self.new_thread(at, component, [entry, STACK_TOP])?;
        let scheduler = self.new_scheduler(core, at.plus(1), thread, at.plus(PAGES - 1))?;
        let time = self.all_time(core, at.plus(2), scheduler)?;
        self.set_time(thread, time.at())?;
        core.current().set(thread.at().address());
        Ok([
            (Kind::Thread, thread.at()),
            (Kind::Scheduler, scheduler.at()),
            (Kind::Time, time.at()),
        ])
    }

    /// Time without end for the root scheduler of a core.
    #[inline(never)]
    pub(crate) fn all_time(
        self,
        core: Core<'h>,
        at: Ref,
        scheduler: Scheduler<'h>,
    ) -> Result<Time<'h>, Status> {
        let time = self.new_time(core, at)?;
        time.budget().set(ALL);
        self.set_owner(time, scheduler);
        let place = scheduler.place().get();
        time.priority(place).set(0);
        time.places().set(place + 1);
        Ok(time)
    }

    #[inline(never)]
    fn start(self, core: Core<'h>, arguments: Arguments) -> Answer {
        if !core.stage().exchange(PREPARED, STARTED) {
            return Err(Status::NotReady);
        }
        let thread = self.thread(core.current().reference());
        for (register, word) in (1..).zip(arguments) {
            thread.message(register).set(word);
        }
        // What does not run must not be waited for ([`crate::quiescence`]), and can be started again.
        let undo = |_: &Status| _ = core.stage().exchange(STARTED, PREPARED);
        self.0.start_core(core).inspect_err(undo).map(|()| 0)
    }

    /// The calling core goes on with its first thread, which is current.
    #[inline(never)]
    pub fn begin(self) {
        let core = self.0.core();
        let thread = self.current();
        let component = self.component(thread.component().reference());
        core.running().set(thread.at().address());
        core.time().set(thread.time().get());
        let now = self.0.now();
        core.since().set(now);
        core.due().set(0);
        self.quiesce(now);
        core.component().set(component.at().address());
        self.0.set_address_space(component.space().get());
        self.0.lend_floating_point(false);
        core.armed().set(core.due().get());
        self.0.set_timer(core.due().get());
    }
}
