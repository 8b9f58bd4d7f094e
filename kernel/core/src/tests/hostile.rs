//! Attacks on schedulers and time, one by one

extern crate std;

use super::{GRANTS, Machine, Workshop};
use crate::Hal;
use crate::object::{Scheduler, Time};
use bulkhead_abi::kernel::{
    ALL, CALLER_DEPTH_SHIFT, DELEGATES, IMAGE, KEEP, LEAST, NESTING, Operation, SAME_TIME,
    SCHEDULERS, Status, WAIT, first, funds,
};

/// Entry of servers.
const ENTRY: u64 = 0x40_0100;

impl Workshop<'_> {
    /// A thread of `component` under the root at `index`, on so much time: its slot and its time's.
    pub(super) fn limited(&self, component: u64, index: u64, cycles: u64) -> [u64; 2] {
        let thread = self.make(Operation::MakeThread, &[component, 0x40_1000, 0x40_8000]);
        let time = self.make(Operation::MakeTime, &[first::TIME, cycles, 9]);
        let words = [first::SCHEDULER, index, time];
        self.machine.must(thread, Operation::Bind, &words);
        [thread, time]
    }

    /// A scheduler of the first component under the root, at `index`: slots of its thread, its time and itself.
    pub(super) fn nested(&self, index: u64, cycles: u64) -> [u64; 3] {
        let [thread, time] = self.limited(first::COMPONENT, index, cycles);
        let words = [thread, first::COMPONENT, first::SCHEDULER];
        [thread, time, self.scheduler(words)]
    }

    /// Makes an attempt at a scheduler of `thread`, of `component`, under `parent`.
    pub(super) fn attempt(&self, [thread, component, parent]: [u64; 3]) -> Status {
        let words = [self.page(), self.slots.next(), thread, component, parent];
        let _scb = self.page();
        self.machine
            .refused(first::MEMORY, Operation::MakeScheduler, &words)
    }
}

impl Machine {
    pub(super) fn root_is_current(&self) -> bool {
        let at = self.core().placed(0).reference();
        Scheduler::new(at, self.frame(at)).thread().reference() == self.running().at()
    }

    /// The timer interrupts as long as its deadline has passed.
    pub(super) fn fire_timer(&self) {
        while self.processor().timer.get() <= self.now.get() {
            self.tick(self.now.get());
        }
    }

    /// Lets the clock go on to the timer's deadline, which interrupts.
    pub(super) fn until_timer(&self) {
        let deadline = self.processor().timer.get();
        assert_ne!(deadline, u64::MAX, "no timer is armed");
        self.tick(self.now.get().max(deadline));
    }
}

#[test]
fn a_thread_without_a_scheduler_is_made_none() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let unbound = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
    let words = [unbound, first::COMPONENT, first::SCHEDULER];
    assert_eq!(shop.attempt(words), Status::NotReady);
    let words = [first::SCHEDULER, 5, first::TIME];
    machine.must(unbound, Operation::Bind, &words);
    shop.scheduler([unbound, first::COMPONENT, first::SCHEDULER]);
}

#[test]
fn a_scheduler_is_made_only_of_a_thread_at_home_in_a_component_that_the_maker_has() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [server, leaf] = shop.component(2);
    let entry = shop.entry(server, ENTRY, 0);
    let [client, time] = shop.limited(first::COMPONENT, 1, ALL);
    // The server is on the client's thread, of which it even has the capability.
    for (place, from) in (1..).zip([client, server, first::SCHEDULER]) {
        machine.must(leaf, Operation::Copy, &[place, from]);
    }
    let words = [9, first::MEMORY, 60, 4];
    machine.must(leaf, Operation::Copy, &words);
    machine.dispatch(client, time);
    machine.call(entry, 0, [0; 5]);
    let words = [0, 10, 1, 2, 3];
    let inside = machine.refused(9, Operation::MakeScheduler, &words);
    assert_eq!(inside, Status::NotReady);
    machine.call(0, 0, [0; 5]);
    machine.back_to_root();
    // A thread of another component: its capability is not that of the component.
    let [elsewhere, _] = shop.limited(server, 2, ALL);
    let words = [elsewhere, first::COMPONENT, first::SCHEDULER];
    assert_eq!(shop.attempt(words), Status::BadArgument);
    let words = [elsewhere, first::SCHEDULER, first::SCHEDULER];
    assert_eq!(shop.attempt(words), Status::NoCapability);
    // Nor is another scheduler the one that it is under.
    let [_, _, nested] = shop.nested(3, ALL);
    let words = [elsewhere, server, nested];
    assert_eq!(shop.attempt(words), Status::Foreign);
    shop.scheduler([elsewhere, server, first::SCHEDULER]);
}

