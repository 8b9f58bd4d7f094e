//! A machine of plain memory, and what the entry code does on it

extern crate std;

mod fuzz;
mod invocation;
mod notification;
mod ownership;
mod scheduling;

use crate::boot::Offer;
use crate::frame::{Frame, PAGE, Ref, State, Word};
use crate::object::{CALLED, Core, INTERRUPTED, Thread};
use crate::{Fault, Hal, Kernel, MonitorCall};
use bulkhead_abi::kernel::{
    IMAGE, Operation, Packed, Rights, SAME_TIME, STACK_TOP, Segment, Status, first,
};
use std::cell::{Cell, RefCell};
use std::vec::Vec;

/// Kernel address of the first page.
const BASE: u64 = 0xffff_ff80_4000_0000;
/// Pages of the archive, behind the core's page.
const ARCHIVE: u64 = 2;
pub(super) const PAGES: u64 = 96;
const WINDOW: u64 = 0xffff_ff80_0c00_0000;

pub(super) struct Machine {
    memory: Vec<Frame>,
    states: Vec<State>,
    pub(super) now: Cell<u64>,
    pub(super) timer: Cell<u64>,
    /// PC and SP of who executes.
    pub(super) context: Cell<[u64; 2]>,
    pub(super) space: Cell<u64>,
    pub(super) floating_point: Cell<bool>,
    pub(super) exchanges: Cell<u64>,
    pub(super) asked: RefCell<Vec<MonitorCall>>,
}

impl Hal for Machine {
    const LINEAR: u64 = 0xffff_ff80_0000_0000;

    fn frame(&self, at: Ref) -> &Frame {
        assert_eq!(at.address() % PAGE, 0, "{at:?} is no page");
        &self.memory[self.number(at)]
    }

    fn word(&self, at: Ref) -> &Word {
        self.memory[self.number(at)].word(at.address() % PAGE / 8)
    }

    fn state(&self, at: Ref) -> Option<&State> {
        let number = at.address().checked_sub(BASE + PAGE)? / PAGE;
        self.states.get(number as usize)
    }

    fn core(&self) -> Core<'_> {
        Core::new(Ref::offered(BASE), &self.memory[0])
    }

    fn now(&self) -> u64 {
        self.now.get()
    }

    fn set_timer(&self, deadline: u64) {
        self.timer.set(deadline);
    }

    fn context(&self) -> [u64; 2] {
        self.context.get()
    }

    fn set_context(&self, pc: u64, sp: u64) {
        self.context.set([pc, sp]);
    }

    fn set_address_space(&self, root: u64) {
        self.space.set(root);
    }

    fn forget_translations(&self) {}

    fn publish_code(&self, _: Ref) {}

    fn lend_floating_point(&self, lend: bool) {
        self.floating_point.set(lend);
    }

    fn exchange_floating_point(&self, owner: Option<Thread<'_>>, next: Thread<'_>) {
        assert!(owner.is_none_or(|owner| !owner.is(next)));
        self.exchanges.set(self.exchanges.get() + 1);
    }

    fn enable_interrupt(&self, intid: u64) -> Result<(), Status> {
        if intid == 27 {
            Err(Status::Refused)
        } else {
            Ok(())
        }
    }

    fn monitor(&self, call: MonitorCall) -> Result<(), Status> {
        self.asked.borrow_mut().push(call);
        Ok(())
    }
}

/// Free slots of the first component's table, handed out by the tests.
pub(super) struct Slots(Cell<u64>);

impl Machine {
    pub(super) fn booted() -> Self {
        let machine = Self {
            memory: (0..=PAGES).map(|_| Frame::new()).collect(),
            states: (0..PAGES).map(|_| State::new()).collect(),
            now: Cell::new(1000),
            timer: Cell::new(0),
            context: Cell::new([0; 2]),
            space: Cell::new(0),
            floating_point: Cell::new(true),
            exchanges: Cell::new(0),
            asked: RefCell::default(),
        };
        let page = |number| Ref::offered(BASE + PAGE * number);
        for number in 1..=ARCHIVE {
            machine.state(page(number)).unwrap().map().unwrap();
        }
        let text = Segment {
            address: IMAGE,
            page: 1,
            pages: 1,
            rights: Rights::Execute as u64,
        };
        let mut component = Packed {
            entry: IMAGE + 8,
            ..Packed::default()
        };
        component.segments[0] = text;
        machine
            .kernel()
            .boot(&Offer {
                memory: (page(ARCHIVE + 1), PAGES - ARCHIVE),
                window: (Ref::offered(WINDOW), 16),
                archive: (page(1), ARCHIVE),
                component,
                guest_page: 0x0c00_0000,
            })
            .unwrap();
        machine.enter_user();
        machine
    }

