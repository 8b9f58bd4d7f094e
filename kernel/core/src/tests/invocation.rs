//! Invocations, returns, faults in between

use super::{Machine, Workshop};
use crate::hal::MonitorCall;
use crate::translation::identity;
use bulkhead_abi::dispatch::EventKind;
use bulkhead_abi::kernel::{DEPTH, Operation, Status, first};

#[test]
fn the_same_thread_goes_on_in_the_server_and_comes_back() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [server, _] = shop.component(2);
    let entry = shop.entry(server, 0x40_0100, 0xfeed);
    machine.processor().context.set([0x1234, 0x5678]);
    let thread = machine.running();
    machine.call(entry, 11, [22, 33, 44, 55, 66]);
    assert!(machine.running().is(thread));
    assert_eq!(machine.processor().context.get(), [0x40_0100, 0]);
    assert_eq!(identity(machine.processor().space.get()), 2);
    let message = [0, 1, 2, 3, 4, 5, 6].map(|register| thread.message(register).get());
    assert_eq!(
        message,
        [0xfeed, 11, 22, 33, 44, 55, 1 << 32],
        "token, message, number 0 at depth 1"
    );
    machine.call(0, 0, [77, 0, 0, 0, 0]);
    assert_eq!(machine.processor().context.get(), [0x1234, 0x5678]);
    assert_eq!(identity(machine.processor().space.get()), 1);
    assert_eq!(
        [0, 2].map(|register| thread.message(register).get()),
        [0, 77]
    );
}

#[test]
fn a_server_has_only_its_own_capabilities() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [server, _] = shop.component(2);
    let entry = shop.entry(server, 0x40_0100, 0);
    machine.call(entry, 0, [0; 5]);
    for slot in 1..first::FREE {
        let answer = machine.refused(slot, Operation::Identify, &[]);
        assert_eq!(answer, Status::NoCapability);
    }
}

#[test]
fn nesting_is_bounded_and_nothing_returns_from_nowhere() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [server, leaf] = shop.component(2);
    let entry = shop.entry(server, 0x40_0100, 0);
    machine.must(leaf, Operation::Copy, &[1, entry]);
    assert_eq!(machine.call(0, 0, [0; 5])[0], Status::Depth as u64);
    machine.call(entry, 0, [0; 5]);
    for _ in 1..DEPTH {
        assert_eq!(machine.call(1, 0, [0; 5])[0], 0);
    }
    assert_eq!(machine.call(1, 0, [0; 5])[0], Status::Depth as u64);
    for _ in 0..DEPTH {
        assert_eq!(machine.call(0, 0, [0; 5])[0], 0);
    }
    assert_eq!(machine.call(0, 0, [0; 5])[0], Status::Depth as u64);
}

#[test]
fn a_fault_in_the_server_is_an_error_for_the_client() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [server, _] = shop.component(2);
    let entry = shop.entry(server, 0x40_0100, 0);
    machine.processor().context.set([0x1234, 0x5678]);
    machine.call(entry, 0, [0; 5]);
    machine.fault(0x9200_0000);
    assert_eq!(machine.processor().context.get(), [0x1234, 0x5678]);
    assert_eq!(machine.answer()[0], Status::Faulted as u64);
    let inspect = |word: u64| machine.must(first::THREAD, Operation::Inspect, &[word]);
    assert_eq!(
        [inspect(1), inspect(3), inspect(7)],
        [0x9200_0000, 0x40_0100, 2]
    );
    let recorded = machine.recorded.borrow()[0];
    assert_eq!((recorded.component_thread, recorded.pc), (2, 0x40_0100));
    assert!(machine.requests.borrow().is_empty());
}

#[test]
fn a_fault_unwinds_to_the_next_client_and_no_further() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [[middle, leaf], [server, _]] = [2, 3].map(|identity| shop.component(identity));
    let [entry, inner] = [middle, server].map(|one| shop.entry(one, 0x40_0100, 0));
    machine.must(leaf, Operation::Copy, &[1, inner]);
    machine.processor().context.set([0x1234, 0x5678]);
    machine.call(entry, 0, [0; 5]);
    machine.processor().context.set([0x2222, 0x3333]);
    machine.call(1, 0, [0; 5]);
    assert_eq!(identity(machine.processor().space.get()), 3);
    for (client, context) in [(2, [0x2222, 0x3333]), (1, [0x1234, 0x5678])] {
        machine.fault(0x9200_0000);
        assert_eq!(identity(machine.processor().space.get()), client);
        assert_eq!(machine.processor().context.get(), context);
        assert_eq!(machine.answer()[0], Status::Faulted as u64);
    }
    assert!(machine.requests.borrow().is_empty());
}

#[test]
fn a_server_runs_on_the_time_of_its_client_and_goes_on_when_there_is_more() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [server, _] = shop.component(2);
    let entry = shop.entry(server, 0x40_0100, 0);
    let [thread, ..] = shop.thread(first::COMPONENT, 1, 5);
    let slice = shop.make(Operation::MakeTime, &[first::TIME, 500, 5]);
    machine.dispatch(thread, slice);
    machine.now.set(machine.now.get() + 100);
    machine.call(entry, 0, [0; 5]);
    assert_eq!(machine.processor().timer.get(), 1500, "its end is the same");
    machine.processor().context.set([0x40_0180, 0x40_9000]);
    machine.tick(1500);
    assert_eq!(machine.running().index().get(), 0);
    assert_eq!(identity(machine.processor().space.get()), 1);
    assert_eq!(machine.event(), Some((1, EventKind::Expired as u64)));
    assert_eq!(machine.must(slice, Operation::Budget, &[]), 0);
    machine.must(first::TIME, Operation::Transfer, &[slice, 500]);
    machine.dispatch(thread, slice);
    assert_eq!(machine.processor().context.get(), [0x40_0180, 0x40_9000]);
    assert_eq!(identity(machine.processor().space.get()), 2);
}

#[test]
fn a_fault_at_home_ends_the_thread_and_its_scheduler_hears() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [worker, ..] = shop.thread(first::COMPONENT, 3, 10);
    machine.dispatch(worker, u64::MAX);
    assert_eq!(machine.running().index().get(), 3);
    let [pc, _] = machine.processor().context.get();
    machine.fault(0x8200_0000);
    let recorded = machine.recorded.borrow()[0];
    assert_eq!((recorded.syndrome, recorded.pc), (0x8200_0000, pc));
    assert_eq!(recorded.component_thread, 1 | 3 << 32);
    assert_eq!(machine.running().index().get(), 0);
    assert_eq!(machine.event(), Some((3, 3)));
    assert_eq!(
        machine.dispatch(worker, u64::MAX)[0],
        Status::NotReady as u64
    );
    assert!(machine.requests.borrow().is_empty());
}

#[test]
fn a_fault_of_the_root_scheduler_fails_the_partition() {
    let machine = Machine::booted();
    machine.fault(0x77);
    assert_eq!(*machine.requests.borrow(), [MonitorCall::Fail(0x77)]);
    assert_eq!(machine.recorded.borrow().len(), 1, "and where it was");
}