#[test]
fn a_server_on_a_clients_thread_decides_nothing_for_the_clients_scheduler() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [server, leaf] = shop.component(2);
    let entry = shop.entry(server, ENTRY, 0);
    let [other, _] = shop.limited(server, 2, ALL);
    machine.must(leaf, Operation::Copy, &[1, other]);
    let [client, time] = shop.limited(first::COMPONENT, 1, ALL);
    let epoch = machine.epoch();
    machine.must(first::THREAD, Operation::Identify, &[]);
    machine.ask(client, Operation::Dispatch, &[time, 5000, epoch]);
    machine.call(entry, 0, [0; 5]);
    for guess in 0..8 {
        let words = [SAME_TIME, u64::MAX, guess];
        let refused = machine.refused(1, Operation::Dispatch, &words);
        assert_eq!(refused, Status::Foreign);
    }
    assert_eq!(machine.processor().timer.get(), 5000);
    machine.until_timer();
    assert!(machine.root_is_current());
}

#[test]
fn a_scheduler_dispatches_only_what_is_under_it() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [scheduler_thread, time, nested] = shop.nested(1, ALL);
    let [sibling, ..] = shop.nested(2, ALL);
    let [brother, _] = shop.limited(first::COMPONENT, 3, ALL);
    let below = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
    machine.must(below, Operation::Bind, &[nested, 1, time]);
    let epoch = machine.epoch();
    machine.ask(scheduler_thread, Operation::Dispatch, &[time, 5000, epoch]);
    for foreign in [sibling, brother, first::THREAD] {
        let words = [SAME_TIME, u64::MAX, machine.epoch()];
        let refused = machine.refused(foreign, Operation::Dispatch, &words);
        assert_eq!(refused, Status::Foreign);
    }
    machine.dispatch(below, SAME_TIME);
    assert_eq!(machine.running().index().get(), 1);
    assert_eq!(machine.processor().timer.get(), 5000);
    machine.until_timer();
    assert!(machine.root_is_current());
    machine.dispatch(below, SAME_TIME);
    assert_eq!(machine.running().index().get(), 1, "from further above");
}

#[test]
fn numbers_that_servers_see_are_unique_on_their_core() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [server, _] = shop.component(2);
    let entry = shop.entry(server, ENTRY, 0);
    let [_, _, one] = shop.nested(7, ALL);
    let [_, _, two] = shop.nested(8, ALL);
    let mut seen = [0; 3];
    for (scheduler, seen) in [first::SCHEDULER, one, two].into_iter().zip(&mut seen) {
        let thread = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
        let words = [scheduler, 5, first::TIME];
        machine.must(thread, Operation::Bind, &words);
        machine.dispatch(thread, SAME_TIME);
        machine.call(entry, 0, [0; 5]);
        *seen = machine.running().message(6).get();
        machine.back_to_root();
    }
    let at_depth = |number: u64| number | 1 << CALLER_DEPTH_SHIFT;
    assert_eq!(seen, [5, 128 + 5, 256 + 5].map(at_depth));
}

