//! Writing excludes executing, and reuse of entries follows break-before-make

use super::{MEMORY, Machine, PERIOD, Workshop};
use crate::Hal;
use crate::frame::{PAGE, Ref};
use bulkhead_abi::kernel::{Operation, Rights, Status, first};

const READ: u64 = Rights::Read as u64;
const WRITE: u64 = Rights::Write as u64;
const EXECUTE: u64 = Rights::Execute as u64;

/// Two last-level tables, as of two components, and a page; what maps it in one of them.
fn tables(shop: &Workshop<'_>) -> ([u64; 2], u64) {
    let tables = [(); 2].map(|()| shop.make(Operation::MakePages, &[3]));
    (tables, shop.page())
}

#[test]
fn a_page_is_writable_or_executable_wherever_it_is_mapped() {
    let machine = Machine::with_cores(1);
    let shop = Workshop::new(&machine);
    let ([one, other], page) = tables(&shop);
    for (has, wants) in [(WRITE, EXECUTE), (EXECUTE, WRITE)] {
        for table in [one, other] {
            machine.must(one, Operation::Map, &[0, first::MEMORY, page, has]);
            let words = [1, first::MEMORY, page, wants];
            assert_eq!(
                machine.refused(table, Operation::Map, &words),
                Status::WrongPage
            );
            // More of the same kind, and reading, is no matter.
            machine.must(other, Operation::Map, &[2, first::MEMORY, page, has]);
            machine.must(other, Operation::Map, &[3, first::MEMORY, page, READ]);
            machine.must(one, Operation::Unmap, &[0]);
            assert_eq!(
                machine.refused(table, Operation::Map, &words),
                Status::WrongPage
            );
            machine.must(other, Operation::Unmap, &[2]);
            // Nothing writes or executes it any more; it is still mapped, and keeps its content.
            machine.must(table, Operation::Map, &words);
            machine.must(table, Operation::Unmap, &[1]);
            machine.must(other, Operation::Unmap, &[3]);
        }
    }
}

#[test]
fn the_page_of_a_scheduler_counts_as_written() {
    let machine = Machine::with_cores(1);
    let shop = Workshop::new(&machine);
    let ([one, _], _) = tables(&shop);
    // Segment 0 of the first component is executed, page 1 of the archive.
    let write = [0, first::ARCHIVE, 1, WRITE];
    assert_eq!(
        machine.refused(one, Operation::Map, &write),
        Status::WrongPage
    );
    let scb = machine
        .frame(machine.running().scheduler().reference())
        .word(0)
        .reference();
    let state = machine.state(scb).unwrap();
    let executed = state.map(Rights::Execute, machine.kernel().rest(), |_| true);
    assert_eq!(executed, Err(Status::WrongPage));
}

#[test]
fn memory_that_is_not_counted_is_never_executed() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let ([one, _], _) = tables(&shop);
    for memory in [first::WINDOW, first::DEVICES] {
        let words = [0, memory, 0, EXECUTE];
        assert_eq!(
            machine.refused(one, Operation::Map, &words),
            Status::BadArgument
        );
    }
}

/// Another core, which executes in user mode.
fn second_core<'m>(machine: &'m Machine, shop: &Workshop<'m>) {
    let page = shop.page();
    for _ in 1..4 {
        shop.page();
    }
    let slot = shop.slots.next();
    shop.slots.next();
    shop.slots.next();
    let words = [first::MEMORY, page, slot, first::COMPONENT, 0x40_0000];
    machine.must(first::CORES + 1, Operation::Prepare, &words);
    machine.must(first::CORES + 1, Operation::Start, &[]);
    machine.on_core(1);
    machine.on_core(0);
}

#[test]
fn a_leaf_for_a_place_that_is_occupied_gets_no_reference() {
    let machine = Machine::with_cores(1);
    let shop = Workshop::new(&machine);
    let leaf = shop.make(Operation::MakeTable, &[1]);
    let count = || machine.state(machine.object_of(leaf)).unwrap().count();
    let before = count();
    let refused = machine.refused(first::TABLE, Operation::Copy, &[0, leaf]);
    assert_eq!((refused, count()), (Status::Occupied, before));
}

#[test]
fn a_page_that_is_unmapped_is_forgotten_before_the_call_returns() {
    let machine = Machine::with_cores(1);
    let shop = Workshop::new(&machine);
    let ([one, _], page) = tables(&shop);
    machine.must(one, Operation::Map, &[0, first::MEMORY, page, WRITE]);
    let forgotten = || machine.processor().forgotten.get();
    let before = forgotten();
    machine.must(one, Operation::Unmap, &[0]);
    assert_eq!(forgotten(), before + 1);
}

