//! Attacks on other cores by notifications, and places of a core

extern crate std;

use super::{Machine, Workshop};
use crate::Hal;
use crate::object::Thread;
use bulkhead_abi::kernel::{ALL, IMAGE, Operation, SCHEDULERS, Status, WAIT, first};

/// A started core 1 with a thread that waits at its end-point: slots of its sending side and of the thread.
fn receiver(shop: &Workshop<'_>) -> [u64; 2] {
    let machine = shop.machine;
    let page = [(); 4].map(|()| shop.page())[0];
    let [_, scheduler, time] = [(); 3].map(|()| shop.slots.next());
    let words = [first::MEMORY, page, scheduler - 1, first::COMPONENT, IMAGE];
    machine.must(first::CORES + 1, Operation::Prepare, &words);
    machine.must(first::CORES + 1, Operation::Start, &[]);
    machine.on_core(1);
    let thread = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
    machine.must(thread, Operation::Bind, &[scheduler, 1, time]);
    let [sender, receive] = [shop.slots.next(), shop.slots.next()];
    machine.must(thread, Operation::Sender, &[sender]);
    machine.must(thread, Operation::Receiver, &[receive]);
    machine.dispatch(thread, time);
    machine.ask(receive, Operation::Receive, &[WAIT]);
    machine.on_core(0);
    [sender, thread]
}

#[test]
fn a_source_interrupts_another_core_only_so_often() {
    const WINDOW: u64 = super::PERIOD / 10;
    let machine = Machine::with_cores(2);
    let shop = Workshop::new(&machine);
    let [sender, _] = receiver(&shop);
    let interrupts = || machine.processors[1].interrupts.get();
    let [server, leaf] = shop.component(2);
    machine.must(leaf, Operation::Copy, &[1, sender]);
    let [attacker, time] = shop.limited(server, 1, ALL);
    machine.dispatch(attacker, time);
    let before = interrupts();
    for _ in 0..20 * WINDOW / 50 {
        machine.now.set(machine.now.get() + 50);
        machine.must(1, Operation::Send, &[]);
        if machine.processor().timer.get() <= machine.now.get() {
            machine.tick(machine.now.get());
        }
        machine.on_core(1);
        machine.on_core(0);
    }
    let sent = interrupts() - before;
    assert!((20..=20 * 5).contains(&sent), "{sent} in 20 windows");
    // The last of them is late, not lost.
    machine.must(1, Operation::Send, &[]);
    machine.must(1, Operation::Send, &[]);
    machine.until_timer();
    machine.on_core(1);
    let counted = machine.running().posted().get();
    assert_eq!(counted, 0);
    machine.on_core(0);
}

#[test]
fn a_source_that_is_limited_delays_no_other() {
    let machine = Machine::with_cores(2);
    let shop = Workshop::new(&machine);
    let [sender, _] = receiver(&shop);
    let interrupts = || machine.processors[1].interrupts.get();
    let [server, leaf] = shop.component(2);
    let [other, others_leaf] = shop.component(3);
    for leaf in [leaf, others_leaf] {
        machine.must(leaf, Operation::Copy, &[1, sender]);
    }
    let [attacker, time] = shop.limited(server, 1, ALL);
    let [victim, _] = shop.limited(other, 2, ALL);
    machine.dispatch(attacker, time);
    for _ in 0..10 {
        machine.must(1, Operation::Send, &[]);
        machine.on_core(1);
        machine.on_core(0);
    }
    let limited = interrupts();
    machine.must(1, Operation::Send, &[]);
    assert_eq!(interrupts(), limited, "the attacker is limited");
    machine.back_to_root();
    machine.dispatch(victim, time);
    machine.must(1, Operation::Send, &[]);
    assert_eq!(interrupts(), limited + 1, "the other component is not");
}

/// Sends of ten rounds in which each of `threads` notifies a thread of core 1, at one moment; interrupts of that core.
fn interrupts_by(machine: &Machine, threads: &[[u64; 2]], sender: u64) -> u64 {
    let before = machine.processors[1].interrupts.get();
    for [thread, time] in [(); 10].iter().flat_map(|()| threads) {
        machine.dispatch(*thread, *time);
        machine.must(sender, Operation::Send, &[]);
        machine.back_to_root();
        machine.on_core(1);
        machine.on_core(0);
    }
    machine.processors[1].interrupts.get() - before
}

#[test]
fn further_threads_raise_no_limit_of_a_component() {
    let machine = Machine::with_cores(2);
    let shop = Workshop::new(&machine);
    let [sender, _] = receiver(&shop);
    let [hostile, leaf] = shop.component(2);
    machine.must(leaf, Operation::Copy, &[sender, sender]);
    let threads = [1, 2, 3].map(|index| shop.limited(hostile, index, ALL));
    let sent = interrupts_by(&machine, &threads, sender);
    assert!((1..=4).contains(&sent), "{sent}");
}