    fn number(&self, at: Ref) -> usize {
        (at.address().checked_sub(BASE).expect("below all memory") / PAGE) as usize
    }

    pub(super) fn kernel(&self) -> Kernel<'_, Self> {
        Kernel::new(self)
    }

    /// The thread whose registers are in the machine.
    pub(super) fn running(&self) -> Thread<'_> {
        let at = self.core().running().reference();
        Thread::new(at, self.frame(at))
    }

    /// Leaves the kernel as the exit code does.
    fn leave(&self, how: u64) {
        let running = self.running();
        let current = self.core().current().reference();
        if running.at() != current {
            if how == CALLED {
                let [pc, sp] = self.context.get();
                running.pc().set(pc);
                running.sp().set(sp);
                running.resume().set(CALLED);
            }
            self.enter_user();
        } else if how == INTERRUPTED {
            self.enter_user();
        }
    }

    fn enter_user(&self) {
        let current = self.core().current().get();
        self.core().running().set(current);
        let thread = self.running();
        self.context.set([thread.pc().get(), thread.sp().get()]);
    }

    /// Enters the kernel as the entry code does.
    fn cohere(&self) {
        let running = self.running();
        if self.word(running.claim().reference()).get() != running.index().get() {
            self.kernel().follow();
        }
    }

    /// What the running thread calls; its `x0` and `x1` when it runs again at once.
    pub(super) fn call(&self, capability: u64, operation: u64, words: [u64; 5]) -> [u64; 2] {
        self.cohere();
        let thread = self.running();
        for (register, value) in (0..).zip([capability, operation].into_iter().chain(words)) {
            thread.message(register).set(value);
        }
        self.kernel().call(capability, operation);
        self.leave(CALLED);
        self.answer()
    }

    pub(super) fn answer(&self) -> [u64; 2] {
        [0, 1].map(|register| self.running().message(register).get())
    }

    pub(super) fn ask(&self, capability: u64, operation: Operation, words: &[u64]) -> [u64; 2] {
        let mut all = [0; 5];
        all[..words.len()].copy_from_slice(words);
        self.call(capability, operation as u64, all)
    }

    /// A call that must succeed; its value.
    #[track_caller]
    pub(super) fn must(&self, capability: u64, operation: Operation, words: &[u64]) -> u64 {
        let [status, value] = self.ask(capability, operation, words);
        assert_eq!(
            Status::of(status),
            Some(Status::Ok),
            "{operation:?} {words:x?}"
        );
        value
    }

    /// A call that must be refused.
    #[track_caller]
    pub(super) fn refused(&self, capability: u64, operation: Operation, words: &[u64]) -> Status {
        let status = Status::of(self.ask(capability, operation, words)[0]).unwrap();
        assert_ne!(status, Status::Ok, "{operation:?} {words:x?}");
        status
    }

    /// The running thread faults.
    pub(super) fn fault(&self, syndrome: u64) {
        self.interrupted(|| {
            self.kernel().fault(Fault {
                syndrome,
                address: 0,
            })
        });
    }

    pub(super) fn interrupt(&self, intid: u64) {
        self.interrupted(|| self.kernel().interrupt(intid));
    }

    pub(super) fn tick(&self, now: u64) {
        self.now.set(now);
        self.interrupted(|| self.kernel().tick());
    }

    fn interrupted(&self, serve: impl Fn()) {
        self.cohere();
        let running = self.running();
        let [pc, sp] = self.context.get();
        running.pc().set(pc);
        running.sp().set(sp);
        running.resume().set(INTERRUPTED);
        serve();
        self.leave(INTERRUPTED);
    }

    /// Word `word` of the first component's SCB page.
    pub(super) fn scb(&self, word: u64) -> &Word {
        let scheduler = self.running().scheduler().reference();
        let scb = self.frame(scheduler).word(0).reference();
        self.frame(scb).word(word)
    }

    pub(super) fn epoch(&self) -> u64 {
        self.scb(1).get()
    }

    /// Reads the next scheduler event: thread and kind.
    pub(super) fn event(&self) -> Option<(u64, u64)> {
        let cursors = self.scb(2).get();
        let (produced, consumed) = (cursors & 0xffff_ffff, cursors >> 32);
        (produced != consumed).then(|| {
            self.scb(2).set(produced | (consumed + 1) << 32);
            let event = self.scb(4 + 2 * (consumed % 32)).get();
            (event & 0xffff_ffff, event >> 32)
        })
    }

    pub(super) fn dispatch(&self, thread: u64, time: u64) -> [u64; 2] {
        let epoch = self.epoch();
        self.ask(thread, Operation::Dispatch, &[time, u64::MAX, epoch])
    }
}

