//! Several cores: what is one core's, what all share, notifications across

extern crate std;

use super::{MARKED, Machine, Workshop};
use crate::Hal;
use crate::frame::Word;
use bulkhead_abi::dispatch::EventKind;
use bulkhead_abi::kernel::{ALL, IMAGE, Kind, Operation, POLL, STACK_TOP, Status, WAIT, first};
use std::collections::BTreeMap;
use std::vec::Vec;

const OTHER: u64 = first::CORES + 1;

/// Slots of a core's first thread, scheduler and time.
#[derive(Clone, Copy)]
struct Root {
    thread: u64,
    scheduler: u64,
    time: u64,
}

/// Starts the core of `rank` in the first component.
fn start(shop: &Workshop<'_>, rank: u64) -> Root {
    let machine = shop.machine;
    let page = [(); 4].map(|()| shop.page())[0];
    let [thread, scheduler, time] = [(); 3].map(|()| shop.slots.next());
    let core = first::CORES + rank;
    let words = [first::MEMORY, page, thread, first::COMPONENT, IMAGE + 64];
    machine.must(core, Operation::Prepare, &words);
    machine.must(core, Operation::Start, &[rank, 7]);
    Root {
        thread,
        scheduler,
        time,
    }
}

/// A thread of the core that executes, waiting at its end-point: its slot, its sending side's and its
/// receiving side's.
fn waiting(shop: &Workshop<'_>, root: Root, index: u64, priority: u64) -> [u64; 3] {
    let machine = shop.machine;
    let thread = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
    let time = shop.make(Operation::MakeTime, &[root.time, ALL, priority]);
    machine.must(thread, Operation::Bind, &[root.scheduler, index, time]);
    let [sender, receive] = [shop.slots.next(), shop.slots.next()];
    machine.must(thread, Operation::Sender, &[sender]);
    machine.must(thread, Operation::Receiver, &[receive]);
    machine.dispatch(thread, time);
    machine.ask(receive, Operation::Receive, &[WAIT]);
    while machine.event().is_some() {}
    [thread, sender, receive]
}

/// A low thread of the core that executes runs.
fn busy(shop: &Workshop<'_>, root: Root) {
    let machine = shop.machine;
    let thread = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
    let time = shop.make(Operation::MakeTime, &[root.time, ALL, 50]);
    machine.must(thread, Operation::Bind, &[root.scheduler, 9, time]);
    machine.dispatch(thread, time);
}

const MINE: Root = Root {
    thread: first::THREAD,
    scheduler: first::SCHEDULER,
    time: first::TIME,
};

#[test]
fn a_core_starts_with_a_scheduler_of_its_own() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    start(&shop, 1);
    machine.on_core(1);
    assert_eq!(machine.processor().context.get(), [IMAGE + 64, STACK_TOP]);
    assert_eq!(machine.running().index().get(), 0);
    let words = [1, 2].map(|register| machine.running().message(register).get());
    assert_eq!(words, [1, 7]);
    // Tables are common.
    let identified = machine.ask(first::MEMORY, Operation::Identify, &[]);
    assert_eq!(identified, [0, Kind::Memory as u64]);
    machine.on_core(0);
    assert_eq!(machine.running().index().get(), 0);
}

#[test]
fn a_core_starts_once() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let unprepared = machine.refused(OTHER, Operation::Start, &[]);
    assert_eq!(unprepared, Status::NotReady);
    start(&shop, 1);
    assert_eq!(
        machine.refused(OTHER, Operation::Start, &[]),
        Status::NotReady
    );
    let page = shop.page();
    let slot = shop.slots.next();
    let words = [first::MEMORY, page, slot, first::COMPONENT, IMAGE];
    assert_eq!(
        machine.refused(OTHER, Operation::Prepare, &words),
        Status::Occupied
    );
    assert_eq!(
        machine.refused(first::CORES, Operation::Prepare, &words),
        Status::Occupied,
        "the first core runs"
    );
}

