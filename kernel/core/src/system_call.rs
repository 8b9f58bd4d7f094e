//! System calls: from the index in `x0` to the operation
//!
//! Invocations, returns and dispatches come first; they are what must be fast. Everything else answers a status
//! and a value in the caller's message registers, also when another thread runs afterwards.

use crate::frame::{Ref, State};
use crate::hal::MonitorCall;
use crate::object::{Component, Scheduler, Thread, Time};
use crate::slot::{Slot, Vacant};
use crate::{Hal, Kernel};
use bulkhead_abi::component_log::{ComponentFault, ENDED};
use bulkhead_abi::kernel::{DELEGATES, Kind, LEAVES, Operation, POLL, SLOTS, Status, ThreadWord};

/// `x2` to `x6`.
pub type Arguments = [u64; 5];

/// Kinds of capabilities that are there, from 1 on.
const KINDS: u64 = Kind::ALL.len() as u64 - 1;

/// Value or error of a call.
pub(crate) type Answer = Result<u64, Status>;

impl<'h, H: Hal> Kernel<'h, H> {
    /// Serves the system call of the current thread; its page has the arguments. Returns true if the thread is in
    /// another component now: none of its registers but the message may stay.
    #[inline(always)]
    pub fn call(self, capability: u64, operation: u64) -> bool {
        let caller = self.current();
        let slot = self.slot(self.component(caller.component().reference()), capability);
        let kind = slot.kind();
        let answer = if kind == Kind::Invoke as u64 {
            match self.invoke(caller, slot) {
                Ok(()) => return true,
                Err(status) => Err(status),
            }
        } else if kind == Kind::Return as u64 {
            match self.give_back(caller) {
                Ok(()) => return true,
                Err(status) => Err(status),
            }
        } else if kind == Kind::Thread as u64 && operation == Operation::Dispatch as u64 {
            match self.dispatch(caller, self.thread(slot.object())) {
                Ok(()) => return false,
                Err(status) => Err(status),
            }
        } else if operation == Operation::Identify as u64 && kind.wrapping_sub(1) < KINDS {
            Ok(kind)
        } else {
            self.operate(caller, slot, operation)
        };
        match answer {
            Ok(value) => caller.answer(Status::Ok as u64, value),
            Err(status) => caller.answer(status as u64, 0),
        }
        false
    }

    #[inline(never)]
    fn operate(self, caller: Thread<'h>, slot: Slot<'h>, operation: u64) -> Answer {
        let operation = Operation::of(operation).ok_or(Status::NoOperation)?;
        let arguments = caller.arguments();
        let [first, second, third, ..] = arguments;
        match (
            operation,
            Kind::of(slot.kind()).ok_or(Status::NoCapability)?,
        ) {
            (_, Kind::Empty) => Err(Status::NoCapability),
            (Operation::Send, Kind::Send) => self.send(caller, self.thread(slot.object())),
            (Operation::Receive, Kind::Receive) => {
                self.receive(caller, self.thread(slot.object()), first == POLL)
            }
            (Operation::Fetch, Kind::Scheduler) => {
                let scheduler = self.scheduler(slot.object());
                if scheduler.core().reference() != self.0.core().at() {
                    return Err(Status::OtherCore);
                }
                Ok(self.fetch(scheduler))
            }
            (_, Kind::Thread) => self.thread_operation(caller, slot, operation, arguments),
            (_, Kind::Time) => self.time_operation(caller, slot, operation, arguments),
            (_, Kind::Memory) => self.memory_operation(caller, slot, operation, arguments),
            (_, Kind::Table) => self.table_operation(caller, slot, operation, arguments),
            (_, Kind::Pages) => self.pages_operation(caller, slot, operation, arguments),
            (Operation::Entry, Kind::Component) => {
                let place = self.destination(caller, first)?;
                self.name(place, Kind::Invoke, slot.object(), [second, third])
            }
            (Operation::Retire, Kind::Scheduler) => {
                self.retire_scheduler(self.scheduler(slot.object()))
            }
            (Operation::Grant, Kind::Scheduler) => {
                self.grant(caller, self.scheduler(slot.object()), [first, second])
            }
            (_, Kind::Core) => self.core_operation(caller, slot, operation, arguments),
            (_, Kind::Interrupt) if !covers(slot, first) => Err(Status::BadArgument),
            (Operation::Listen, Kind::Interrupt) => self.listen(caller, first, second),
            (Operation::Complete, Kind::Interrupt) => self.complete(first),
            (Operation::Ignore, Kind::Interrupt) => self.ignore(first),
            (Operation::Up, Kind::Monitor) => self.request(MonitorCall::Up),
            (Operation::Fail, Kind::Monitor) => self.request(MonitorCall::Fail(first)),
            (Operation::Ring, Kind::Monitor) => self.request(MonitorCall::Ring(first)),
            (Operation::Note, Kind::Monitor) => {
                self.0.record_fault(ComponentFault {
                    ticks: self.0.now(),
                    syndrome: ENDED,
                    component_thread: first & 0xFFFF_FFFF,
                    ..ComponentFault::default()
                });
                Ok(0)
            }
            _ => Err(Status::NoOperation),
        }
    }