#[test]
fn no_time_at_all_weakens_nothing() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [thread, time, _] = shop.waiting(1, 3);
    let sender = shop.slots.next();
    machine.must(thread, Operation::Sender, &[sender, DELEGATES]);
    let weak = shop.make(Operation::MakeTime, &[first::TIME, 0, LEAST]);
    let at = machine.object_of(time);
    let vector = || Time::new(at, machine.frame(at)).priority(0).get();
    assert_eq!(vector(), 3);
    machine.must(first::TIME, Operation::Delegate, &[sender, 0, LEAST, 0]);
    assert_eq!(vector(), 3);
    machine.must(weak, Operation::Delegate, &[sender, ALL, LEAST, 0]);
    machine.must(weak, Operation::Transfer, &[time, 0]);
    machine.must(weak, Operation::Transfer, &[time, ALL]);
    assert_eq!(vector(), 3);
}

#[test]
fn the_right_to_notify_changes_no_time() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [_, time, sender] = shop.waiting(1, 3);
    let weak = shop.make(Operation::MakeTime, &[first::TIME, 1, LEAST]);
    let at = machine.object_of(time);
    let vector = || Time::new(at, machine.frame(at)).priority(0).get();
    // Neither time in use nor time that is used up, which its scheduler refills later.
    for budget in [ALL, 0] {
        Time::new(at, machine.frame(at)).budget().set(budget);
        let words = [sender, 1, LEAST, 1];
        let refused = machine.refused(weak, Operation::Delegate, &words);
        assert_eq!(refused, Status::NoCapability);
        assert_eq!(machine.must(time, Operation::Budget, &[]), budget);
        assert_eq!(vector(), 3);
    }
    // Nor does a copy of the capability.
    let copied = shop.slots.next();
    machine.must(first::LEAF, Operation::Copy, &[copied, sender]);
    machine.refused(weak, Operation::Delegate, &[copied, 1, LEAST, 1]);
}

#[test]
fn budget_that_is_given_away_no_longer_runs() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [thread, time, _] = shop.nested(1, 1000);
    let sink = shop.make(Operation::MakeTime, &[first::TIME, 0, 9]);
    machine.dispatch(thread, time);
    let began = machine.now.get();
    assert_eq!(machine.processor().timer.get(), began + 1000);
    machine.must(time, Operation::Transfer, &[sink, 600]);
    assert_eq!(machine.processor().timer.get(), began + 400);
    machine.must(time, Operation::Transfer, &[sink, ALL]);
    assert_eq!(machine.processor().timer.get(), began, "it ends at once");
    machine.until_timer();
    assert!(machine.root_is_current());
    machine.dispatch(thread, sink);
    let part = shop.slots.next();
    let words = [shop.page(), part, sink, ALL, 9];
    machine.must(first::MEMORY, Operation::MakeTime, &words);
    machine.until_timer();
    assert!(machine.root_is_current());
    assert_eq!(machine.now.get(), began, "nobody has run");
}

#[test]
fn a_server_on_a_clients_thread_moves_no_time_by_dispatch() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [server, leaf] = shop.component(2);
    let entry = shop.entry(server, ENTRY, 0);
    let [client, time] = shop.limited(first::COMPONENT, 1, 1000);
    let sink = shop.make(Operation::MakeTime, &[first::TIME, 0, 9]);
    // The server has the capabilities, but is not the scheduler.
    for (place, from) in [(1, client), (2, time), (3, sink)] {
        machine.must(leaf, Operation::Copy, &[place, from]);
    }
    machine.dispatch(client, time);
    machine.call(entry, 0, [0; 5]);
    let rest = machine.must(2, Operation::Budget, &[]);
    for words in [[2, KEEP, 0, 5, funds(3, 2)], [3, KEEP, 0, 5, funds(2, 0)]] {
        let [time, timeout, _, cycles, funds] = words;
        let words = [time, timeout, machine.epoch(), cycles, funds];
        let refused = machine.refused(1, Operation::Dispatch, &words);
        assert_eq!(refused, Status::Foreign);
    }
    assert_eq!(machine.must(2, Operation::Budget, &[]), rest);
    assert_eq!(machine.must(3, Operation::Budget, &[]), 0);
}

