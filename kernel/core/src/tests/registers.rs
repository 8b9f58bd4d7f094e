//! Registers stay in the component that wrote them

use super::{Machine, Workshop};
use crate::Hal;
use bulkhead_abi::kernel::{Operation, Status, first};

#[test]
fn registers_and_flags_of_a_server_never_reach_its_client() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [server, _] = shop.component(2);
    let entry = shop.entry(server, 0x40_0100, 0);
    let thread = machine.running();
    let registers = || (0..31).map(|number| machine.frame(thread.at()).word(number));
    // The entry code clears the machine's registers where a call says that the component is another one.
    assert!(machine.kernel().call(entry, 0), "there");
    machine.call(0, 0, [1, 2, 3, 4, 5]);
    assert_eq!(thread.message(6).get(), 0);
    assert!(!machine.kernel().call(first::TIME, Operation::Budget as u64));
    // A fault leaves what it saved of the server in the page.
    machine.call(entry, 0, [0; 5]);
    registers().for_each(|register| register.set(0x5ec4e7));
    machine.fault(0x9200_0000);
    assert_eq!(thread.message(0).get(), Status::Faulted as u64);
    let residue = (1..7)
        .chain(19..31)
        .map(|number| machine.frame(thread.at()).word(number).get());
    assert_eq!(residue.sum::<u64>(), 0);
}

#[test]
fn what_a_server_was_preempted_with_is_not_resumed_by_its_client() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [server, _] = shop.component(2);
    let entry = shop.entry(server, 0x40_0100, 0);
    let [other, time, _] = shop.thread(first::COMPONENT, 1, 5);
    let thread = machine.running();
    machine.call(entry, 0, [0; 5]);
    // Preempted in the server, its page has the server's registers.
    machine.tick(2000);
    (19..31).for_each(|number| machine.frame(thread.at()).word(number).set(0x5ec4e7));
    machine.call(0, 0, [0; 5]);
    machine.dispatch(other, time);
    // It had dispatched away in user mode, says its block, and is resumed from there.
    let block = size_of::<bulkhead_abi::dispatch::Scb>() as u64 / 8;
    machine.scb(block + 1).set(0x7000);
    machine.dispatch(first::THREAD, time);
    assert!(machine.running().is(thread));
    assert_eq!(machine.scb(block + 1).get(), 0, "resumed from the block");
    let residue = (1..7)
        .chain(19..31)
        .map(|number| machine.frame(thread.at()).word(number).get());
    assert_eq!(residue.sum::<u64>(), 0);
}

/// FP registers of the client after an invocation in which client and server used them.
fn float(
    machine: &Machine,
    entry: u64,
    client: Option<u64>,
    uses: Option<u64>,
    end: impl Fn(),
) -> u64 {
    let touch = |value: u64| {
        machine.kernel().lend_floating_point();
        machine.processor().d8.set(value);
    };
    client.into_iter().for_each(touch);
    machine.call(entry, 0, [0; 5]);
    if let Some(value) = uses {
        machine.kernel().lend_floating_point();
        assert_eq!(machine.processor().d8.get(), 0, "the server finds zeros");
        machine.processor().d8.set(value);
    } else {
        let lent = machine.processor().floating_point.get();
        assert!(
            !lent || machine.processor().d8.get() == 0,
            "nothing to read"
        );
    }
    end();
    machine.kernel().lend_floating_point();
    machine.processor().d8.get()
}

#[test]
fn floating_point_of_client_and_server_never_meets() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [server, _] = shop.component(2);
    let entry = shop.entry(server, 0x40_0100, 0);
    let [other, time, _] = shop.thread(first::COMPONENT, 1, 5);
    let returns = || assert_eq!(machine.call(0, 0, [0; 5])[0], 0);
    let faults = || machine.fault(0x9200_0000);
    // Another thread takes the registers meanwhile: they are saved, and come back to where they were.
    let stolen = || {
        let running = machine.running();
        machine.call(0, 0, [0; 5]);
        machine.dispatch(other, time);
        machine.kernel().lend_floating_point();
        machine.processor().d8.set(99);
        machine.dispatch(first::THREAD, time);
        assert!(machine.running().is(running));
    };
    let ends: [&dyn Fn(); 3] = [&returns, &faults, &stolen];
    for end in ends {
        assert_eq!(float(&machine, entry, Some(7), Some(8), end), 7);
        assert_eq!(float(&machine, entry, Some(7), None, end), 7);
        machine.running().floating().set(0);
        machine
            .core()
            .fp_owner()
            .set(machine.kernel().void().address());
        assert_eq!(float(&machine, entry, None, Some(8), end), 0);
    }
}

#[test]
fn floating_point_that_a_server_was_preempted_with_stays_there_after_switches_in_user_mode() {
    const SECRET: u64 = 0x5ec4e7;
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [server, _] = shop.component(2);
    let entry = shop.entry(server, 0x40_0100, 0);
    let [client, clients, _] = shop.thread(first::COMPONENT, 1, 5);
    let [other, others, _] = shop.thread(first::COMPONENT, 2, 5);
    let touch = |value: u64| {
        machine.kernel().lend_floating_point();
        machine.processor().d8.replace(value)
    };
    // The client's page keeps the server's registers, with which the client was preempted.
    machine.dispatch(client, clients);
    machine.call(entry, 0, [0; 5]);
    touch(SECRET);
    machine.back_to_root();
    touch(1);
    machine.dispatch(client, clients);
    assert_eq!(touch(SECRET), SECRET, "the server's own");
    machine.call(0, 0, [0; 5]);
    machine.back_to_root();
    // The other thread uses FP, switches to the client in user mode, and the client back.
    machine.dispatch(other, others);
    touch(2);
    for (index, thread) in [(1, client), (2, other)] {
        machine.scb(0).set(index);
        machine.must(first::TIME, Operation::Budget, &[]);
        assert_eq!(machine.running().at(), machine.object_of(thread));
    }
    // Their registers are saved, and the client uses FP.
    machine.back_to_root();
    touch(3);
    machine.dispatch(client, clients);
    let found = touch(4);
    assert_ne!(found, SECRET);
    assert!([0, 2].contains(&found), "{found}");
}

#[test]
fn the_thread_pointer_is_a_components_own() {
    let machine = Machine::booted();
    let shop = Workshop::new(&machine);
    let [server, _] = shop.component(2);
    let entry = shop.entry(server, 0x40_0100, 0);
    let [other, time, _] = shop.thread(server, 1, 5);
    let pointer = &machine.processor().thread_pointer;
    pointer.set(0x111);
    machine.call(entry, 0, [0; 5]);
    assert_eq!(pointer.replace(0x222), 0);
    machine.call(0, 0, [0; 5]);
    assert_eq!(pointer.get(), 0x111, "after a return");
    machine.dispatch(other, time);
    assert_eq!(pointer.get(), 0x222, "after a switch");
    machine.tick(5000);
    machine.fault(0x9200_0000);
    assert!(machine.running().index().get() == 0);
    assert_eq!(pointer.get(), 0x111, "after a fault");
}