#[test]
fn an_entry_and_the_other_way_of_using_a_page_wait_for_all_cores() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    second_core(&machine, &shop);
    let ([one, other], page) = tables(&shop);
    let next = shop.page();
    let execute = [0, first::MEMORY, page, EXECUTE];
    machine.must(one, Operation::Map, &execute);
    machine.must(other, Operation::Map, &[0, first::MEMORY, page, READ]);
    machine.now.set(machine.now.get() + 1000);
    machine.must(one, Operation::Unmap, &[0]);
    // The entry: valid to valid only by way of quiet (Arm ARM D8.16.1), whatever page comes.
    for number in [page, next] {
        let words = [0, first::MEMORY, number, READ];
        assert_eq!(
            machine.refused(one, Operation::Map, &words),
            Status::Resting
        );
    }
    assert_eq!(
        machine.refused(one, Operation::Unmap, &[0]),
        Status::Nothing
    );
    // The page: the other core may still execute it. What it was used as before goes on at once.
    let write = [1, first::MEMORY, page, WRITE];
    assert_eq!(
        machine.refused(one, Operation::Map, &write),
        Status::Resting
    );
    machine.must(other, Operation::Map, &[2, first::MEMORY, page, EXECUTE]);
    machine.must(other, Operation::Unmap, &[2]);
    machine.now.set(machine.now.get() + PERIOD);
    machine.on_core(1);
    machine.tick(machine.now.get() + PERIOD);
    machine.on_core(0);
    machine.must(one, Operation::Map, &write);
    machine.must(one, Operation::Map, &[0, first::MEMORY, next, READ]);
}

#[test]
fn code_is_published_each_time_it_is_mapped_to_be_executed() {
    let machine = Machine::with_cores(1);
    let shop = Workshop::new(&machine);
    let ([one, _], page) = tables(&shop);
    let at = |page: u64| {
        let memory = machine
            .kernel()
            .lookup(machine.running(), first::MEMORY)
            .object();
        Ref::offered(memory.address() + page * PAGE)
    };
    machine.published.borrow_mut().clear();
    machine.must(one, Operation::Map, &[0, first::MEMORY, page, WRITE]);
    machine.must(one, Operation::Map, &[2, first::MEMORY, page, READ]);
    machine.must(one, Operation::Unmap, &[0]);
    assert!(machine.published.borrow().is_empty());
    machine.must(one, Operation::Map, &[0, first::MEMORY, page, EXECUTE]);
    assert_eq!(*machine.published.borrow(), [at(page)]);
    assert!(at(0).address() >= MEMORY);
}

#[test]
fn a_root_that_has_a_leaf_is_not_given_up_whatever_place_it_has() {
    let machine = Machine::with_cores(1);
    let shop = Workshop::new(&machine);
    for place in [0, 1, 511] {
        let root = shop.make(Operation::MakeTable, &[0]);
        let page = shop.last_page();
        let leaf = shop.make(Operation::MakeTable, &[1]);
        machine.must(root, Operation::Copy, &[place, leaf]);
        let leafs = shop.last_page();
        machine.must(first::LEAF, Operation::Remove, &[root]);
        machine.must(first::LEAF, Operation::Remove, &[leaf]);
        assert_eq!(
            machine.refused(first::MEMORY, Operation::Reclaim, &[page]),
            Status::InUse
        );
        assert_eq!(
            machine.refused(first::MEMORY, Operation::Reclaim, &[leafs]),
            Status::InUse
        );
    }
}

#[test]
fn an_interrupt_capability_covers_the_lines_it_names() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [_, _, sender] = shop.waiting(1, 5);
    let narrow = shop.slots.next();
    let copy = |from, line, lines| {
        machine.ask(first::LEAF, Operation::Copy, &[narrow, from, line, lines])[0]
    };
    for (line, lines) in [(31, 2), (40, 0), (511, 2), (0, u64::MAX), (u64::MAX, 2)] {
        assert_ne!(copy(first::INTERRUPT, line, lines), 0, "{line} {lines}");
    }
    assert_eq!(copy(first::INTERRUPT, 40, 2), 0);
    for line in [39, 42, 0, 27, u64::MAX] {
        for operation in [Operation::Listen, Operation::Complete, Operation::Ignore] {
            let refused = machine.refused(narrow, operation, &[line, sender]);
            assert_eq!(refused, Status::BadArgument, "{operation:?} {line}");
        }
    }
    machine.must(narrow, Operation::Listen, &[41, sender]);
    machine.must(narrow, Operation::Ignore, &[41]);
    let wider = shop.slots.next();
    let words = [wider, narrow, 40, 3];
    let refused = machine.refused(first::LEAF, Operation::Copy, &words);
    assert_eq!(refused, Status::BadArgument);
}

#[test]
fn a_thread_of_many_interrupts_is_retired_in_several_calls() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [thread, _, sender] = shop.waiting(1, 5);
    for line in 40..50 {
        machine.must(first::INTERRUPT, Operation::Listen, &[line, sender]);
    }
    for _ in 0..9 {
        assert_eq!(
            machine.refused(thread, Operation::Retire, &[]),
            Status::Resting
        );
    }
    machine.must(thread, Operation::Retire, &[]);
    for line in 40..50 {
        let ignored = machine.refused(first::INTERRUPT, Operation::Ignore, &[line]);
        assert_eq!(ignored, Status::Nothing);
    }
    // A core listens to so many at most, each in one place.
    let [_, _, sender] = shop.waiting(2, 5);
    for line in (100..132).chain([100]) {
        machine.must(first::INTERRUPT, Operation::Listen, &[line, sender]);
    }
    let full = machine.refused(first::INTERRUPT, Operation::Listen, &[140, sender]);
    assert_eq!(full, Status::Occupied);
    machine.must(first::INTERRUPT, Operation::Ignore, &[110]);
    machine.must(first::INTERRUPT, Operation::Listen, &[140, sender]);
}
