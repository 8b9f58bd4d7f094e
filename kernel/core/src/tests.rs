//! A machine of plain memory, and what the entry code does on it

extern crate std;

mod core_interrupts;
mod cores;
mod fuzz;
mod hostile;
mod invocation;
mod memory;
mod notification;
mod ownership;
mod quiescence;
mod reclaim;
mod registers;
mod scheduling;
mod temporal;
mod workshop;

use workshop::Workshop;

use crate::boot::Offer;
use crate::frame::{Frame, PAGE, Ref, State, Word};
use crate::object::{CALLED, Core, FLOATING_POINT, INTERRUPTED, Thread};
use crate::{Fault, Hal, Kernel, MonitorCall};
use bulkhead_abi::component_log::ComponentFault;
use bulkhead_abi::kernel::{IMAGE, Operation, Packed, Rights, STACK_TOP, Segment, Status, first};
use std::cell::{Cell, RefCell};
use std::vec::Vec;

/// Kernel address of the first page, which is the first core's.
const BASE: u64 = 0xffff_ff80_4000_0000;
/// Cores; their pages come first.
const CORES: u64 = 3;
/// Kernel address of the first page that the frame table knows.
const MEMORY: u64 = BASE + CORES * PAGE;
/// Pages of the archive, behind the cores' pages.
const ARCHIVE: u64 = 2;
/// The interrupt that is a level.
const LEVEL: u64 = 50;
/// Cycles within which each core becomes quiet.
const PERIOD: u64 = 10_000;
/// Pages that the frame table knows.
pub(super) const PAGES: u64 = 104;
const WINDOW: u64 = 0xffff_ff80_0c00_0000;
/// Words of the SCB.
const BUDGET: u64 = core::mem::offset_of!(bulkhead_abi::dispatch::Scb, budget) as u64 / 8;
const GRANTS: u64 = core::mem::offset_of!(bulkhead_abi::dispatch::Scb, grants) as u64 / 8;

std::thread_local! {
    /// Words in which bits were set, in order: another core may read them at any moment in between.
    pub(crate) static MARKED: RefCell<Vec<*const Word>> = const { RefCell::new(Vec::new()) };
}

/// State of the machine, once per core.
#[derive(Default)]
pub(super) struct Processor {
    pub(super) timer: Cell<u64>,
    /// PC and SP of the thread that executes.
    pub(super) context: Cell<[u64; 2]>,
    pub(super) space: Cell<u64>,
    pub(super) floating_point: Cell<bool>,
    /// Stands for all FP registers.
    pub(super) d8: Cell<u64>,
    pub(super) thread_pointer: Cell<u64>,
    started: Cell<bool>,
    /// The interrupt that is active.
    pub(super) active: Cell<u64>,
    /// How often it forgot its translations.
    pub(super) forgotten: Cell<u64>,
    /// Interrupts by other cores that were sent, and how many there ever were.
    mail: Cell<bool>,
    pub(super) interrupts: Cell<u64>,
}