#[test]
fn nested_schedulers_raise_no_limit_of_the_outermost() {
    let machine = Machine::with_cores(2);
    let shop = Workshop::new(&machine);
    let [sender, _] = receiver(&shop);
    let [scheduler_thread, time, mut parent] = shop.nested(1, ALL);
    let mut threads = std::vec![[scheduler_thread, time]];
    machine.must(first::SCHEDULER, Operation::Grant, &[parent, 2]);
    for places in [1, 0] {
        let below = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
        machine.must(below, Operation::Bind, &[parent, 1, time]);
        let nested = shop.scheduler([below, first::COMPONENT, parent]);
        machine.must(parent, Operation::Grant, &[nested, places]);
        threads.push([below, time]);
        parent = nested;
    }
    let sent = interrupts_by(&machine, &threads, sender);
    assert!((1..=4).contains(&sent), "{sent}");
}

#[test]
fn an_interrupt_by_another_core_notifies_a_few_threads_and_the_next_one_the_rest() {
    const THREADS: usize = 20;
    let machine = Machine::with_cores(2);
    let shop = Workshop::new(&machine);
    let [_, root] = receiver(&shop);
    machine.on_core(1);
    let [scheduler, time] = [root - 2, root - 1];
    let entry = [first::COMPONENT, IMAGE, 0];
    let senders = (0..THREADS as u64).map(|number| {
        let thread = shop.make(Operation::MakeThread, &entry);
        machine.must(thread, Operation::Bind, &[scheduler, 2 + 6 * number, time]);
        let sender = shop.slots.next();
        machine.must(thread, Operation::Sender, &[sender]);
        [thread, sender]
    });
    let made: std::vec::Vec<_> = senders.collect();
    machine.on_core(0);
    for [_, sender] in &made {
        machine.must(*sender, Operation::Send, &[]);
    }
    machine.core.set(1);
    let posted = || {
        let pending = made.iter().filter(|[thread, _]| {
            let at = machine.object_of(*thread);
            Thread::new(at, machine.frame(at)).posted().get() != 0
        });
        pending.count()
    };
    let mut before = posted();
    assert_eq!(before, THREADS);
    while before > 0 {
        machine.attend();
        let after = posted();
        assert!((1..=2).contains(&(before - after)), "{before} to {after}");
        before = after;
    }
    assert!(!machine.processor().mail.get(), "none is left");
}

#[test]
fn places_of_a_core_are_a_quota() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [scheduler_thread, time, nested] = shop.nested(1, ALL);
    let below = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
    machine.must(below, Operation::Bind, &[nested, 1, time]);
    let words = [below, first::COMPONENT, nested];
    assert_eq!(shop.attempt(words), Status::Exhausted, "it was given none");
    let too_many = SCHEDULERS as u64 - 1;
    let words = [nested, too_many];
    let refused = machine.refused(first::SCHEDULER, Operation::Grant, &words);
    assert_eq!(refused, Status::Exhausted);
    machine.must(first::SCHEDULER, Operation::Grant, &[nested, 1]);
    let inner = shop.scheduler([below, first::COMPONENT, nested]);
    let again = shop.make(Operation::MakeThread, &[first::COMPONENT, IMAGE, 0]);
    machine.must(again, Operation::Bind, &[nested, 2, time]);
    let words = [again, first::COMPONENT, nested];
    assert_eq!(shop.attempt(words), Status::Exhausted);
    // The place comes back with the scheduler, to the one that gave it.
    machine.must(inner, Operation::Retire, &[]);
    shop.scheduler(words);
    let _runs = machine.dispatch(scheduler_thread, time);
}

#[test]
fn a_retired_thread_brings_its_core_no_further_interrupts() {
    let machine = Machine::with_cores(2);
    let shop = Workshop::new(&machine);
    let [sender, thread] = receiver(&shop);
    machine.on_core(1);
    machine.must(thread, Operation::Retire, &[]);
    machine.on_core(0);
    let interrupts = || machine.processors[1].interrupts.get();
    let before = interrupts();
    for _ in 0..10 {
        machine.must(sender, Operation::Send, &[]);
        machine.on_core(1);
        machine.on_core(0);
    }
    assert!(interrupts() <= before + 1);
}

#[test]
fn mail_for_a_scheduler_that_was_retired_is_dropped() {
    let machine = Machine::with_cores(2);
    let shop = Workshop::new(&machine);
    let [_, root] = receiver(&shop);
    let [scheduler, time] = [root - 2, root - 1];
    machine.on_core(1);
    let made = [(); 2].map(|()| {
        let words = [first::COMPONENT, IMAGE, 0];
        shop.make(Operation::MakeThread, &words)
    });
    machine.must(made[0], Operation::Bind, &[scheduler, 5, time]);
    let nested = shop.scheduler([made[0], first::COMPONENT, scheduler]);
    machine.must(made[1], Operation::Bind, &[nested, 7, time]);
    let sender = shop.slots.next();
    machine.must(made[1], Operation::Sender, &[sender]);
    machine.on_core(0);
    machine.must(sender, Operation::Send, &[]);
    // The other core retires both before the interrupt is served.
    machine.core.set(1);
    machine.must(made[1], Operation::Retire, &[]);
    machine.must(nested, Operation::Retire, &[]);
    machine.on_core(1);
    machine.on_core(0);
}