impl Slots {
    pub(super) fn new() -> Self {
        Self(Cell::new(first::FREE))
    }

    pub(super) fn next(&self) -> u64 {
        let slot = self.0.get();
        self.0.set(slot + 1);
        slot
    }
}

/// Pages of the first component's memory, handed out by the tests, with what is made of them.
pub(super) struct Workshop<'m> {
    pub(super) machine: &'m Machine,
    pub(super) slots: Slots,
    page: Cell<u64>,
}

impl<'m> Workshop<'m> {
    pub(super) fn new(machine: &'m Machine) -> Self {
        Self {
            machine,
            slots: Slots::new(),
            page: Cell::new(0),
        }
    }

    pub(super) fn page(&self) -> u64 {
        let page = self.page.get();
        self.page.set(page + 1);
        page
    }

    /// Makes an object; its slot.
    #[track_caller]
    pub(super) fn make(&self, operation: Operation, words: &[u64]) -> u64 {
        let (page, slot) = (self.page(), self.slots.next());
        let all: Vec<u64> = [page, slot].iter().chain(words).copied().collect();
        self.machine.must(first::MEMORY, operation, &all);
        slot
    }

    /// A component with a leaf whose slot 0 returns; its slot and its leaf's.
    pub(super) fn component(&self, identity: u64) -> [u64; 2] {
        let table = self.make(Operation::MakeTable, &[0]);
        let leaf = self.make(Operation::MakeTable, &[1]);
        let pages = self.make(Operation::MakePages, &[1]);
        self.machine.must(table, Operation::Copy, &[0, leaf]);
        self.machine
            .must(leaf, Operation::Copy, &[0, first::RETURN]);
        let component = self.make(Operation::MakeComponent, &[table, pages, identity]);
        [component, leaf]
    }

    pub(super) fn entry(&self, component: u64, entry: u64, token: u64) -> u64 {
        let slot = self.slots.next();
        self.machine
            .must(component, Operation::Entry, &[slot, entry, token]);
        slot
    }

    /// A thread of `component` under the root scheduler at `index`, on time of `priority`; its slot,
    /// its time's, and its sending side's.
    pub(super) fn thread(&self, component: u64, index: u64, priority: u64) -> [u64; 3] {
        let thread = self.make(Operation::MakeThread, &[component, 0x40_1000, 0x40_8000]);
        let time = self.make(Operation::MakeTime, &[first::TIME, u64::MAX, priority]);
        self.machine
            .must(thread, Operation::Bind, &[first::SCHEDULER, index, time]);
        let sender = self.slots.next();
        self.machine.must(thread, Operation::Sender, &[sender]);
        [thread, time, sender]
    }

    /// The same, waiting at its end-point: it has run once. The first thread runs again.
    pub(super) fn waiting(&self, index: u64, priority: u64) -> [u64; 3] {
        let made = self.thread(first::COMPONENT, index, priority);
        let receive = self.slots.next();
        self.machine.must(made[0], Operation::Receiver, &[receive]);
        self.machine.dispatch(made[0], SAME_TIME);
        assert_eq!(self.machine.running().index().get(), index);
        self.machine.ask(receive, Operation::Receive, &[0]);
        assert_eq!(self.machine.running().index().get(), 0);
        while self.machine.event().is_some() {}
        made
    }
}

#[test]
fn boot_hands_over_what_is_promised() {
    let machine = Machine::booted();
    assert_eq!(machine.context.get(), [IMAGE + 8, STACK_TOP]);
    for kind in bulkhead_abi::kernel::Kind::ALL {
        let held = (0..first::FREE)
            .any(|slot| machine.ask(slot, Operation::Identify, &[]) == [0, *kind as u64]);
        let given_later = ["Empty", "Invoke", "Send"].contains(&std::format!("{kind:?}").as_str());
        // To identify the capability to return is to return, which is refused here.
        let returns = *kind == bulkhead_abi::kernel::Kind::Return;
        assert_eq!(held, !given_later && !returns, "{kind:?}");
    }
    assert_eq!(
        machine.refused(first::FREE, Operation::Identify, &[]),
        Status::NoCapability
    );
}
