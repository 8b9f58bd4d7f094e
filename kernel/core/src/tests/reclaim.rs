//! Threads, schedulers and components end, and their pages are used again

extern crate std;

use super::{CORES, Machine, PERIOD, Workshop};
use crate::Hal;
use crate::frame::Ref;
use crate::object::{Scheduler, Time};
use bulkhead_abi::kernel::{
    ALL, IMAGE, Kind, LEAST, Operation, POLL, SAME_TIME, SCHEDULERS, Status, ThreadWord, WAIT,
    first,
};
use std::vec::Vec;

/// An object: its page and its only slot.
type Object = [u64; 2];

fn make(shop: &Workshop<'_>, operation: Operation, words: &[u64]) -> Object {
    let slot = shop.make(operation, words);
    [shop.last_page(), slot]
}

fn drop_slot(machine: &Machine, slot: u64) {
    machine.must(first::LEAF, Operation::Remove, &[slot]);
}

fn reclaim(machine: &Machine, page: u64) -> Status {
    Status::of(machine.ask(first::MEMORY, Operation::Reclaim, &[page])[0]).unwrap()
}

impl Machine {
    /// The root's own thread runs again: its time-out has come.
    pub(super) fn back_to_root(&self) {
        let root_at = self.core().placed(0).reference();
        let root = self.frame(root_at);
        root.word(8).set(self.now.get());
        self.tick(self.now.get());
        while self.event().is_some() {}
        assert_eq!(
            self.running().at(),
            Scheduler::new(root_at, root).thread().reference()
        );
    }

    fn must_inspect(&self, thread: u64, word: ThreadWord) -> u64 {
        self.must(thread, Operation::Inspect, &[word as u64])
    }

    /// Pages that are nothing.
    fn untyped(&self) -> usize {
        let states = (0..super::PAGES).filter_map(|number| self.state(page_at(number)));
        states.filter(|state| state.free(|_| true) == Ok(0)).count()
    }

    /// The object behind a slot of the first component.
    pub(super) fn object_of(&self, slot: u64) -> Ref {
        let component = self.frame(self.running().component().reference());
        let leaf = self
            .frame(component.word(0).reference())
            .word(0)
            .reference();
        crate::slot::Slot::of(self.frame(leaf), slot).object()
    }
}

fn page_at(number: u64) -> Ref {
    Ref::offered(super::MEMORY + super::PAGE * number)
}

/// Its only capability is given up, then its page.
#[track_caller]
fn destroy(machine: &Machine, [page, slot]: Object) {
    drop_slot(machine, slot);
    assert_eq!(reclaim(machine, page), Status::Ok);
}

/// A component of which all is known: table, leaf, pages, itself.
struct Whole {
    table: Object,
    leaf: Object,
    pages: Object,
    component: Object,
}

fn whole(shop: &Workshop<'_>, identity: u64) -> Whole {
    let machine = shop.machine;
    let [table, leaf] = [0, 1].map(|level| make(shop, Operation::MakeTable, &[level]));
    let pages = make(shop, Operation::MakePages, &[1]);
    machine.must(table[1], Operation::Copy, &[0, leaf[1]]);
    machine.must(leaf[1], Operation::Copy, &[0, first::RETURN]);
    let words = [table[1], pages[1], first::identity(identity)];
    let component = make(shop, Operation::MakeComponent, &words);
    Whole {
        table,
        leaf,
        pages,
        component,
    }
}

/// A thread of a component at `index` of the root, on time of its own, that has only these capabilities.
fn thread(shop: &Workshop<'_>, component: u64, index: u64) -> [Object; 2] {
    let words = [component, 0x40_1000, 0x40_8000];
    let thread = make(shop, Operation::MakeThread, &words);
    let time = make(shop, Operation::MakeTime, &[first::TIME, ALL, 9]);
    let words = [first::SCHEDULER, index, time[1]];
    shop.machine.must(thread[1], Operation::Bind, &words);
    [thread, time]
}

/// Reclaims what is left of a component without capability and page.
#[track_caller]
fn destroy_tables(machine: &Machine, whole: &Whole) {
    machine.must(whole.leaf[1], Operation::Remove, &[0]);
    machine.must(whole.table[1], Operation::Remove, &[0]);
    for object in [whole.table, whole.leaf, whole.pages] {
        destroy(machine, object);
    }
}