#[test]
fn a_dispatch_that_is_refused_moves_no_time() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [thread, former] = shop.limited(first::COMPONENT, 1, 1000);
    let next = shop.make(Operation::MakeTime, &[first::TIME, 0, 9]);
    let [waiting, ..] = shop.waiting(2, 9);
    let (epoch, all) = (machine.epoch(), funds(first::TIME, former));
    let refusals = [
        (thread, [next, ALL, epoch + 1, 300, all], Status::Stale),
        (waiting, [next, ALL, epoch, 300, all], Status::NotReady),
        (
            thread,
            [first::THREAD, ALL, epoch, 300, all],
            Status::NoCapability,
        ),
        (
            thread,
            [next, ALL, epoch, 300, funds(first::TIME, thread)],
            Status::NoCapability,
        ),
        (
            thread,
            [next, ALL, epoch, 300, funds(first::THREAD, former)],
            Status::NoCapability,
        ),
        (thread, [next, ALL, epoch, ALL, all], Status::BadArgument),
    ];
    for (thread, words, status) in refusals {
        assert_eq!(machine.refused(thread, Operation::Dispatch, &words), status);
        assert_eq!(machine.must(former, Operation::Budget, &[]), 1000);
        assert_eq!(machine.must(next, Operation::Budget, &[]), 0);
        assert_eq!(machine.scb(GRANTS).get(), 0, "none is counted");
        assert!(machine.root_is_current());
    }
}

#[test]
fn a_nested_scheduler_grants_nothing_by_dispatch_from_time_that_ends() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [parent, time, nested] = shop.nested(1, 1000);
    let below = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
    machine.must(below, Operation::Bind, &[nested, 1, time]);
    let part = shop.make(Operation::MakeTime, &[time, 0, 9]);
    machine.dispatch(parent, time);
    let words = [part, KEEP, machine.epoch(), 5, funds(time, 0)];
    let refused = machine.refused(below, Operation::Dispatch, &words);
    assert_eq!(refused, Status::NoTime);
    assert_eq!(machine.must(part, Operation::Budget, &[]), 0);
}

/// Runs a nested scheduler on 20,000 cycles, which at each turn does something; how long it had the core. Each
/// reading of the clock takes 7 cycles, each call and each interrupt at least one reading.
fn held(turn: impl Fn(&Machine, [u64; 5])) -> u64 {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [scheduler_thread, time, nested] = shop.nested(1, 20_000);
    let below = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
    machine.must(below, Operation::Bind, &[nested, 1, time]);
    machine.dispatch(scheduler_thread, time);
    let part = shop.slots.next();
    let words = [shop.page(), part, time, 1, 9];
    machine.must(first::MEMORY, Operation::MakeTime, &words);
    machine.step.set(7);
    let began = machine.now.get();
    while !machine.root_is_current() {
        turn(&machine, [below, time, part, scheduler_thread, nested]);
        machine.fire_timer();
        assert!(machine.now.get() - began < 1_000_000, "it never ends");
    }
    machine.now.get() - began
}

/// Of the kernel's work for the calls of a budget's threads at most this is not charged to the budget.
const SLACK: u64 = 200;

#[test]
fn time_outs_that_are_past_give_no_time_beyond_the_budget() {
    let held = held(|machine, [below, ..]| {
        let past = machine.now.get() - 1;
        let words = [SAME_TIME, past, machine.epoch()];
        machine.ask(below, Operation::Dispatch, &words);
    });
    assert!(held <= 20_000 + SLACK, "{held}");
}

#[test]
fn slices_shorter_than_a_path_of_the_kernel_give_no_time_beyond_the_budget() {
    let held = held(|machine, [below, time, part, ..]| {
        machine.ask(time, Operation::Transfer, &[part, 1]);
        let words = [part, u64::MAX, machine.epoch()];
        machine.ask(below, Operation::Dispatch, &words);
    });
    assert!(held <= 20_000 + SLACK, "{held}");
}

#[test]
fn budget_that_goes_to_and_fro_gives_no_time_beyond_itself() {
    let held = held(|machine, [_, time, part, ..]| {
        machine.ask(time, Operation::Transfer, &[part, 500]);
        machine.fire_timer();
        if !machine.root_is_current() {
            machine.ask(part, Operation::Transfer, &[time, ALL]);
        }
    });
    assert!(held <= 20_000 + SLACK, "{held}");
}