pub(super) struct Machine {
    memory: Vec<Frame>,
    states: Vec<State>,
    pub(super) now: Cell<u64>,
    /// Cycles by which each reading of the clock moves it.
    pub(super) step: Cell<u64>,
    processors: [Processor; CORES as usize],
    /// The core that executes: the tests interleave them.
    core: Cell<u64>,
    pub(super) exchanges: Cell<u64>,
    pub(super) requests: RefCell<Vec<MonitorCall>>,
    /// Pages that were made visible to instruction fetches of all cores.
    pub(super) published: RefCell<Vec<Ref>>,
    /// Recorded faults.
    pub(super) recorded: RefCell<Vec<ComponentFault>>,
    /// The monitor refuses requests.
    pub(super) refuses: Cell<bool>,
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
        let number = at.address().checked_sub(MEMORY)? / PAGE;
        self.states.get(number as usize)
    }

    fn core(&self) -> Core<'_> {
        self.core_of(self.core.get())
    }

    fn start_core(&self, core: Core<'_>) -> Result<(), Status> {
        if self.refuses.get() {
            return Err(Status::Refused);
        }
        let started = &self.processors[core.rank().get() as usize].started;
        assert!(!started.replace(true), "the kernel starts a core once");
        Ok(())
    }

    fn interrupt_core(&self, core: Core<'_>) {
        let processor = &self.processors[core.rank().get() as usize];
        let attends = core.mail_left().iter().any(|word| word.get() != 0);
        if processor.mail.replace(true) || attends {
            assert!(attends, "one is on its way");
            return;
        }
        let mailbox = self.frame(core.mailbox().reference());
        let marked = |word: &u64| mailbox.word(8 + word).get() != 0;
        let listed = |word: &u64| mailbox.word(0).get() & 1 << word != 0;
        assert!(
            (0..32).any(|word| marked(&word) && listed(&word)),
            "a core is told after its thread is marked"
        );
        processor.interrupts.set(processor.interrupts.get() + 1);
    }

    fn now(&self) -> u64 {
        self.now.set(self.now.get() + self.step.get());
        self.now.get()
    }

    fn set_timer(&self, deadline: u64) {
        self.processor().timer.set(deadline);
    }

    fn context(&self) -> [u64; 2] {
        self.processor().context.get()
    }

    fn set_context(&self, pc: u64, sp: u64) {
        self.processor().context.set([pc, sp]);
    }

    fn set_address_space(&self, root: u64) {
        self.processor().space.set(root);
    }

    fn settle(&self) {}

    fn forget_translations(&self) {
        let forgotten = &self.processor().forgotten;
        forgotten.set(forgotten.get() + 1);
    }

    fn fill(&self, at: Ref, value: u64, words: u64) {
        assert_eq!(words % 16, 0);
        (0..words).for_each(|word| self.frame(at).word(word).set(value));
    }

    fn has_only(&self, at: Ref, value: u64) -> bool {
        self.frame(at).words().all(|word| word.get() == value)
    }

    fn has_only_invalid(&self, at: Ref) -> bool {
        self.frame(at).words().all(|word| word.get() & 1 == 0)
    }

    fn publish_code(&self, at: Ref) {
        self.published.borrow_mut().push(at);
    }

    fn lend_floating_point(&self, lend: bool) {
        self.processor().floating_point.set(lend);
    }

    fn exchange_floating_point(&self, owner: Option<Thread<'_>>, next: Option<Thread<'_>>) {
        let both = owner.zip(next);
        assert!(both.is_none_or(|(owner, next)| !owner.is(next)));
        self.exchanges.set(self.exchanges.get() + 1);
        let register = &self.processor().d8;
        if let Some(owner) = owner {
            self.frame(owner.at())
                .word(FLOATING_POINT)
                .set(register.get());
        }
        register.set(next.map_or(0, |next| self.frame(next.at()).word(FLOATING_POINT).get()));
    }

    fn keep_floating_point(&self, place: Ref) {
        assert!(self.processor().floating_point.get(), "it is lent");
        self.word_of(place).set(self.processor().d8.replace(0));
    }

    fn recover_floating_point(&self, place: Ref) {
        assert!(self.processor().floating_point.get(), "it is lent");
        self.processor().d8.set(self.word_of(place).get());
    }

    fn thread_pointer(&self) -> u64 {
        self.processor().thread_pointer.get()
    }

    fn set_thread_pointer(&self, value: u64) {
        self.processor().thread_pointer.set(value);
    }

    fn enable_interrupt(&self, intid: u64) -> Result<bool, Status> {
        if intid == 27 {
            Err(Status::Refused)
        } else {
            Ok(intid == LEVEL)
        }
    }

    fn disable_interrupt(&self, _: u64) {}

    fn end_interrupt(&self, intid: u64) {
        assert!(self.processor().active.replace(0) == intid, "in order");
    }

    fn record_fault(&self, fault: ComponentFault) {
        self.recorded.borrow_mut().push(fault);
    }

    fn monitor(&self, call: MonitorCall) -> Result<(), Status> {
        if self.refuses.get() {
            return Err(Status::Refused);
        }
        self.requests.borrow_mut().push(call);
        Ok(())
    }
}

/// Free slots of the first component's table, handed out by the tests.
pub(super) struct Slots(Cell<u64>);

impl Machine {
    pub(super) fn booted() -> Self {
        Self::with_cores(CORES)
    }

