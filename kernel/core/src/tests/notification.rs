//! End-points, preemption by temporal capabilities, interrupts

use super::{Machine, Workshop};
use bulkhead_abi::dispatch::EventKind;
use bulkhead_abi::kernel::{Operation, POLL, Rights, SAME_TIME, Status, ThreadWord, first};

const ACTIVATED: u64 = EventKind::Activated as u64;
const BLOCKED: u64 = EventKind::Blocked as u64;

#[test]
fn a_more_important_thread_preempts_and_hands_back() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [_, _, high] = shop.waiting(1, 10);
    let [low, low_time, _] = shop.thread(first::COMPONENT, 2, 20);
    machine.dispatch(low, low_time);
    let epoch = machine.epoch();
    machine.ask(high, Operation::Send, &[]);
    assert_eq!(machine.running().index().get(), 1, "at once");
    assert_eq!(machine.answer(), [0, 1], "one notification");
    assert_eq!(machine.epoch(), epoch + 1);
    assert_eq!(machine.event(), Some((1, ACTIVATED)));
    let receive = shop.slots.next() - 3;
    let _its_own = receive;
    machine.ask(first::FREE + 3, Operation::Receive, &[0]);
    assert_eq!(
        machine.running().index().get(),
        2,
        "back without the scheduler"
    );
    assert_eq!(machine.answer()[0], 0, "the send succeeded");
    assert_eq!(machine.event(), Some((1, BLOCKED)));
}

#[test]
fn a_less_important_thread_is_left_to_the_scheduler() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [low, _, notify] = shop.waiting(1, 20);
    let [high, high_time, _] = shop.thread(first::COMPONENT, 2, 10);
    machine.dispatch(high, high_time);
    let epoch = machine.epoch();
    assert_eq!(machine.ask(notify, Operation::Send, &[]), [0, 0]);
    assert_eq!(machine.running().index().get(), 2);
    assert_eq!(machine.epoch(), epoch, "no decision is stale");
    assert_eq!(machine.event(), Some((1, ACTIVATED)));
    machine.ask(notify, Operation::Send, &[]);
    machine.dispatch(low, SAME_TIME);
    assert_eq!(machine.answer(), [0, 1], "what came first");
    assert_eq!(
        machine.ask(first::FREE + 3, Operation::Receive, &[0]),
        [0, 1],
        "then the other"
    );
}

#[test]
fn interrupts_are_notifications() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [_, _, handler] = shop.waiting(1, 5);
    let [low, low_time, _] = shop.thread(first::COMPONENT, 2, 20);
    machine.must(first::INTERRUPT, Operation::Listen, &[40, handler]);
    machine.dispatch(low, low_time);
    machine.processor().context.set([0xabc, 0xdef]);
    machine.interrupt(41);
    assert_eq!(machine.running().index().get(), 2, "nobody listens");
    machine.interrupt(40);
    assert_eq!(machine.running().index().get(), 1);
    machine.interrupt(40);
    assert_eq!(
        machine.ask(first::FREE + 3, Operation::Receive, &[0]),
        [0, 1],
        "merged"
    );
    machine.ask(first::FREE + 3, Operation::Receive, &[0]);
    assert_eq!(machine.running().index().get(), 2);
    assert_eq!(
        machine.processor().context.get(),
        [0xabc, 0xdef],
        "interrupted where it was"
    );
    let timer = machine.refused(first::INTERRUPT, Operation::Listen, &[27, handler]);
    assert_eq!(timer, Status::BadArgument, "the kernel's own");
}

#[test]
fn a_receiver_learns_the_number_of_notifications() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [high, _, handler] = shop.waiting(1, 5);
    let receive = first::FREE + 3;
    machine.must(first::INTERRUPT, Operation::Listen, &[40, handler]);
    machine.interrupt(40);
    machine.interrupt(40);
    machine.must(handler, Operation::Send, &[]);
    machine.dispatch(high, SAME_TIME);
    assert_eq!(machine.answer(), [0, 1], "the first ended its wait");
    assert_eq!(machine.must(receive, Operation::Receive, &[0]), 2, "merged");
    machine.ask(receive, Operation::Receive, &[POLL]);
    assert_eq!(machine.answer()[0], Status::Nothing as u64);
}

#[test]
fn polling_never_waits_and_the_root_must_not() {
    let machine = Machine::booted();
    assert_eq!(
        machine.refused(first::RECEIVE, Operation::Receive, &[POLL]),
        Status::Nothing
    );
    assert_eq!(
        machine.refused(first::RECEIVE, Operation::Receive, &[0]),
        Status::Alone
    );
}