#[test]
fn a_retired_thread_never_runs_again_and_its_page_becomes_another() {
    let machine = Machine::with_cores(1);
    let shop = Workshop::new(&machine);
    let [victim, time] = thread(&shop, first::COMPONENT, 1);
    let sender = shop.slots.next();
    machine.must(victim[1], Operation::Sender, &[sender]);
    machine.must(victim[1], Operation::Retire, &[]);
    let refused = machine.dispatch(victim[1], SAME_TIME)[0];
    assert_eq!(refused, Status::NotReady as u64);
    let state = [ThreadWord::State as u64];
    assert_eq!(machine.must(victim[1], Operation::Inspect, &state), 3);
    machine.must(sender, Operation::Send, &[]);
    assert_eq!(machine.running().index().get(), 0, "nobody is woken");
    let words = [first::SCHEDULER, 2, time[1]];
    let bound = machine.refused(victim[1], Operation::Bind, &words);
    assert_eq!(bound, Status::Occupied);
    let again = machine.refused(victim[1], Operation::Retire, &[]);
    assert_eq!(again, Status::NotReady);
    drop_slot(&machine, victim[1]);
    assert_eq!(
        reclaim(&machine, victim[0]),
        Status::InUse,
        "somebody sends"
    );
    drop_slot(&machine, sender);
    assert_eq!(reclaim(&machine, victim[0]), Status::Ok);
    assert_eq!(reclaim(&machine, victim[0]), Status::Ok, "it is untyped");
    destroy(&machine, time);
    let words = [victim[0], victim[1], 1];
    machine.must(first::MEMORY, Operation::MakeTable, &words);
    // Its place under the scheduler is free.
    thread(&shop, first::COMPONENT, 1);
}

#[test]
fn a_running_or_scheduling_thread_is_not_retired() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let running = machine.refused(first::THREAD, Operation::Retire, &[]);
    assert_eq!(running, Status::InUse);
    let root = machine.refused(first::SCHEDULER, Operation::Retire, &[]);
    assert_eq!(root, Status::InUse);
    let nobodys = shop.make(Operation::MakeThread, &[first::COMPONENT, 0, 0]);
    let refused = machine.refused(nobodys, Operation::Retire, &[]);
    assert_eq!(refused, Status::NotReady);
    let [manager, _] = thread(&shop, first::COMPONENT, 1);
    shop.scheduler([manager[1], first::COMPONENT, first::SCHEDULER]);
    let schedules = machine.refused(manager[1], Operation::Retire, &[]);
    assert_eq!(schedules, Status::InUse);
}

#[test]
fn what_a_retired_thread_was_to_go_on_with_is_forgotten() {
    let machine = Machine::with_cores(1);
    let shop = Workshop::new(&machine);
    let [low, low_time] = thread(&shop, first::COMPONENT, 1);
    let [high, _, sender] = shop.waiting(2, 5);
    machine.dispatch(low[1], low_time[1]);
    machine.kernel().lend_floating_point();
    machine.ask(sender, Operation::Send, &[]);
    assert_eq!(machine.running().index().get(), 2);
    // The thread that preempted retires the preempted one, and waits again.
    machine.must(low[1], Operation::Retire, &[]);
    assert_eq!(
        machine.core().fp_owner().reference(),
        machine.core().void().reference()
    );
    let receive = shop.slots.next();
    machine.must(high, Operation::Receiver, &[receive]);
    machine.ask(receive, Operation::Receive, &[WAIT]);
    assert_eq!(machine.running().index().get(), 0, "the scheduler decides");
    destroy(&machine, low);
    destroy(&machine, low_time);
}

#[test]
fn a_component_is_built_anew_of_the_same_pages() {
    let machine = Machine::with_cores(1);
    let shop = Workshop::new(&machine);
    let mut before = None;
    for _ in 0..3 {
        let server = whole(&shop, 5);
        let [victim, time] = thread(&shop, server.component[1], 1);
        let entry = shop.entry(server.component[1], 0x40_0100, 7);
        machine.dispatch(victim[1], time[1]);
        assert_eq!(machine.running().index().get(), 1);
        machine.fault(0x92 << 26);
        while machine.event().is_some() {}
        machine.must(victim[1], Operation::Retire, &[]);
        destroy(&machine, victim);
        destroy(&machine, time);
        drop_slot(&machine, server.component[1]);
        assert_eq!(reclaim(&machine, server.component[0]), Status::InUse);
        drop_slot(&machine, entry);
        assert_eq!(reclaim(&machine, server.component[0]), Status::Ok);
        destroy_tables(&machine, &server);
        // Exactly the same afterwards: nothing leaks.
        let now = machine.untyped();
        assert!(before.replace(now).is_none_or(|before| before == now));
        shop.rewind();
    }
}