#[test]
fn a_core_prepared_with_less_than_four_pages_changes_nothing() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let used = shop.make(Operation::MakeTable, &[1]);
    let slots = [(); 3].map(|()| shop.slots.next());
    for (page, slot) in [
        (0, slots[0]),
        (1 << 40, slots[0]),
        (u64::MAX, slots[0]),
        (1, used),
    ] {
        let words = [first::MEMORY, page, slot, first::COMPONENT, IMAGE];
        machine.refused(OTHER, Operation::Prepare, &words);
    }
    let words = [first::MEMORY, 1, slots[0], first::COMPONENT, IMAGE];
    machine.must(OTHER, Operation::Prepare, &words);
}

#[test]
fn a_notification_crosses_and_preempts() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let root = start(&shop, 1);
    machine.on_core(1);
    let [_, sender, receive] = waiting(&shop, root, 3, 10);
    busy(&shop, root);
    let epoch = machine.epoch();
    machine.on_core(0);
    assert_eq!(machine.ask(sender, Operation::Send, &[]), [0, 0]);
    machine.must(sender, Operation::Send, &[]);
    assert_eq!(machine.running().index().get(), 0, "here nothing changes");
    machine.on_core(1);
    assert_eq!(machine.running().index().get(), 3, "there it preempts");
    assert_eq!(machine.answer(), [0, 2], "both");
    assert_eq!(machine.epoch(), epoch + 1);
    assert_eq!(machine.event(), Some((3, EventKind::Activated as u64)));
    machine.ask(receive, Operation::Receive, &[WAIT]);
    assert_eq!(machine.running().index().get(), 9, "and hands back");
    assert_eq!(machine.processor().interrupts.get(), 1);
    machine.on_core(0);
    machine.must(sender, Operation::Send, &[]);
    machine.on_core(1);
    assert_eq!(machine.running().index().get(), 3, "and again");
    assert_eq!(machine.processor().interrupts.get(), 2);
}

#[test]
fn of_several_notified_the_most_important_runs() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let root = start(&shop, 1);
    machine.on_core(1);
    let threads = [(3, 30), (100, 10), (64, 20)].map(|(index, priority)| {
        let [_, sender, receive] = waiting(&shop, root, index, priority);
        (sender, receive)
    });
    busy(&shop, root);
    machine.on_core(0);
    for (sender, _) in threads {
        machine.must(sender, Operation::Send, &[]);
    }
    machine.on_core(1);
    assert_eq!(machine.running().index().get(), 100);
    let mut activated = [(); 3].map(|()| machine.event().unwrap());
    activated.sort_unstable();
    assert_eq!(activated, [(3, 0), (64, 0), (100, 0)]);
}

#[test]
fn notifications_before_a_wait_are_not_lost() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let root = start(&shop, 1);
    machine.on_core(1);
    let receive = shop.slots.next();
    machine.must(root.thread, Operation::Receiver, &[receive]);
    let sender = shop.slots.next();
    machine.must(root.thread, Operation::Sender, &[sender]);
    machine.on_core(0);
    for _ in 0..5 {
        machine.must(sender, Operation::Send, &[]);
    }
    machine.on_core(1);
    assert_eq!(machine.must(receive, Operation::Receive, &[POLL]), 5);
}

