//! Dispatch, user-level switches, budgets, hierarchy

use super::{BUDGET, GRANTS};
use super::{Machine, Workshop};
use crate::object::READY;
use bulkhead_abi::dispatch::{EventKind, NOT_IN_FORCE, Scb};
use bulkhead_abi::kernel::{ALL, DELEGATES, KEEP, Operation, SAME_TIME, Status, first, funds};

/// First word of the block of thread `index`.
const fn block(index: u64) -> u64 {
    size_of::<Scb>() as u64 / 8 + 2 * index
}

#[test]
fn a_stale_decision_is_refused() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [thread, time, _] = shop.thread(first::COMPONENT, 1, 5);
    let stale = machine.epoch() + 1;
    let refused = machine.refused(thread, Operation::Dispatch, &[time, ALL, stale]);
    assert_eq!(refused, Status::Stale);
    assert_eq!(machine.running().index().get(), 0);
}

#[test]
fn the_kernel_follows_a_switch_in_user_mode_and_resumes_from_the_block() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [thread, ..] = shop.thread(first::COMPONENT, 1, 5);
    let scheduler = machine.running();
    // S1, S2 and S5 of the switch from 0 to 1.
    machine.scb(block(0)).set(0x40_0200);
    machine.scb(block(0) + 1).set(0x40_7000);
    machine.scb(0).set(1);
    machine.processor().context.set([0x40_0300, 0x40_6000]);
    assert_eq!(machine.ask(first::TIME, Operation::Budget, &[]), [0, ALL]);
    assert_eq!(machine.running().index().get(), 1, "the call is thread 1's");
    assert_ne!(scheduler.message(1).get(), ALL, "and so is its answer");
    machine.dispatch(first::THREAD, SAME_TIME);
    assert_eq!(machine.running().index().get(), 0);
    assert_eq!(machine.processor().context.get(), [0x40_0208, 0x40_7000]);
    assert_eq!(machine.scb(block(0) + 1).get(), 0, "invariant 4");
    assert_eq!(machine.scb(0).get(), 0);
    machine.dispatch(thread, SAME_TIME);
    assert_eq!(machine.processor().context.get(), [0x40_0300, 0x40_6000]);
}

#[test]
fn a_hostile_scheduler_gets_no_thread_that_is_elsewhere() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [server, _] = shop.component(2);
    let [elsewhere, time, _] = shop.thread(server, 1, 5);
    let [waiting, _, _] = shop.waiting(2, 5);
    let _not_dispatchable = waiting;
    for claimed in [1, 2, 3, 127, 128, u64::MAX] {
        machine.scb(0).set(claimed);
        machine.ask(first::TIME, Operation::Budget, &[]);
        assert_eq!(machine.running().index().get(), 0, "claimed {claimed}");
        assert_eq!(machine.scb(0).get(), 0, "put right");
    }
    // A block filled for a thread elsewhere is not used either.
    machine.scb(block(1)).set(0xbad);
    machine.scb(block(1) + 1).set(0xbad0);
    machine.dispatch(elsewhere, time);
    assert_eq!(machine.processor().context.get(), [0x40_1000, 0x40_8000]);
    // Nor is what the SCB says while the current thread is elsewhere.
    machine.core_claims(2);
    machine.fault(1);
    assert_eq!(machine.event(), Some((1, EventKind::Faulted as u64)));
}

impl Machine {
    fn core_claims(&self, index: u64) {
        self.scb(0).set(index);
    }
}

#[test]
fn the_end_of_a_budget_activates_the_scheduler() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [thread, ..] = shop.thread(first::COMPONENT, 1, 5);
    let slice = shop.make(Operation::MakeTime, &[first::TIME, 500, 5]);
    machine.dispatch(thread, slice);
    assert_eq!(machine.processor().timer.get(), 1500);
    machine.tick(1300);
    assert_eq!(machine.running().index().get(), 1, "not yet");
    machine.tick(1500);
    assert_eq!(machine.running().index().get(), 0);
    assert_eq!(machine.event(), Some((1, EventKind::Expired as u64)));
    assert_eq!(machine.must(slice, Operation::Budget, &[]), 0);
    machine.dispatch(thread, slice);
    assert_eq!(machine.running().index().get(), 0, "no time, no run");
}

#[test]
fn a_time_out_activates_the_scheduler_that_set_it() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [thread, time, _] = shop.thread(first::COMPONENT, 1, 5);
    let epoch = machine.epoch();
    machine.ask(thread, Operation::Dispatch, &[time, 2000, epoch]);
    assert_eq!(machine.processor().timer.get(), 2000);
    machine.tick(2000);
    assert_eq!(machine.running().index().get(), 0);
    assert_eq!(machine.epoch(), epoch + 1);
    assert_eq!(machine.must(thread, Operation::Inspect, &[5]), READY);
}