#[test]
fn a_core_that_the_monitor_refuses_is_not_waited_for_and_starts_later() {
    let machine = Machine::with_cores(2);
    let shop = Workshop::new(&machine);
    let page = [(); 4].map(|()| shop.page())[0];
    let slot = [(); 3].map(|()| shop.slots.next())[0];
    let core = first::CORES + 1;
    let words = [first::MEMORY, page, slot, first::COMPONENT, IMAGE];
    machine.must(core, Operation::Prepare, &words);
    machine.refuses.set(true);
    let refused = machine.refused(core, Operation::Start, &[]);
    assert_eq!(refused, Status::Refused);
    let made = shop.make(Operation::MakeTable, &[1]);
    let reclaimed = shop.last_page();
    machine.must(first::LEAF, Operation::Remove, &[made]);
    machine.must(first::MEMORY, Operation::Reclaim, &[reclaimed]);
    machine.must(first::MEMORY, Operation::Reclaim, &[reclaimed]);
    let words = [reclaimed, shop.slots.next(), 1];
    machine.must(first::MEMORY, Operation::MakeTable, &words);
    machine.refuses.set(false);
    machine.must(core, Operation::Start, &[]);
    machine.on_core(1);
}

#[test]
fn schedulers_are_nested_only_so_deep() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [_, time, mut parent] = shop.nested(1, ALL);
    let deepest = NESTING as u64 - 2;
    machine.must(first::SCHEDULER, Operation::Grant, &[parent, deepest + 1]);
    for places in (1..=deepest).rev() {
        let below = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
        machine.must(below, Operation::Bind, &[parent, 1, time]);
        let nested = shop.scheduler([below, first::COMPONENT, parent]);
        machine.must(parent, Operation::Grant, &[nested, places]);
        parent = nested;
    }
    let below = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
    machine.must(below, Operation::Bind, &[parent, 1, time]);
    let words = [below, first::COMPONENT, parent];
    assert_eq!(shop.attempt(words), Status::Exhausted, "beside its quota");
}

#[test]
fn a_place_left_by_another_is_never_taken_from_the_root() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    for index in 1..SCHEDULERS as u64 {
        let [thread, _] = shop.limited(first::COMPONENT, index, 1);
        shop.scheduler([thread, first::COMPONENT, first::SCHEDULER]);
    }
    let [thread, _] = shop.limited(first::COMPONENT, 100, 1);
    let words = [thread, first::COMPONENT, first::SCHEDULER];
    assert_eq!(shop.attempt(words), Status::Exhausted);
}

#[test]
fn identities_are_a_capability() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let narrow = shop.slots.next();
    let words = [narrow, first::IDENTITIES, 100, 3];
    machine.must(first::LEAF, Operation::Copy, &words);
    for (first, count) in [(99, 1), (103, 1), (100, 4), (100, 0), (u64::MAX, 2)] {
        let words = [shop.slots.next(), narrow, first, count];
        let refused = machine.refused(first::LEAF, Operation::Copy, &words);
        assert_eq!(refused, Status::BadArgument);
    }
    let table = shop.make(Operation::MakeTable, &[0]);
    let pages = shop.make(Operation::MakePages, &[1]);
    for (identity, made) in [(99, false), (100, true), (102, true), (103, false)] {
        let named = narrow << 32 | identity;
        let words = [shop.page(), shop.slots.next(), table, pages, named];
        let [status, _] = machine.ask(first::MEMORY, Operation::MakeComponent, &words);
        assert_eq!(status == 0, made, "{identity}");
    }
}

#[test]
fn a_server_makes_no_time_that_the_clients_scheduler_owns() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [server, leaf] = shop.component(2);
    let entry = shop.entry(server, ENTRY, 0);
    let [_, time, nested] = shop.nested(1, ALL);
    let client = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
    machine.must(client, Operation::Bind, &[nested, 1, time]);
    let given = shop.make(Operation::MakeTime, &[first::TIME, 1000, 20]);
    for (place, from) in [(1, given), (2, first::MEMORY)] {
        let words = [place, from, shop.page(), 1];
        machine.must(leaf, Operation::Copy, &words);
    }
    machine.dispatch(client, time);
    machine.call(entry, 0, [0; 5]);
    machine.must(2, Operation::MakeTime, &[0, 4, 1, 100, 0]);
    machine.back_to_root();
    machine.must(client, Operation::Retire, &[]);
    machine.must(nested, Operation::Retire, &[]);
}

