//! Injection, policy, limits and the log

use crate::fake::{Effect, End};
use crate::world::{Wishes, World};
use bulkhead_abi::status::{Action, Cause, LOG_RECORDS, State, Trap};
use bulkhead_monitor_core::Entry;

const DATA_ABORT: u64 = 0x24 << 26 | 1 << 25;
const FETCH_ABORT: u64 = 0x20 << 26 | 1 << 25;
const WRITE: u64 = 1 << 6;
const TRANSLATION: u64 = 0x07;
const VBAR: u64 = 0xFFFF_0000;

fn injecting() -> World {
    let world = World::running(Wishes {
        action: Action::Inject,
        ..Wishes::default()
    });
    world.fake.0.vbar.set(VBAR);
    world.fake.0.sctlr.set(1 << 23);
    world
}

fn fault(world: &World, esr: u64, spsr: u64, elr: u64) -> End {
    let frame = &world.cores[2].frame;
    frame.set_spsr(spsr);
    frame.set_elr(elr);
    frame.set_far(0xABC);
    frame.set_ipa(0x7777_7000);
    world.exception(2, esr)
}

#[test]
fn aborts_are_reported_as_external_at_the_right_vector() {
    // Processor state, vector, class of a data and of a fetch abort.
    let cases = [
        (0x3C5, 0x200, 0x25, 0x21),
        (0x3C4, 0x000, 0x25, 0x21),
        (0x000, 0x400, 0x24, 0x20),
        (0x010, 0x600, 0x24, 0x20),
        (0x8000_01F0, 0x600, 0x24, 0x20),
    ];
    for (spsr, vector, data, fetch) in cases {
        for (esr, class, iss) in [
            (DATA_ABORT | WRITE | TRANSLATION, data, WRITE),
            (FETCH_ABORT | TRANSLATION, fetch, 0),
        ] {
            let world = injecting();
            assert_eq!(fault(&world, esr, spsr, 0x1234), End::Returned);
            let esr = class << 26 | 1 << 25 | iss | 0x10;
            let expected = Effect::ToEl1 {
                esr,
                far: 0xABC,
                elr: 0x1234,
                spsr,
            };
            assert_eq!(world.fake.take_effects(), [expected]);
            let frame = &world.cores[2].frame;
            assert_eq!((frame.elr(), frame.spsr()), (VBAR + vector, 0x3C5));
        }
    }
}

#[test]
fn pan_is_set_or_kept_as_sctlr_says() {
    const PAN: u64 = 1 << 22;
    for (sctlr, before, after) in [(0, 0, PAN), (1 << 23, 0, 0), (1 << 23, PAN, PAN)] {
        let world = injecting();
        world.fake.0.sctlr.set(sctlr);
        fault(&world, DATA_ABORT, 0x3C5 | before, 0x1234);
        assert_eq!(world.cores[2].frame.spsr(), 0x3C5 | after);
    }
}

#[test]
fn unknown_classes_are_undefined_instructions() {
    for class in [
        0, 0x03, 0x05, 0x07, 0x09, 0x0C, 0x0E, 0x19, 0x1D, 0x21, 0x2F, 0x3C, 0x3F,
    ] {
        let world = injecting();
        assert_eq!(
            fault(&world, class << 26 | 1 << 25 | 0x1234, 0x3C5, 0x1000),
            End::Returned
        );
        let expected = Effect::ToEl1 {
            esr: 1 << 25,
            far: 0xABC,
            elr: 0x1000,
            spsr: 0x3C5,
        };
        assert_eq!(world.fake.take_effects(), [expected], "class {class:#x}");
        assert_eq!(world.counters(2).traps[Trap::Undefined as usize], 1);
    }
}

#[test]
fn a_fault_within_the_vector_itself_restarts() {
    for inside in [0, 4, 0x7C] {
        let world = injecting();
        assert_eq!(
            fault(&world, FETCH_ABORT, 0x3C5, VBAR + 0x200 + inside),
            End::Resumed
        );
        let record = world.faults(1)[0];
        assert_eq!(record.action, Action::Restart as u32);
    }
    let world = injecting();
    assert_eq!(
        fault(&world, FETCH_ABORT, 0x3C5, VBAR + 0x280),
        End::Returned
    );
    assert_eq!(
        fault(&world, FETCH_ABORT, 0x000, VBAR + 0x200),
        End::Returned
    );
}

#[test]
fn system_errors_become_virtual_ones() {
    let world = injecting();
    assert_eq!(world.enter(2, Entry::SError), End::Returned);
    assert_eq!(world.fake.take_effects(), [Effect::SError]);
    assert_eq!(world.faults(1)[0].cause, Cause::SError as u32);
    let world = World::running(Wishes::default());
    assert_eq!(world.enter(2, Entry::SError), End::Resumed);
}