#[test]
fn only_the_thread_itself_receives() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [thread, ..] = shop.thread(first::COMPONENT, 1, 5);
    let receive = shop.slots.next();
    machine.must(thread, Operation::Receiver, &[receive]);
    let refused = machine.refused(receive, Operation::Receive, &[0]);
    assert_eq!(refused, Status::BadArgument);
}

#[test]
fn a_level_stays_active_until_it_has_been_served() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [_, _, handler] = shop.waiting(1, 5);
    let words = [super::LEVEL, handler];
    assert_eq!(
        machine.must(first::INTERRUPT, Operation::Listen, &words),
        1,
        "a level"
    );
    let [low, low_time, _] = shop.thread(first::COMPONENT, 2, 20);
    machine.dispatch(low, low_time);
    machine.interrupt(super::LEVEL);
    assert_eq!(machine.running().index().get(), 1);
    assert_eq!(machine.processor().active.get(), super::LEVEL);
    for wrong in [40, super::LEVEL + 1] {
        let refused = machine.refused(first::INTERRUPT, Operation::Complete, &[wrong]);
        assert_eq!(refused, Status::Nothing);
    }
    machine.must(first::INTERRUPT, Operation::Complete, &[super::LEVEL]);
    assert_eq!(machine.processor().active.get(), 0);
    let again = machine.refused(first::INTERRUPT, Operation::Complete, &[super::LEVEL]);
    assert_eq!(again, Status::Nothing);
}

#[test]
fn devices_are_mapped_uncached_and_never_executed() {
    let machine = Machine::booted();
    let map = |index, page, rights: Rights| {
        let words = [index, first::DEVICES, page, rights as u64];
        machine.ask(first::PAGES[2], Operation::Map, &words)[0]
    };
    assert_eq!(
        map(300, 0x9000, Rights::Execute),
        Status::BadArgument as u64
    );
    assert_eq!(map(300, 0x4_0000, Rights::Write), Status::NoMemory as u64);
    assert_eq!(map(300, 0x9000, Rights::Write), 0);
    for operation in [Operation::MakeTable, Operation::MakeThread] {
        let refused = machine.refused(first::DEVICES, operation, &[0, first::FREE]);
        assert_ne!(refused, Status::Occupied);
    }
    machine.must(first::PAGES[2], Operation::Unmap, &[300]);
}

/// Cycles from one reading of the clock to the next.
const STEP: u64 = 3;
/// One reading: when the interrupt came.
const BEFORE: u64 = STEP;
/// Three more: in passing, for the page frames; what the receiver pays; and on the way out.
const SERVED: u64 = 3 * STEP;

/// Each reading of the clock is later than the one before, as where the kernel's work takes time.
#[test]
fn an_interrupted_thread_pays_only_for_its_own_instructions() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [receiving, _, handler] = shop.waiting(1, 5);
    let [low, ..] = shop.thread(first::COMPONENT, 2, 20);
    let time = shop.make(Operation::MakeTime, &[first::TIME, 500, 20]);
    machine.must(first::INTERRUPT, Operation::Listen, &[40, handler]);
    machine.dispatch(low, time);
    machine.now.set(machine.now.get() + 100);
    machine.step.set(STEP);
    machine.interrupt(40);
    machine.interrupt(40);
    machine.step.set(0);
    assert_eq!(machine.running().index().get(), 1);
    let remaining = machine.must(time, Operation::Budget, &[]);
    assert_eq!(
        remaining,
        500 - 100 - BEFORE,
        "up to where the interrupt begins"
    );
    let word = [ThreadWord::Served as u64];
    let served = machine.must(receiving, Operation::Inspect, &word);
    assert!(served >= 2 * STEP, "{served}: of both interrupts");
}

/// An interrupt without a receiver is not charged to the running thread, and its budget ends so much later.
#[test]
fn an_interrupt_that_is_left_pending_puts_off_the_end_of_a_budget() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [_, _, handler] = shop.thread(first::COMPONENT, 1, 30);
    let [low, ..] = shop.thread(first::COMPONENT, 2, 20);
    let time = shop.make(Operation::MakeTime, &[first::TIME, 500, 20]);
    machine.must(first::INTERRUPT, Operation::Listen, &[40, handler]);
    machine.dispatch(low, time);
    let end = machine.processor().timer.get();
    machine.step.set(STEP);
    machine.interrupt(40);
    machine.step.set(0);
    assert_eq!(machine.running().index().get(), 2);
    assert_eq!(machine.processor().timer.get(), end + SERVED);
    let remaining = machine.must(time, Operation::Budget, &[]);
    assert_eq!(remaining, 500 - BEFORE);
}