#[test]
fn the_end_of_anothers_time_does_not_hand_it_the_core() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [other, others_time, _] = shop.nested(1, ALL);
    let [scheduler_thread, time, nested] = shop.nested(2, ALL);
    let below = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
    machine.must(below, Operation::Bind, &[nested, 1, time]);
    machine.dispatch(other, others_time);
    let lent = shop.make(Operation::MakeTime, &[others_time, 50, 1]);
    machine.back_to_root();
    let epoch = machine.epoch();
    machine.ask(scheduler_thread, Operation::Dispatch, &[time, 9000, epoch]);
    machine.dispatch(below, lent);
    machine.until_timer();
    let scheduler = machine.running().scheduler().reference();
    assert_eq!(scheduler, machine.object_of(nested));
    assert_eq!(machine.processor().timer.get(), 9000, "and no longer than");
}

#[test]
fn time_of_others_that_is_used_up_costs_them_nothing() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [other, others_time, _] = shop.nested(1, 10_000);
    let [scheduler_thread, time, nested] = shop.nested(2, 50_000);
    let below = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
    machine.must(below, Operation::Bind, &[nested, 1, time]);
    machine.dispatch(other, others_time);
    let lent = shop.make(Operation::MakeTime, &[others_time, 1, 1]);
    machine.back_to_root();
    let before = machine.must(others_time, Operation::Budget, &[]);
    machine.step.set(7);
    machine.dispatch(scheduler_thread, time);
    for _ in 0..100 {
        machine.dispatch(below, lent);
        machine.fire_timer();
    }
    machine.step.set(0);
    machine.back_to_root();
    let after = machine.must(others_time, Operation::Budget, &[]);
    assert_eq!(after, before);
}

#[test]
fn a_notification_does_not_bring_its_scheduler_the_core() {
    for (priority, gets) in [(50, false), (5, true)] {
        let machine = Machine::booted();
        let shop = Workshop::new(&machine);
        // A scheduler of that importance with an urgent thread that waits.
        let [scheduler_thread, time, nested] = shop.nested(1, ALL);
        machine.must(time, Operation::SetPriority, &[priority]);
        let urgent = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
        let urgently = shop.make(Operation::MakeTime, &[first::TIME, ALL, 1]);
        machine.must(urgent, Operation::Bind, &[nested, 1, urgently]);
        let [sender, receive] = [shop.slots.next(), shop.slots.next()];
        machine.must(urgent, Operation::Sender, &[sender]);
        machine.must(urgent, Operation::Receiver, &[receive]);
        machine.dispatch(scheduler_thread, time);
        machine.dispatch(urgent, SAME_TIME);
        machine.ask(receive, Operation::Receive, &[WAIT]);
        machine.back_to_root();
        let [victim, victims] = shop.limited(first::COMPONENT, 2, ALL);
        machine.must(victims, Operation::SetPriority, &[20]);
        machine.dispatch(victim, victims);
        let preempted = machine.running().at();
        machine.ask(sender, Operation::Send, &[]);
        assert_ne!(machine.running().at(), preempted);
        machine.ask(receive, Operation::Receive, &[WAIT]);
        assert_eq!(machine.running().at() != preempted, gets, "{priority}");
    }
}

#[test]
fn of_time_outs_that_have_come_the_outermost_counts() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [scheduler_thread, time, nested] = shop.nested(1, ALL);
    let below = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
    machine.must(below, Operation::Bind, &[nested, 1, time]);
    let epoch = machine.epoch();
    machine.ask(scheduler_thread, Operation::Dispatch, &[time, 5000, epoch]);
    let words = [time, 4900, machine.epoch()];
    machine.ask(below, Operation::Dispatch, &words);
    machine.tick(5000);
    assert!(machine.root_is_current());
}