#[test]
fn every_cycle_is_charged_and_moved_budget_is_conserved() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [thread, ..] = shop.thread(first::COMPONENT, 1, 5);
    let slice = shop.make(Operation::MakeTime, &[first::TIME, 1000, 5]);
    let other = shop.make(Operation::MakeTime, &[slice, 300, 6]);
    assert_eq!(machine.must(slice, Operation::Budget, &[]), 700);
    machine.must(other, Operation::Transfer, &[slice, 100]);
    let too_much = machine.refused(other, Operation::Transfer, &[slice, 201]);
    assert_eq!(too_much, Status::NoTime);
    machine.dispatch(thread, slice);
    machine.now.set(machine.now.get() + 250);
    assert_eq!(machine.must(slice, Operation::Budget, &[]), 550);
    assert_eq!(machine.must(other, Operation::Budget, &[]), 200);
    assert_eq!(machine.must(thread, Operation::Inspect, &[0]), 250);
}

/// One call for a decision takes the rest of the former budget back and grants the next one. The SCB shows the end of the
/// budget in force, and the rest of a budget that is not.
#[test]
fn a_dispatch_takes_back_and_grants() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [thread, ..] = shop.thread(first::COMPONENT, 1, 5);
    let [one, other] =
        [0; 2].map(|cycles| shop.make(Operation::MakeTime, &[first::TIME, cycles, 5]));
    let budget = |time| machine.must(time, Operation::Budget, &[]);
    let budget_word = || machine.scb(BUDGET).get();
    let dispatch = |time, cycles, former| {
        let words = [
            time,
            9000,
            machine.epoch(),
            cycles,
            funds(first::TIME, former),
        ];
        machine.ask(thread, Operation::Dispatch, &words)
    };
    let began = machine.now.get();
    dispatch(one, 700, 0);
    assert_eq!(machine.running().index().get(), 1);
    assert_eq!(machine.processor().timer.get(), began + 700);
    assert_eq!(budget_word(), began + 700);
    assert_eq!([one, other].map(budget), [700, 0]);
    machine.now.set(began + 250);
    dispatch(other, 100, one);
    assert_eq!([one, other].map(budget), [0, 100]);
    assert_eq!(budget_word(), began + 350);
    // The same time is filled again.
    machine.now.set(began + 310);
    dispatch(other, 1000, other);
    assert_eq!([one, other].map(budget), [0, 1000]);
    assert_eq!(machine.scb(GRANTS).get(), 3);
    machine.back_to_root();
    assert_eq!(budget_word(), 1000 | NOT_IN_FORCE);
}

#[test]
fn where_time_meets_the_weaker_priority_stays() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [_, urgent, notify] = shop.waiting(1, 1);
    let weak = shop.make(Operation::MakeTime, &[first::TIME, 1000, 50]);
    machine.must(weak, Operation::Transfer, &[urgent, 10]);
    let [low, low_time, _] = shop.thread(first::COMPONENT, 2, 20);
    machine.dispatch(low, low_time);
    machine.ask(notify, Operation::Send, &[]);
    assert_eq!(machine.running().index().get(), 2, "50 does not preempt 20");
}

#[test]
fn a_nested_scheduler_runs_on_delegated_time_and_gives_way() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let child = shop.make(
        Operation::MakeThread,
        &[first::COMPONENT, 0x40_2000, 0x40_9000],
    );
    let time = shop.make(Operation::MakeTime, &[first::TIME, 400, 7]);
    machine.must(child, Operation::Bind, &[first::SCHEDULER, 9, time]);
    let nested = shop.scheduler([child, first::COMPONENT, first::SCHEDULER]);
    let grandchild = shop.make(Operation::MakeThread, &[first::COMPONENT, 0x40_3000, 0]);
    machine.must(grandchild, Operation::Bind, &[nested, 1, time]);
    machine.dispatch(child, time);
    assert_eq!(machine.processor().context.get(), [0x40_2000, 0x40_9000]);
    machine.dispatch(grandchild, time);
    assert_eq!(machine.processor().context.get()[0], 0x40_3000);
    machine.tick(machine.now.get() + 400);
    assert_eq!(
        machine.processor().context.get()[0] & !0xf,
        0x40_0000,
        "the nested one has no time either"
    );
    assert_eq!(machine.running().scheduler().reference(), {
        let root = machine.running();
        root.scheduler().reference()
    });
    assert_eq!(machine.running().index().get(), 0);
    let giver = shop.slots.next();
    machine.must(child, Operation::Sender, &[giver, DELEGATES]);
    machine.must(first::TIME, Operation::Delegate, &[giver, 100, 8, 0]);
    assert_eq!(machine.must(time, Operation::Budget, &[]), 100);
}