#[test]
fn a_component_waits_for_the_threads_inside() {
    let machine = Machine::with_cores(1);
    let shop = Workshop::new(&machine);
    let server = whole(&shop, 5);
    let entry = shop.entry(server.component[1], 0x40_0100, 7);
    let [client, time] = thread(&shop, first::COMPONENT, 1);
    let enter = || {
        machine.dispatch(client[1], time[1]);
        machine.call(entry, 0, [0; 5]);
        assert_eq!(machine.running().depth().get(), 1);
    };
    enter();
    // The invoked thread is in the server; a time-out brings the root back.
    machine.back_to_root();
    drop_slot(&machine, server.component[1]);
    drop_slot(&machine, entry);
    assert_eq!(reclaim(&machine, server.component[0]), Status::InUse);
    assert_eq!(reclaim(&machine, server.component[0]), Status::InUse);
    let words = [server.component[0], shop.slots.next(), 3];
    let refused = machine.refused(first::MEMORY, Operation::MakePages, &words);
    assert_eq!(refused, Status::WrongPage, "it still is a component");
    machine.dispatch(client[1], time[1]);
    machine.call(first::RETURN, 0, [0; 5]);
    machine.back_to_root();
    assert_eq!(reclaim(&machine, server.component[0]), Status::Ok);
    destroy_tables(&machine, &server);
}

#[test]
fn a_thread_that_is_retired_in_the_middle_of_invocations_is_nowhere_any_more() {
    let machine = Machine::with_cores(1);
    let shop = Workshop::new(&machine);
    let [outer, inner] = [5, 6].map(|identity| whole(&shop, identity));
    let entry = shop.entry(outer.component[1], 0x40_0100, 7);
    let further = shop.entry(inner.component[1], 0x40_0100, 7);
    machine.must(outer.leaf[1], Operation::Copy, &[1, further]);
    let [client, time] = thread(&shop, first::COMPONENT, 1);
    machine.dispatch(client[1], time[1]);
    machine.call(entry, 0, [0; 5]);
    machine.call(1, 0, [0; 5]);
    machine.back_to_root();
    assert_eq!(machine.must_inspect(client[1], ThreadWord::Depth), 2);
    machine.must(outer.leaf[1], Operation::Remove, &[1]);
    for slot in [entry, further] {
        drop_slot(&machine, slot);
    }
    for server in [&outer, &inner] {
        drop_slot(&machine, server.component[1]);
        assert_eq!(reclaim(&machine, server.component[0]), Status::InUse);
    }
    machine.must(client[1], Operation::Retire, &[]);
    for server in [&outer, &inner] {
        assert_eq!(reclaim(&machine, server.component[0]), Status::Ok);
        destroy_tables(&machine, server);
    }
    destroy(&machine, client);
}

#[test]
fn with_several_cores_a_component_rests_twice() {
    const OTHER: u64 = 1;
    let machine = Machine::with_cores(2);
    let shop = Workshop::new(&machine);
    let page = [(); 4].map(|()| shop.page())[0];
    let slot = [(); 3].map(|()| shop.slots.next())[0];
    let words = [first::MEMORY, page, slot, first::COMPONENT, IMAGE];
    machine.must(first::CORES + OTHER, Operation::Prepare, &words);
    machine.must(first::CORES + OTHER, Operation::Start, &[]);
    machine.on_core(OTHER);
    machine.on_core(0);
    let server = whole(&shop, 5);
    // Only its own slot refers to it; the other core may have read it a moment ago.
    drop_slot(&machine, server.component[1]);
    let mut now = machine.now.get();
    let mut periods = 0;
    while reclaim(&machine, server.component[0]) == Status::Resting {
        let identity = [server.table[1], server.pages[1], first::identity(5)];
        let words: Vec<u64> = [shop.page(), shop.slots.next()]
            .into_iter()
            .chain(identity)
            .collect();
        let refused = machine.refused(first::MEMORY, Operation::MakeComponent, &words);
        assert_eq!(refused, Status::Occupied, "its identity is not given away");
        now += PERIOD;
        periods += 1;
        machine.on_core(OTHER);
        machine.tick(now);
        machine.on_core(0);
        machine.tick(now);
    }
    assert_eq!(periods, 2, "for who comes in, and for who was last inside");
    whole(&shop, 5);
}