#[test]
fn what_is_a_cores_is_refused_to_others() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let root = start(&shop, 1);
    machine.on_core(1);
    let [thread, sender, receive] = waiting(&shop, root, 3, 10);
    machine.on_core(0);
    let epoch = machine.epoch();
    let mine = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
    for (capability, operation, words) in [
        (thread, Operation::Dispatch, [first::TIME, u64::MAX, epoch]),
        (
            first::THREAD,
            Operation::Dispatch,
            [root.time, u64::MAX, epoch],
        ),
        (thread, Operation::Bind, [first::SCHEDULER, 5, first::TIME]),
        (mine, Operation::Bind, [root.scheduler, 5, first::TIME]),
        (mine, Operation::Bind, [first::SCHEDULER, 5, root.time]),
        (receive, Operation::Receive, [POLL, 0, 0]),
        (root.scheduler, Operation::Fetch, [0; 3]),
        (root.time, Operation::Budget, [0; 3]),
        (root.time, Operation::SetPriority, [0; 3]),
        (root.time, Operation::Transfer, [first::TIME, 5, 0]),
        (first::TIME, Operation::Transfer, [root.time, 5, 0]),
        (first::TIME, Operation::Delegate, [sender, 5, 1]),
    ] {
        machine.refused(capability, operation, &words);
    }
    let page = shop.page();
    let slot = shop.slots.next();
    let _shared = shop.page();
    for (operation, words) in [
        (Operation::MakeTime, [page, slot, root.time, 5, 5]),
        (
            Operation::MakeScheduler,
            [page, slot, thread, first::COMPONENT, root.scheduler],
        ),
    ] {
        let refused = machine.refused(first::MEMORY, operation, &words);
        assert_eq!(refused, Status::OtherCore);
    }
    // What was refused has changed nothing: the page and the thread are as free as before.
    machine.must(first::MEMORY, Operation::MakeTable, &[page, slot, 1]);
    machine.must(mine, Operation::Bind, &[first::SCHEDULER, 5, first::TIME]);
}

#[test]
fn interrupts_notify_threads_of_other_cores() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let root = start(&shop, 2);
    machine.on_core(2);
    let [_, sender, _] = waiting(&shop, root, 3, 10);
    busy(&shop, root);
    machine.on_core(0);
    machine.must(first::INTERRUPT, Operation::Listen, &[40, sender]);
    machine.interrupt(40);
    machine.on_core(2);
    assert_eq!(machine.running().index().get(), 3);
}

#[test]
fn a_thread_without_a_scheduler_is_not_notified() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let thread = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
    let sender = shop.slots.next();
    machine.must(thread, Operation::Sender, &[sender]);
    assert_eq!(
        machine.refused(sender, Operation::Send, &[]),
        Status::NotReady
    );
}

#[test]
fn time_that_pays_is_not_reclaimed() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let page = shop.page();
    let time = shop.slots.next();
    let words = [page, time, first::TIME, ALL, 1];
    machine.must(first::MEMORY, Operation::MakeTime, &words);
    machine.dispatch(first::THREAD, time);
    machine.must(first::LEAF, Operation::Remove, &[time]);
    assert_eq!(
        machine.refused(first::MEMORY, Operation::Reclaim, &[page]),
        Status::InUse
    );
    machine.dispatch(first::THREAD, first::TIME);
    machine.must(first::MEMORY, Operation::Reclaim, &[page]);
}

/// Words of a cache line.
const LINE: usize = 8;

/// Cores that have changed each line of kernel memory: their bits, by address.
#[derive(Default)]
struct Writers(BTreeMap<u64, u64>);

impl Writers {
    /// Notes what `step` changes, on the core that executes.
    fn watch(&mut self, machine: &Machine, step: impl FnOnce()) {
        let bit = 1 << machine.core().rank().get();
        let before = words(machine);
        step();
        let after = words(machine);
        let lines = before.chunks(LINE).zip(after.chunks(LINE));
        for (number, _) in (0..).zip(lines).filter(|(_, (was, is))| was != is) {
            *self
                .0
                .entry(super::BASE + number * 8 * LINE as u64)
                .or_default() |= bit;
        }
    }

    /// Lines that several cores have changed.
    fn shared(&self) -> Vec<u64> {
        let several = self.0.iter().filter(|(_, cores)| cores.count_ones() > 1);
        several.map(|(&address, _)| address).collect()
    }
}

fn words(machine: &Machine) -> Vec<u64> {
    let pages = machine.memory.iter().flat_map(|frame| frame.words());
    pages.map(|word| word.get()).collect()
}