#[test]
fn a_nested_scheduler_cannot_put_off_the_time_out_of_its_parent() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let child = shop.make(
        Operation::MakeThread,
        &[first::COMPONENT, 0x40_2000, 0x40_9000],
    );
    let time = shop.make(Operation::MakeTime, &[first::TIME, ALL, 7]);
    machine.must(child, Operation::Bind, &[first::SCHEDULER, 9, time]);
    let nested = shop.scheduler([child, first::COMPONENT, first::SCHEDULER]);
    let inner = shop.make(Operation::MakeThread, &[first::COMPONENT, 0x40_3000, 0]);
    machine.must(inner, Operation::Bind, &[nested, 1, time]);
    let epoch = machine.epoch();
    machine.ask(child, Operation::Dispatch, &[time, 5000, epoch]);
    let epoch = machine.epoch();
    machine.ask(inner, Operation::Dispatch, &[time, ALL, epoch]);
    assert_eq!(machine.processor().context.get()[0], 0x40_3000);
    assert_eq!(machine.processor().timer.get(), 5000, "the parent's");
    machine.ask(inner, Operation::Dispatch, &[time, 3000, epoch]);
    assert_eq!(machine.processor().timer.get(), 3000, "its own, sooner");
    machine.ask(inner, Operation::Dispatch, &[time, KEEP, epoch]);
    assert_eq!(machine.processor().timer.get(), 3000, "kept");
    machine.tick(3000);
    assert_eq!(
        machine.processor().context.get()[0],
        0x40_2000,
        "its own scheduler"
    );
    assert_eq!(machine.processor().timer.get(), 5000);
    machine.tick(5000);
    assert_eq!(
        machine.processor().context.get()[0] & !0xfff,
        0x40_0000,
        "the root"
    );
}

#[test]
fn events_that_find_no_room_are_fetched() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [_, _, notify] = shop.waiting(1, 30);
    let [low, low_time, _] = shop.thread(first::COMPONENT, 2, 40);
    machine.dispatch(low, low_time);
    for _ in 0..20 {
        machine.ask(notify, Operation::Send, &[]);
        machine.ask(first::FREE + 3, Operation::Receive, &[0]);
    }
    let mut events = 0;
    while machine.event().is_some() {
        events += 1;
    }
    assert_eq!(events, 32);
    assert_eq!(machine.scb(3).get() & 0xffff_ffff, 1, "overflow");
    assert_eq!(machine.must(first::SCHEDULER, Operation::Fetch, &[]), 0);
    assert_eq!(machine.event().map(|(thread, _)| thread), Some(1));
    assert_eq!(machine.scb(3).get(), 0);
}

#[test]
fn an_event_says_for_how_many_cycles_the_thread_ran() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [thread, time, _] = shop.waiting(1, 5);
    let receive = first::FREE + 3;
    machine.must(first::FREE + 2, Operation::Send, &[]);
    assert_eq!(machine.event(), Some((1, EventKind::Activated as u64)));
    machine.dispatch(thread, time);
    machine.now.set(machine.now.get() + 250);
    machine.ask(receive, Operation::Receive, &[0]);
    let cycles = machine.scb(4 + 2 * (machine.scb(2).get() >> 32) + 1).get();
    assert_eq!(machine.event(), Some((1, EventKind::Blocked as u64)));
    assert_eq!(cycles, 250);
}

#[test]
fn what_overflowed_is_fetched_in_batches_and_nothing_is_lost() {
    const WAITERS: u64 = 17;
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let waiters: [_; WAITERS as usize] = core::array::from_fn(|number| {
        let made = shop.waiting(1 + number as u64, 30);
        (made, shop.slots.next() - 1)
    });
    // The queue is full of what the first one does.
    for _ in 0..16 {
        machine.must(waiters[0].0[2], Operation::Send, &[]);
        machine.dispatch(waiters[0].0[0], SAME_TIME);
        machine.ask(waiters[0].1, Operation::Receive, &[0]);
    }
    for ([thread, _, sender], receive) in waiters {
        machine.must(sender, Operation::Send, &[]);
        machine.dispatch(thread, SAME_TIME);
        machine.ask(receive, Operation::Receive, &[0]);
    }
    let read = || core::iter::from_fn(|| machine.event()).count() as u64;
    assert_eq!(read(), 32);
    let mut remaining = WAITERS;
    while remaining > 0 {
        let fetched = remaining.min(4);
        remaining = machine.must(first::SCHEDULER, Operation::Fetch, &[]);
        assert_eq!(
            machine.scb(3).get(),
            remaining.min(1),
            "whether there are more"
        );
        assert_eq!(read(), 2 * fetched, "two events each, of few threads");
    }
    assert_eq!(machine.scb(3).get(), 0);
}

#[test]
fn threads_without_floating_point_pay_for_none() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [thread, time, _] = shop.thread(first::COMPONENT, 1, 5);
    let [server, _] = shop.component(2);
    let entry = shop.entry(server, 0x40_0100, 0);
    for _ in 0..4 {
        for next in [thread, first::THREAD] {
            machine.dispatch(next, time);
            assert!(!machine.processor().floating_point.get());
            machine.call(entry, 0, [0; 5]);
            machine.call(0, 0, [0; 5]);
        }
    }
    assert_eq!(machine.exchanges.get(), 0);
}

#[test]
fn floating_point_is_lent_when_it_is_used() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [thread, time, _] = shop.thread(first::COMPONENT, 1, 5);
    machine.kernel().lend_floating_point();
    assert!(machine.processor().floating_point.get());
    machine.dispatch(thread, time);
    assert!(!machine.processor().floating_point.get());
    machine.dispatch(first::THREAD, time);
    assert!(machine.processor().floating_point.get(), "still its own");
    assert_eq!(machine.exchanges.get(), 1);
}
