//! Time between schedulers: split, transferred, delegated, merged; and the right to set priorities

use super::{Machine, Workshop};
use crate::object::{Scheduler, Time};
use crate::slot::Slot;
use crate::{Hal, Ref};
use bulkhead_abi::kernel::{ALL, DELEGATES, LEAST, Operation, SLOTS, Status, first};

impl Machine {
    /// The root scheduler's own thread, which never leaves the first component.
    fn root(&self) -> Ref {
        let at = self.core().placed(0).reference();
        Scheduler::new(at, self.frame(at)).thread().reference()
    }

    /// Object behind a slot of the first leaf of the component that has the root's thread.
    fn behind(&self, slot: u64) -> Ref {
        assert!(slot < SLOTS);
        let component = self.kernel().thread(self.root()).component().reference();
        let root = self.frame(self.frame(component).word(0).reference());
        Slot::of(self.frame(root.word(0).reference()), slot).object()
    }

    fn time(&self, at: Ref) -> Time<'_> {
        Time::new(at, self.frame(at))
    }

    /// Priorities of the schedulers of places 0 to 2 in the time behind a slot.
    fn vector(&self, slot: u64) -> [u64; 3] {
        let time = self.time(self.behind(slot));
        [0, 1, 2].map(|place| time.priority(place).get())
    }
}

impl Workshop<'_> {
    /// A scheduler under the root, at `index`, on so much time; slots of its thread, its time, the sending
    /// and the receiving side of its thread.
    fn sibling(&self, index: u64, cycles: u64, priority: u64) -> [u64; 4] {
        let entry = [first::COMPONENT, 0x40_2000, 0x40_9000];
        let thread = self.make(Operation::MakeThread, &entry);
        let time = self.make(Operation::MakeTime, &[first::TIME, cycles, priority]);
        let words = [first::SCHEDULER, index, time];
        self.machine.must(thread, Operation::Bind, &words);
        self.scheduler([thread, first::COMPONENT, first::SCHEDULER]);
        let [sender, receive] = [self.slots.next(), self.slots.next()];
        self.machine
            .must(thread, Operation::Sender, &[sender, DELEGATES]);
        self.machine.must(thread, Operation::Receiver, &[receive]);
        [thread, time, sender, receive]
    }

    /// Has a sibling's own thread act; the root's goes on afterwards.
    fn act_as(&self, [thread, time, ..]: [u64; 4], act: impl FnOnce()) {
        let machine = self.machine;
        machine.dispatch(thread, time);
        assert_ne!(machine.running().at(), machine.root());
        act();
        machine.back_to_root();
    }
}

#[test]
fn every_scheduler_with_a_hand_in_the_running_time_must_agree() {
    for (agrees, runs) in [(LEAST, 2), (6, 2), (5, 1), (4, 1)] {
        let machine = Machine::booted();
        let shop = Workshop::new(&machine);
        let sibling = shop.sibling(9, ALL, 30);
        let [_, urgent, notify] = shop.waiting(1, 10);
        let [low, low_time, _] = shop.thread(first::COMPONENT, 2, 20);
        shop.act_as(sibling, || {
            machine.must(low_time, Operation::SetPriority, &[5]);
            machine.must(urgent, Operation::SetPriority, &[agrees]);
        });
        assert_eq!(machine.vector(low_time), [20, 5, LEAST]);
        machine.dispatch(low, low_time);
        machine.ask(notify, Operation::Send, &[]);
        assert_eq!(machine.running().index().get(), runs, "{agrees} beside 5");
    }
}

#[test]
fn where_time_meets_the_weaker_of_both_stays_for_each_scheduler() {
    for [a, b] in [0, 7, LEAST]
        .into_iter()
        .flat_map(|a| [0, 7, LEAST].map(|b| [a, b]))
    {
        let machine = Machine::booted();
        let shop = Workshop::new(&machine);
        let siblings = [shop.sibling(8, ALL, 3), shop.sibling(9, ALL, 3)];
        let from = shop.make(Operation::MakeTime, &[first::TIME, 1000, 4]);
        let into = shop.make(Operation::MakeTime, &[first::TIME, 50, 2]);
        shop.act_as(siblings[0], || {
            machine.must(from, Operation::SetPriority, &[a]);
            machine.must(into, Operation::SetPriority, &[b]);
        });
        shop.act_as(siblings[1], || {
            machine.must(from, Operation::SetPriority, &[9]);
        });
        // Split: what the giver says of its time holds of the part; its own scheduler says anew.
        let part = shop.make(Operation::MakeTime, &[from, 100, 1]);
        assert_eq!(machine.vector(part), [1, a, 9]);
        machine.must(from, Operation::Transfer, &[into, 200]);
        assert_eq!(
            machine.vector(into),
            [4, a.max(b), LEAST],
            "{a:x} and {b:x}"
        );
        assert_eq!(machine.vector(from), [4, a, 9], "the giver's stays");
        let budgets = [from, into, part].map(|time| machine.must(time, Operation::Budget, &[]));
        assert_eq!(budgets, [700, 250, 100]);
    }
}