    fn request(self, call: MonitorCall) -> Answer {
        self.0.monitor(call).map(|()| 0)
    }

    #[inline(never)]
    fn thread_operation(
        self,
        caller: Thread<'h>,
        slot: Slot<'h>,
        operation: Operation,
        [first, second, third, ..]: Arguments,
    ) -> Answer {
        let thread = self.thread(slot.object());
        let (kind, delegates) = match operation {
            Operation::Retire => return self.retire(thread),
            Operation::Bind => return self.bind(caller, thread, [first, second, third]),
            Operation::Inspect => return self.inspect(thread, first),
            Operation::Sender => (Kind::Send, u64::from(second == DELEGATES)),
            Operation::Receiver => (Kind::Receive, 0),
            _ => return Err(Status::NoOperation),
        };
        let place = self.destination(caller, first)?;
        self.name(place, kind, slot.object(), [delegates, 0])
    }

    fn inspect(self, thread: Thread<'h>, word: u64) -> Answer {
        let identity =
            |component: Ref| crate::translation::identity(self.component(component).space().get());
        Ok(match ThreadWord::of(word).ok_or(Status::BadArgument)? {
            ThreadWord::Cycles => thread.cycles().get(),
            ThreadWord::FaultSyndrome => thread.fault_syndrome().get(),
            ThreadWord::FaultAddress => thread.fault_address().get(),
            ThreadWord::FaultPc => thread.fault_pc().get(),
            ThreadWord::Depth => thread.depth().get(),
            ThreadWord::State => thread.state().get(),
            ThreadWord::Component => identity(thread.component().reference()),
            ThreadWord::FaultComponent => thread.fault_component().get(),
            ThreadWord::Served => thread.served().get(),
        })
    }

    /// Slot `index` (modulo the size of a table) of a component's table: two loads and no branch,
    /// because a missing leaf is the void, in which every slot is empty.
    #[inline(always)]
    pub(crate) fn slot(self, component: Component<'h>, index: u64) -> Slot<'h> {
        let root = self.0.frame(component.table().reference());
        let leaf = root.word(index / SLOTS % LEAVES).reference();
        Slot::of(self.0.frame(leaf), index)
    }

    /// A slot of the caller's own table.
    pub(crate) fn lookup(self, caller: Thread<'h>, index: u64) -> Slot<'h> {
        self.slot(self.component(caller.component().reference()), index)
    }

    /// An empty slot of the caller's own table, which has the leaf.
    #[inline(never)]
    pub(crate) fn destination(self, caller: Thread<'h>, index: u64) -> Result<Vacant<'h>, Status> {
        let component = self.component(caller.component().reference());
        let root = self.0.frame(component.table().reference());
        if root.word(index / SLOTS % LEAVES).reference() == self.void() {
            return Err(Status::BadArgument);
        }
        self.vacant(self.slot(component, index))
    }

    #[inline(always)]
    pub(crate) fn current(self) -> Thread<'h> {
        self.thread(self.0.core().current().reference())
    }

    #[inline(always)]
    pub(crate) fn thread(self, at: Ref) -> Thread<'h> {
        Thread::new(at, self.0.frame(at))
    }

    #[inline(always)]
    pub(crate) fn component(self, at: Ref) -> Component<'h> {
        Component::new(at, self.0.frame(at))
    }

    #[inline(always)]
    pub(crate) fn scheduler(self, at: Ref) -> Scheduler<'h> {
        Scheduler::new(at, self.0.frame(at))
    }

    #[inline(always)]
    pub(crate) fn time(self, at: Ref) -> Time<'h> {
        Time::new(at, self.0.frame(at))
    }

    /// The page that stands for "none".
    #[inline(always)]
    pub(crate) fn void(self) -> Ref {
        self.0.core().void().reference()
    }

    /// One reference more to an object, unless another core has just reclaimed it.
    #[inline(never)]
    pub(crate) fn add_reference(self, object: Ref) -> Result<(), Status> {
        let refers = self.0.state(object).is_none_or(State::add_reference);
        refers.then_some(()).ok_or(Status::NoCapability)
    }

    /// One reference more to both objects, or to none.
    pub(crate) fn add_references(self, [one, other]: [Ref; 2]) -> Result<(), Status> {
        self.add_reference(one)?;
        self.add_reference(other)
            .inspect_err(|_| self.drop_reference(one))
    }

    pub(crate) fn drop_references(self, objects: [Ref; 2]) {
        objects
            .into_iter()
            .for_each(|object| self.drop_reference(object));
    }

    /// One reference less.
    #[inline(never)]
    pub(crate) fn drop_reference(self, object: Ref) {
        if let Some(state) = self.0.state(object) {
            state.drop_reference();
        }
    }
}

/// Returns true if an Interrupt capability covers a line.
fn covers(lines: Slot<'_>, intid: u64) -> bool {
    intid.wrapping_sub(lines.detail()) < lines.extra()
}