#[test]
fn a_restart_is_recorded_and_starts_a_new_epoch() {
    let world = World::running(Wishes::default());
    world.cores[2].frame.set_x(30, 0x5555);
    assert_eq!(
        fault(&world, DATA_ABORT | WRITE | TRANSLATION, 0x3C5, 0x4321),
        End::Resumed
    );
    let status = world.status(1);
    let [record] = world.faults(1)[..] else {
        panic!("one record")
    };
    assert_eq!(status.restarts, 1);
    assert_eq!((record.sequence, record.core, record.restarts), (1, 2, 0));
    assert_eq!(record.cause, Cause::Violation as u32);
    assert_eq!(record.action, Action::Restart as u32);
    assert_eq!(record.esr, DATA_ABORT | WRITE | TRANSLATION);
    assert_eq!(
        (record.far, record.ipa, record.elr, record.spsr),
        (0xABC, 0x7777_7000, 0x4321, 0x3C5)
    );
    assert_eq!(record.x[30], 0x5555);
    assert!(status.last_restart_ticks > 0);
    let link = world.link(1);
    assert_eq!((link.state, link.epoch), (State::Starting as u32, 2));
    assert_eq!(world.cores[2].frame.x(30), 0);
}

#[test]
fn restarts_beyond_the_limit_escalate() {
    for escalation in [Action::Halt, Action::Alternate] {
        let world = World::running(Wishes {
            escalation,
            ..Wishes::default()
        });
        assert_eq!(fault(&world, DATA_ABORT, 0x3C5, 0), End::Resumed);
        assert_eq!(fault(&world, DATA_ABORT, 0x3C5, 0), End::Resumed);
        let halts = escalation == Action::Halt;
        let end = if halts { End::Waits } else { End::Resumed };
        assert_eq!(fault(&world, DATA_ABORT, 0x3C5, 0), end);
        assert_eq!(world.faults(1)[2].action, escalation as u32);
        assert_eq!(world.is_cut(1), halts);
        let alternate = world.cores[2].frame.elr() == 0x4001_0000;
        assert_eq!(alternate, !halts);
    }
}

#[test]
fn a_stopped_partition_stays_stopped() {
    let world = World::running(Wishes {
        action: Action::Halt,
        ..Wishes::default()
    });
    assert_eq!(fault(&world, DATA_ABORT, 0x3C5, 0), End::Waits);
    assert_eq!(world.link(1).state, State::Down as u32);
    assert_eq!(world.idle(2), End::Waits);
    assert_eq!(world.faults(1).len(), 1);
}

#[test]
fn the_log_keeps_the_newest_of_each_cause() {
    let world = injecting();
    world.enter(2, Entry::SError);
    for n in 0..LOG_RECORDS as u64 + 3 {
        fault(&world, DATA_ABORT, 0x3C5, n << 12);
    }
    let status = world.status(1);
    let [violation, error] = [Cause::Violation, Cause::SError].map(|cause| cause as usize);
    assert_eq!(status.log[violation].faults, LOG_RECORDS as u64 + 3);
    assert_eq!(status.log[error].faults, 1);
    let kept = status.log[error].records[0];
    assert_eq!(kept.cause, Cause::SError as u32, "not displaced");
    let records = status.log[violation].records;
    let mut sequences = records.map(|record| record.sequence);
    sequences.sort_unstable();
    assert_eq!(sequences[0], 4);
    for record in records {
        assert_eq!(record.elr, (record.sequence - 1) << 12);
        let place = (record.sequence - 1) as usize % LOG_RECORDS;
        assert_eq!(records[place].sequence, record.sequence);
    }
}

#[test]
fn failing_over_silences_the_first_and_starts_the_standby() {
    let world = World::running(Wishes {
        action: Action::Failover,
        // It is no restart of the first.
        restarts: 0,
        ..Wishes::default()
    });
    world.others_idle(1);
    world.cores[0].frame.set_ipa(0x7777_7000);
    assert_eq!(world.exception(0, DATA_ABORT), End::Waits);
    assert!(world.is_cut(0));
    assert_eq!(world.link(0).state, State::Down as u32);
    assert_eq!(world.link(2).state, State::Down as u32);
    assert_eq!(world.idle(3), End::Resumed);
    assert_eq!(
        (world.link(2).state, world.link(2).epoch),
        (State::Starting as u32, 1)
    );
    assert!(!world.is_cut(2));
    assert_eq!(world.idle(0), End::Waits, "the first stays where it is");
}

#[test]
fn a_defect_of_the_monitor_costs_its_partition_and_no_other() {
    let world = World::running(Wishes::default());
    assert_eq!(world.enter(2, Entry::Failure), End::Waits);
    assert_eq!(world.link(1).state, State::Down as u32);
    assert_eq!(world.faults(1)[0].action, Action::Halt as u32);
    assert_eq!(world.link(0).state, State::Starting as u32);
}