    /// Booted, in a partition of so many cores.
    pub(super) fn with_cores(cores: u64) -> Self {
        let machine = Self {
            memory: (0..CORES + PAGES).map(|_| Frame::new()).collect(),
            states: (0..PAGES).map(|_| State::new()).collect(),
            now: Cell::new(1000),
            step: Cell::new(0),
            processors: Default::default(),
            core: Cell::new(0),
            exchanges: Cell::new(0),
            requests: RefCell::default(),
            recorded: RefCell::default(),
            published: RefCell::default(),
            refuses: Cell::new(false),
        };
        let page = |number| Ref::offered(MEMORY + PAGE * number);
        for rank in 0..CORES {
            machine.core_of(rank).rank().set(rank);
            machine.core_of(rank).period().set(PERIOD);
        }
        for number in 0..ARCHIVE {
            machine.state(page(number)).unwrap().keep();
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
                memory: (page(ARCHIVE), PAGES - ARCHIVE),
                window: (Ref::offered(WINDOW), 16),
                archive: (page(0), ARCHIVE),
                component,
                guest_page: 0x0c00_0000,
                cores: (Ref::offered(BASE), cores),
            })
            .unwrap();
        machine.enter_user();
        machine
    }

    fn word_of(&self, at: Ref) -> &Word {
        let page = Ref::offered(at.address() & !(PAGE - 1));
        self.frame(page).word(at.address() % PAGE / 8)
    }

    pub(super) fn core_of(&self, rank: u64) -> Core<'_> {
        let at = Ref::offered(BASE + PAGE * rank);
        Core::new(at, self.frame(at))
    }

    /// The one of the core that executes.
    pub(super) fn processor(&self) -> &Processor {
        &self.processors[self.core.get() as usize]
    }

    /// Goes on with another core: what it was started for, and interrupts that it was sent, first.
    pub(super) fn on_core(&self, rank: u64) {
        self.core.set(rank);
        assert!(rank == 0 || self.processor().started.get(), "it is off");
        if self.core().running().get() == 0 {
            self.kernel().begin();
            self.enter_user();
        }
        // The core interrupts itself where it has more to attend to.
        while self.processor().mail.get() {
            self.attend();
        }
    }

    /// Serves one interrupt by another core.
    pub(super) fn attend(&self) {
        assert!(self.processor().mail.take(), "it was interrupted");
        self.interrupted(|began| {
            self.kernel().attend(began);
            self.kernel().leave_interrupt();
        });
    }

    pub(super) fn number(&self, at: Ref) -> usize {
        (at.address().checked_sub(BASE).expect("below all memory") / PAGE) as usize
    }

    pub(super) fn kernel(&self) -> Kernel<'_, Self> {
        Kernel::new(self)
    }

    /// The thread that has its registers in the machine.
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
                let [pc, sp] = self.processor().context.get();
                running.pc().set(pc);
                running.sp().set(sp);
                running.resume().set(CALLED);
                self.kernel().leave();
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
        self.processor()
            .context
            .set([thread.pc().get(), thread.sp().get()]);
    }

    /// Enters the kernel as the entry code does.
    fn cohere(&self) {
        let running = self.running();
        if self.word(running.claim().reference()).get() != running.index().get() {
            self.kernel().follow();
        }
    }

    /// Makes a call of the running thread. Returns its `x0` and `x1` if it runs again at once.
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
        self.interrupt_user();
        self.kernel().fault(Fault {
            syndrome,
            address: 0,
        });
        self.leave(INTERRUPTED);
    }

    pub(super) fn interrupt(&self, intid: u64) {
        self.interrupted(|began| {
            if !self.kernel().interrupt(intid, began) {
                assert_eq!(self.processor().active.replace(intid), 0, "one at a time");
            }
            self.kernel().leave_interrupt();
        });
    }

    pub(super) fn tick(&self, now: u64) {
        self.now.set(now);
        self.interrupted(|began| self.kernel().tick(began));
    }

    /// Serves an interrupt, which comes when the clock says what it is told.
    fn interrupted(&self, serve: impl Fn(u64)) {
        let began = self.now();
        self.interrupt_user();
        self.kernel().interrupted(began);
        serve(began);
        self.leave(INTERRUPTED);
    }

    fn interrupt_user(&self) {
        self.cohere();
        let running = self.running();
        let [pc, sp] = self.processor().context.get();
        running.pc().set(pc);
        running.sp().set(sp);
        running.resume().set(INTERRUPTED);
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

#[test]
fn boot_hands_over_what_is_promised() {
    let machine = Machine::booted();
    assert_eq!(machine.processor().context.get(), [IMAGE + 8, STACK_TOP]);
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