#[test]
fn merged_time_is_one_and_its_page_another() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let one = shop.make(Operation::MakeTime, &[first::TIME, 300, 4]);
    let other = shop.make(Operation::MakeTime, &[first::TIME, 50, 6]);
    let page = shop.last_page();
    assert_eq!(machine.must(other, Operation::Transfer, &[one, ALL]), 50);
    assert_eq!(machine.must(one, Operation::Budget, &[]), 350);
    assert_eq!(machine.vector(one), [6, LEAST, LEAST]);
    machine.must(first::LEAF, Operation::Remove, &[other]);
    machine.must(first::MEMORY, Operation::Reclaim, &[page]);
    let again = [page, shop.slots.next(), 1];
    machine.must(first::MEMORY, Operation::MakeTable, &again);
}

#[test]
fn delegated_time_runs_at_once_if_its_priority_says_so() {
    for (priority, runs) in [(0, true), (1, false)] {
        let machine = Machine::booted();
        let shop = Workshop::new(&machine);
        let sibling = shop.sibling(9, 40, 7);
        let [_, time, sender, receive] = sibling;
        shop.act_as(sibling, || {
            machine.now.set(machine.now.get() + 40);
            machine.ask(receive, Operation::Receive, &[0]);
        });
        assert_eq!(machine.must(time, Operation::Budget, &[]), 0);
        machine.must(
            first::TIME,
            Operation::Delegate,
            &[sender, 100, priority, 0],
        );
        assert_eq!(machine.running().at(), machine.root(), "not asked to");
        machine.ask(first::TIME, Operation::Delegate, &[sender, 60, priority, 1]);
        assert_eq!(machine.running().at() != machine.root(), runs, "{priority}");
        assert_eq!(machine.vector(time), [priority, LEAST, LEAST]);
        assert_eq!(machine.time(machine.behind(time)).budget().get(), 160);
        if runs {
            assert_eq!(machine.answer(), [0, 1], "it was notified");
            assert_eq!(machine.processor().timer.get(), machine.now.get() + 160);
        }
    }
}

#[test]
fn siblings_hand_each_other_time_by_capabilities_alone() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [giver, taker] = [shop.sibling(8, 1000, 3), shop.sibling(9, 10, 6)];
    shop.act_as(taker, || {});
    shop.act_as(giver, || {
        let words = [taker[2], 300, 4, 0];
        machine.must(giver[1], Operation::Delegate, &words);
        let too_much = machine.refused(giver[1], Operation::Delegate, &[taker[2], 701, 4, 0]);
        assert_eq!(too_much, Status::NoTime);
    });
    let budgets = [giver, taker].map(|one| machine.must(one[1], Operation::Budget, &[]));
    assert_eq!(budgets, [700, 310]);
    assert_eq!(
        machine.vector(taker[1]),
        [6, LEAST, LEAST],
        "10 cycles of it are nobody's but the root's"
    );
    shop.act_as(taker, || {
        machine.must(taker[1], Operation::Transfer, &[first::TIME, 310]);
    });
    shop.act_as(giver, || {
        machine.must(giver[1], Operation::Delegate, &[taker[2], 300, 4, 0]);
    });
    assert_eq!(
        machine.vector(taker[1]),
        [3, 4, LEAST],
        "of the giver's alone"
    );
}

#[test]
fn time_that_is_refilled_is_as_important_as_its_scheduler_said() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let used_up = shop.make(Operation::MakeTime, &[first::TIME, 0, 7]);
    assert_eq!(machine.vector(used_up), [7, LEAST, LEAST]);
    machine.must(first::TIME, Operation::Transfer, &[used_up, 100]);
    assert_eq!(machine.vector(used_up), [7, LEAST, LEAST]);
    machine.must(used_up, Operation::Transfer, &[first::TIME, ALL]);
    machine.must(used_up, Operation::SetPriority, &[2]);
    let less = shop.make(Operation::MakeTime, &[first::TIME, 100, 5]);
    machine.must(less, Operation::Transfer, &[used_up, 50]);
    assert_eq!(
        machine.vector(used_up),
        [5, LEAST, LEAST],
        "nor more than what comes"
    );
}

/// A thread under a scheduler in another component has time by capability; only the scheduler raises its priority.
#[test]
fn threads_outside_a_schedulers_component_only_weaken_its_priorities() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [client, leaf] = shop.component(2);
    let [thread, time, _] = shop.thread(client, 1, 20);
    let given = shop.make(Operation::MakeTime, &[first::TIME, 1000, 20]);
    for (place, from) in [(1, given), (2, first::MEMORY), (3, time)] {
        let words = [place, from, shop.page(), 1];
        machine.must(leaf, Operation::Copy, &words);
    }
    let leaf = machine.behind(leaf);
    machine.dispatch(thread, time);
    for (requested, kept) in [(0, 20), (30, 30), (25, 30)] {
        machine.must(1, Operation::SetPriority, &[requested]);
        assert_eq!(machine.vector(given)[0], kept, "{requested}");
    }
    let words = [0, 4, 1, 100, 0];
    machine.must(2, Operation::MakeTime, &words);
    let part = machine.time(Slot::of(machine.frame(leaf), 4).object());
    assert_eq!(part.priority(0).get(), 30, "nor of a part of it");
}