/// One of each common path: a call, a switch and back, an invocation and back, a notification and the
/// wait for it, a time-out, a device's interrupt.
fn common_paths(
    machine: &Machine,
    entry: u64,
    [_, sender, receive]: [u64; 3],
    [low, time]: [u64; 2],
) {
    machine.ask(first::MEMORY, Operation::Identify, &[]);
    machine.call(entry, 0, [0; 5]);
    machine.call(first::RETURN, 0, [0; 5]);
    machine.dispatch(low, time);
    assert_eq!(machine.running().index().get(), 9);
    machine.must(sender, Operation::Send, &[]);
    machine.ask(receive, Operation::Receive, &[WAIT]);
    assert_eq!(
        machine.running().index().get(),
        9,
        "after notification and wait"
    );
    machine.interrupt(40);
    machine.ask(receive, Operation::Receive, &[WAIT]);
    machine.tick(machine.now.get() + 2 * super::PERIOD);
    while machine.event().is_some() {}
    machine.dispatch(low, time);
    let root = machine.frame(machine.running().scheduler().reference());
    root.word(8).set(machine.now.get());
    machine.tick(machine.now.get());
    assert_eq!(machine.running().index().get(), 0, "the time-out");
    while machine.event().is_some() {}
}

#[test]
fn no_line_is_written_by_two_cores_on_common_paths() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let other = start(&shop, 1);
    let [server, _] = shop.component(2);
    let entry = shop.entry(server, 0x40_0100, 7);
    let sides = [MINE, other].map(|root| {
        machine.on_core(u64::from(root.thread != MINE.thread));
        let waiter = waiting(&shop, root, 3, 10);
        let low = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
        let time = shop.make(Operation::MakeTime, &[root.time, ALL, 50]);
        machine.must(low, Operation::Bind, &[root.scheduler, 9, time]);
        machine.must(first::INTERRUPT, Operation::Listen, &[40, waiter[1]]);
        (waiter, low, time)
    });
    let mut writers = Writers::default();
    for _ in 0..3 {
        for (rank, (waiter, low, time)) in (0..).zip(sides) {
            machine.on_core(rank);
            writers.watch(&machine, || {
                common_paths(&machine, entry, waiter, [low, time]);
            });
        }
    }
    for (address, cores) in &writers.0 {
        std::println!("{address:#x} written by cores {cores:#b}");
    }
    assert!(
        writers.0.len() > 20,
        "each core has written what is its own"
    );
    assert_eq!(writers.shared(), [0; 0]);
    // Across, it is one line of the receiver's and two of its core's mailbox.
    machine.on_core(0);
    let before = writers.0.len();
    writers.watch(&machine, || {
        machine.must(sides[1].0[1], Operation::Send, &[]);
    });
    machine.on_core(1);
    assert!(writers.0.len() <= before + 3);
}

#[test]
fn what_several_cores_read_none_of_them_writes() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [one, two] = [start(&shop, 1), start(&shop, 2)];
    let kept = machine.core().void().reference();
    let _roots = [MINE, one, two];
    for rank in 0..3 {
        machine.on_core(rank);
        assert_eq!(machine.core().void().reference(), kept);
    }
    assert!(machine.frame(kept).words().all(|word| word.get() == 0));
}

#[test]
fn a_core_is_told_after_its_thread_is_marked() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let root = start(&shop, 2);
    machine.on_core(2);
    let [_, sender, _] = waiting(&shop, root, 3, 10);
    busy(&shop, root);
    machine.on_core(0);
    let mailbox = machine.core_of(2).mailbox().reference();
    let words = machine.frame(mailbox).words().map(core::ptr::from_ref);
    let words: Vec<*const Word> = words.collect();
    MARKED.take();
    machine.must(sender, Operation::Send, &[]);
    let marked = MARKED.take();
    let places: Vec<usize> = marked
        .iter()
        .filter_map(|word| words.iter().position(|other| other == word))
        .collect();
    assert_eq!(places.len(), 2, "a thread's bit, and the word that has it");
    assert!(places[0] >= 8 && places[1] == 0, "{places:?}");
}
