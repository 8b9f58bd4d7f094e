//! A core may hold an object that another one gave up, until it has been quiet

use super::{CORES, Machine, PERIOD, Workshop};
use bulkhead_abi::kernel::{IMAGE, Operation, Rights, Status, first};

/// Index of a page of the first component that nothing is mapped at.
const FREE_PAGE: u64 = 300;

/// Starts the core of `rank` in the first component.
fn start(shop: &Workshop<'_>, rank: u64) {
    let page = [(); 4].map(|()| shop.page())[0];
    let slot = [(); 3].map(|()| shop.slots.next())[0];
    let words = [first::MEMORY, page, slot, first::COMPONENT, IMAGE];
    shop.machine
        .must(first::CORES + rank, Operation::Prepare, &words);
    shop.machine
        .must(first::CORES + rank, Operation::Start, &[]);
    shop.machine.on_core(rank);
    shop.machine.on_core(0);
}

/// An object that is given up, and a call that needs its place.
type Reuse = fn(&Machine, [u64; 2]) -> [u64; 2];

fn map(machine: &Machine, page: u64) {
    let words = [FREE_PAGE, first::MEMORY, page, Rights::Write as u64];
    machine.must(first::PAGES[2], Operation::Map, &words);
}

/// Given up: a user page, a translation table, a leaf, a slot. The page and slot are free before.
const REUSES: [(&str, Reuse); 4] = [
    ("user memory", |machine, [page, slot]| {
        if machine.slot_is_free(slot) {
            map(machine, page);
            machine.must(first::PAGES[2], Operation::Unmap, &[FREE_PAGE]);
        }
        machine.ask(first::MEMORY, Operation::MakeTable, &[page, slot, 1])
    }),
    ("a translation table", |machine, [page, slot]| {
        if machine.slot_is_free(slot) {
            machine.must(first::MEMORY, Operation::MakePages, &[page, slot, 3]);
            machine.must(first::LEAF, Operation::Remove, &[slot]);
            machine.must(first::MEMORY, Operation::Reclaim, &[page]);
        }
        let words = [FREE_PAGE, first::MEMORY, page, Rights::Write as u64];
        machine.ask(first::PAGES[2], Operation::Map, &words)
    }),
    ("a leaf that hung in a table", |machine, [page, slot]| {
        if machine.slot_is_free(slot) {
            machine.must(first::MEMORY, Operation::MakeTable, &[page, slot, 1]);
            machine.must(first::TABLE, Operation::Copy, &[5, slot]);
            machine.must(first::TABLE, Operation::Remove, &[5]);
            machine.must(first::LEAF, Operation::Remove, &[slot]);
            machine.must(first::MEMORY, Operation::Reclaim, &[page]);
        }
        machine.ask(first::MEMORY, Operation::MakeTable, &[page, slot + 1, 0])
    }),
    ("a slot", |machine, [_, slot]| {
        if machine.slot_is_free(slot) {
            machine.must(first::LEAF, Operation::Copy, &[slot, first::THREAD]);
            machine.must(first::LEAF, Operation::Remove, &[slot]);
        }
        machine.ask(first::LEAF, Operation::Copy, &[slot, first::COMPONENT])
    }),
];

impl Machine {
    /// Returns true if nothing has been given up there yet: the time is that of the beginning.
    fn slot_is_free(&self, _: u64) -> bool {
        self.now.get() == 1000
    }
}

#[test]
fn alone_nothing_waits() {
    for (what, reuse) in REUSES {
        let machine = Machine::with_cores(1);
        let shop = Workshop::new(&machine);
        let used = reuse(&machine, [shop.page(), shop.slots.next()]);
        assert_eq!(used[0], 0, "{what}");
        machine.tick(machine.now.get());
        assert_eq!(machine.processor().timer.get(), u64::MAX, "nor is it woken");
    }
}

#[test]
fn what_was_given_up_waits_until_every_other_core_was_quiet() {
    const RESTING: u64 = Status::Resting as u64;
    for (what, reuse) in REUSES {
        let machine = Machine::booted();
        let shop = Workshop::new(&machine);
        (1..CORES).for_each(|rank| start(&shop, rank));
        let places = [shop.page(), shop.slots.next()];
        assert_eq!(reuse(&machine, places)[0], RESTING, "{what}");
        machine.tick(1000 + 2 * PERIOD);
        assert_eq!(
            reuse(&machine, places)[0],
            RESTING,
            "{what}: nobody else was"
        );
        machine.on_core(1);
        machine.tick(1000 + 2 * PERIOD);
        machine.on_core(0);
        assert_eq!(reuse(&machine, places)[0], RESTING, "{what}: one was not");
        machine.on_core(2);
        let before = machine.processor().forgotten.get();
        machine.tick(1000 + 2 * PERIOD);
        assert_eq!(machine.processor().forgotten.get(), before + 1);
        machine.on_core(0);
        assert_eq!(reuse(&machine, places)[0], 0, "{what}");
    }
}

#[test]
fn every_core_is_woken_once_in_a_period() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    start(&shop, 1);
    machine.on_core(1);
    let mut due = machine.processor().timer.get();
    assert_eq!(due, 1000 + PERIOD);
    for round in 1..4 {
        machine.tick(due);
        due = machine.processor().timer.get();
        assert_eq!(due, 1000 + (round + 1) * PERIOD, "and nobody else runs");
        assert_eq!(machine.running().index().get(), 0);
    }
    // What a scheduler asks for later than that does not put it off.
    machine.dispatch(machine.first_of_core(), bulkhead_abi::kernel::SAME_TIME);
    assert_eq!(machine.processor().timer.get(), due);
}

impl Machine {
    /// Slot of the first thread of core 1, which [`start`] made first.
    fn first_of_core(&self) -> u64 {
        first::FREE
    }
}
