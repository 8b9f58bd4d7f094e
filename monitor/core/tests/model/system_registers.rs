//! Trapped registers and instructions

use crate::fake::{Effect, End};
use crate::world::{Wishes, World};
use bulkhead_abi::status::{Action, Trap};
use bulkhead_monitor_core::Interface;

const READ: u64 = 1;

fn encoding(op0: u64, op1: u64, crn: u64, crm: u64, op2: u64) -> u64 {
    op0 << 20 | op2 << 17 | op1 << 14 | crn << 10 | crm << 1
}

fn trap(world: &World, iss: u64, register: u64) -> End {
    world.exception(0, 0x18 << 26 | 1 << 25 | iss | register << 5)
}

fn injecting() -> World {
    World::running(Wishes {
        action: Action::Inject,
        ..Wishes::default()
    })
}

#[test]
fn identification_is_what_boot_has_left() {
    let world = injecting();
    let frame = &world.cores[0].frame;
    for crm in 1..8 {
        for op2 in 0..8 {
            frame.set_elr(0x1000);
            assert_eq!(
                trap(&world, encoding(3, 0, 0, crm, op2) | READ, 9),
                End::Returned
            );
            assert_eq!(frame.x(9), (crm - 1) * 8 + op2);
            assert_eq!(frame.elr(), 0x1004);
        }
    }
    assert_eq!(world.counters(0).traps[Trap::IdRegister as usize], 56);
    for crm in [0, 8, 15] {
        trap(&world, encoding(3, 0, 0, crm, 1) | READ, 9);
        assert_eq!(world.cores[0].frame.x(9), 0);
    }
}

#[test]
fn maintenance_by_set_and_way_is_counted_and_ignored() {
    let world = injecting();
    for crm in [6, 10, 14] {
        assert_eq!(trap(&world, encoding(1, 0, 7, crm, 2), 1), End::Returned);
    }
    assert_eq!(world.counters(0).traps[Trap::SetWay as usize], 3);
    assert_eq!(world.fake.take_effects(), []);
}

#[test]
fn the_auxiliary_control_register_is_zero() {
    let world = injecting();
    world.cores[0].frame.set_x(2, 7);
    trap(&world, encoding(3, 0, 1, 0, 1), 2);
    assert_eq!(world.cores[0].frame.x(2), 7, "a write changes nothing");
    trap(&world, encoding(3, 0, 1, 0, 1) | READ, 2);
    assert_eq!(world.cores[0].frame.x(2), 0);
    assert_eq!(world.fake.take_effects(), []);
}

#[test]
fn everything_else_is_undefined() {
    for iss in [
        encoding(3, 0, 15, 2, 1),
        encoding(3, 4, 1, 1, 0) | READ,
        encoding(3, 0, 5, 3, 0) | READ,
        encoding(3, 0, 0, 4, 0),
        encoding(2, 1, 0, 0, 0),
        encoding(1, 4, 8, 3, 0),
        encoding(3, 3, 9, 12, 0),
    ] {
        let world = injecting();
        assert_eq!(trap(&world, iss, 1), End::Returned);
        assert_eq!(
            world.counters(0).traps[Trap::Undefined as usize],
            1,
            "{iss:#x}"
        );
        assert_eq!(world.faults(0).len(), 1);
    }
}

#[test]
fn waiting_wakes_and_goes_on_behind_the_instruction() {
    let world = injecting();
    world.fake.0.patience.set(1);
    let frame = &world.cores[0].frame;
    frame.set_elr(0x1000);
    assert_eq!(world.exception(0, 0x01 << 26 | 1 << 25), End::Returned);
    assert_eq!((frame.elr(), world.fake.0.patience.get()), (0x1004, 0));
    for timed in [1, 2, 3] {
        assert_eq!(
            world.exception(0, 0x01 << 26 | 1 << 25 | timed),
            End::Returned
        );
    }
    assert_eq!(world.counters(0).traps[Trap::Wfi as usize], 4);
}

#[test]
fn instructions_of_16_bits_are_stepped_over_as_such() {
    let world = injecting();
    world.fake.0.patience.set(1);
    let frame = &world.cores[0].frame;
    frame.set_elr(0x1000);
    world.exception(0, 0x01 << 26);
    assert_eq!(frame.elr(), 0x1002);
}

#[test]
fn shared_registers_of_the_interface_are_the_physical_ones() {
    let world = injecting();
    let registers = [
        (encoding(3, 0, 4, 6, 0), Interface::PriorityMask),
        (encoding(3, 0, 12, 11, 3), Interface::RunningPriority),
        (encoding(3, 0, 12, 12, 4), Interface::Control),
        (encoding(3, 0, 12, 11, 1), Interface::Deactivate),
    ];
    let frame = &world.cores[0].frame;
    for (register, shared) in registers {
        assert_eq!(trap(&world, register | READ, 4), End::Returned);
        assert_eq!(frame.x(4), 0x50 + shared as u64);
        frame.set_x(4, 0x99);
        assert_eq!(trap(&world, register, 4), End::Returned);
        assert_eq!(world.fake.take_effects(), [Effect::Interface(shared, 0x99)]);
    }
    assert_eq!(world.counters(0).traps[Trap::Interface as usize], 8);
}

#[test]
fn group_0_is_empty() {
    let world = injecting();
    let frame = &world.cores[0].frame;
    for (crm, op2, value) in [(8, 0, 1023), (8, 2, 1023), (8, 3, 0), (8, 4, 0), (12, 6, 0)] {
        frame.set_x(4, 0x99);
        assert_eq!(trap(&world, encoding(3, 0, 12, crm, op2), 4), End::Returned);
        trap(&world, encoding(3, 0, 12, crm, op2) | READ, 4);
        assert_eq!(frame.x(4), value, "{crm} {op2}");
    }
    assert_eq!(world.fake.take_effects(), []);
    assert!(world.faults(0).is_empty());
}