#[test]
fn a_scheduler_gives_way_to_its_parent_and_its_place_to_another() {
    let machine = Machine::with_cores(1);
    let shop = Workshop::new(&machine);
    let [manager, time] = thread(&shop, first::COMPONENT, 1);
    for round in 0..2 * SCHEDULERS as u64 {
        let made = shop.scheduler([manager[1], first::COMPONENT, first::SCHEDULER]);
        let nested = [shop.last_page() - 1, made];
        let worker = make(&shop, Operation::MakeThread, &[first::COMPONENT, 0, 0]);
        machine.must(worker[1], Operation::Bind, &[nested[1], 3, time[1]]);
        let busy = machine.refused(nested[1], Operation::Retire, &[]);
        assert_eq!(busy, Status::InUse, "it has a thread, in round {round}");
        machine.must(worker[1], Operation::Retire, &[]);
        let early = reclaim(&machine, nested[0]);
        assert_eq!(early, Status::InUse, "it schedules");
        machine.must(nested[1], Operation::Retire, &[]);
        assert_eq!(
            machine.refused(nested[1], Operation::Fetch, &[]),
            Status::OtherCore
        );
        destroy(&machine, worker);
        destroy(&machine, nested);
        machine.dispatch(manager[1], time[1]);
        assert_eq!(machine.running().index().get(), 1, "under its parent");
        machine.back_to_root();
        shop.step_back([3, 2]);
    }
    machine.must(manager[1], Operation::Retire, &[]);
    destroy(&machine, manager);
}

#[test]
fn a_retired_schedulers_priorities_are_not_read_as_those_of_its_successor() {
    let machine = Machine::with_cores(1);
    let shop = Workshop::new(&machine);
    let [manager, time] = thread(&shop, first::COMPONENT, 1);
    let words = [manager[1], first::COMPONENT, first::SCHEDULER];
    let nested = shop.scheduler(words);
    // The nested scheduler's own thread makes time to which it gives a priority.
    machine.dispatch(manager[1], time[1]);
    let slice = make(&shop, Operation::MakeTime, &[time[1], ALL, 4]);
    machine.back_to_root();
    let owns = machine.refused(nested, Operation::Retire, &[]);
    assert_eq!(
        owns,
        Status::InUse,
        "it would be told of the end of that time"
    );
    let sink = shop.make(Operation::MakeTime, &[first::TIME, 0, 9]);
    machine.must(slice[1], Operation::Transfer, &[sink, ALL]);
    destroy(&machine, slice);
    machine.must(nested, Operation::Retire, &[]);
    let sink_at = machine.object_of(sink);
    let priority = || Time::new(sink_at, machine.frame(sink_at)).priority(1).get();
    assert_eq!(priority(), 4);
    let again = machine.object_of(shop.scheduler(words));
    let again = Scheduler::new(again, machine.frame(again));
    assert_eq!(again.place().get(), 1, "the place is not lost");
    machine.must(sink, Operation::SetPriority, &[9]);
    assert_eq!(priority(), LEAST);
}

#[test]
fn an_ignored_interrupt_refers_to_no_thread() {
    let machine = Machine::with_cores(1);
    let shop = Workshop::new(&machine);
    let [victim, time] = thread(&shop, first::COMPONENT, 1);
    let sender = shop.slots.next();
    machine.must(victim[1], Operation::Sender, &[sender]);
    for intid in [40, 41, 41] {
        machine.must(first::INTERRUPT, Operation::Listen, &[intid, sender]);
    }
    machine.must(first::INTERRUPT, Operation::Ignore, &[40]);
    let again = machine.refused(first::INTERRUPT, Operation::Ignore, &[40]);
    assert_eq!(again, Status::Nothing);
    machine.must(first::INTERRUPT, Operation::Listen, &[40, sender]);
    let more = machine.refused(victim[1], Operation::Retire, &[]);
    assert_eq!(more, Status::Resting, "one interrupt in a call");
    machine.must(victim[1], Operation::Retire, &[]);
    let retired = machine.refused(first::INTERRUPT, Operation::Ignore, &[41]);
    assert_eq!(retired, Status::Nothing);
    for slot in [sender, victim[1]] {
        drop_slot(&machine, slot);
    }
    assert_eq!(reclaim(&machine, victim[0]), Status::Ok);
    machine.interrupt(40);
    assert_eq!(machine.running().index().get(), 0);
    destroy(&machine, time);
}

#[test]
fn only_what_the_kernel_made_is_reclaimed() {
    let machine = Machine::with_cores(CORES);
    let shop = Workshop::new(&machine);
    let mapped = shop.page();
    let words = [300, first::MEMORY, mapped, 1];
    machine.must(first::PAGES[2], Operation::Map, &words);
    assert_eq!(reclaim(&machine, mapped), Status::WrongPage);
    let poll = machine.ask(first::RECEIVE, Operation::Receive, &[POLL]);
    assert_eq!(poll[0], Status::Nothing as u64);
    assert_eq!(
        machine.must(first::THREAD, Operation::Identify, &[]),
        Kind::Thread as u64
    );
}
