//! End-points, preemption by temporal capabilities, interrupts

use super::{Machine, Workshop};
use bulkhead_abi::dispatch::EventKind;
use bulkhead_abi::kernel::{Operation, POLL, SAME_TIME, Status, first};

const ACTIVATED: u64 = EventKind::Activated as u64;
const BLOCKED: u64 = EventKind::Blocked as u64;

#[test]
fn who_is_more_important_preempts_and_hands_back() {
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
fn who_is_less_important_is_left_to_the_scheduler() {
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
    assert_eq!(timer, Status::Refused, "the kernel's own");
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
