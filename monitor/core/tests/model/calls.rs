//! Hypercalls and PSCI

use crate::fake::{Effect, End};
use crate::world::{
    ATTACHED, ATTACHED_VALUE, DOORBELL_INTID, GICD, GUEST_MEMORY, KEY, Wishes, World, target, vttbr,
};
use bulkhead_abi::config::flags;
use bulkhead_abi::status::{Action, Cause, State, Trap};
use bulkhead_abi::{hypercall, psci};
use bulkhead_monitor_core::Power;
use std::sync::atomic::Ordering::Relaxed;

fn privileged() -> World {
    World::running(Wishes {
        flags: flags::PRIVILEGED,
        ..Wishes::default()
    })
}

#[test]
fn version_is_that_of_the_interface() {
    let world = World::running(Wishes::default());
    assert_eq!(world.call(0, &[hypercall::VERSION]), End::Returned);
    assert_eq!(world.answer(0), i64::from(bulkhead_abi::VERSION));
}

#[test]
fn announcing_raises_the_link_and_keeps_the_counters() {
    let world = World::running(Wishes::default());
    assert_eq!(world.link(0).state, State::Starting as u32);
    world.call(0, &[hypercall::UP]);
    world.call(0, &[hypercall::VERSION]);
    assert_eq!(world.link(0).state, State::Up as u32);
    assert_eq!(world.link(0).epoch, 1);
    let status = world.status(0);
    assert_eq!(status.cores[0].traps[Trap::Call as usize], 2);
    assert_eq!(status.cores[0].traps_at_up[Trap::Call as usize], 1);
}

#[test]
fn doorbells_ring_within_their_limit_and_say_nothing_beyond() {
    let world = World::running(Wishes::default());
    for _ in 0..5 {
        world.call(0, &[hypercall::DOORBELL, 0]);
        assert_eq!(world.answer(0), hypercall::OK);
    }
    let pa = GICD + 0x200 + u64::from(DOORBELL_INTID / 32) * 4;
    let ring = Effect::Write {
        pa,
        bytes: 4,
        value: 1 << (DOORBELL_INTID % 32),
    };
    assert_eq!(world.fake.take_effects(), [ring, ring]);
    let counters = world.status(0).doorbells[0];
    assert_eq!((counters.sent, counters.dropped), (2, 3));
}

#[test]
fn doorbells_that_are_not_there_are_refused() {
    let world = World::running(Wishes::default());
    for index in [1, 31, 32, 1 << 32, u64::MAX] {
        world.call(0, &[hypercall::DOORBELL, index]);
        assert_eq!(world.answer(0), hypercall::INVALID);
    }
    assert_eq!(world.fake.take_effects(), []);
}

#[test]
fn a_key_maps_and_unmaps_its_channel() {
    let world = World::running(Wishes::default());
    world.call(0, &[hypercall::ATTACH, KEY]);
    assert_eq!(world.answer(0), hypercall::OK);
    let frame = &world.cores[0].frame;
    assert_eq!((frame.x(1), frame.x(2)), (0x0C00_0000, 0x3000));
    for page in 0..3 {
        let entry = world.fake.read(ATTACHED + 8 * page, 8);
        assert_eq!(entry, ATTACHED_VALUE + 0x1000 * page);
    }
    world.call(0, &[hypercall::DETACH, KEY]);
    assert!((0..3).all(|page| world.fake.read(ATTACHED + 8 * page, 8) == 0));
    assert!(
        world
            .fake
            .take_effects()
            .contains(&Effect::Forget(vttbr(0)))
    );
    world.call(0, &[hypercall::ATTACH, KEY + 1]);
    assert_eq!(world.answer(0), hypercall::INVALID);
}

#[test]
fn a_restart_detaches() {
    let world = World::running(Wishes::default());
    world.call(2, &[hypercall::ATTACH, KEY]);
    assert_eq!(world.fake.read(ATTACHED, 8), ATTACHED_VALUE);
    assert_eq!(world.call(2, &[hypercall::FAIL, 1]), End::Resumed);
    assert!((0..3).all(|page| world.fake.read(ATTACHED + 8 * page, 8) == 0));
}

#[test]
fn a_failure_carries_its_code() {
    let world = World::running(Wishes::default());
    assert_eq!(world.call(2, &[hypercall::FAIL, 0xDEAD]), End::Resumed);
    let record = world.faults(1)[0];
    assert_eq!((record.cause, record.esr), (Cause::Panic as u32, 0xDEAD));
    assert_eq!(record.x[1], 0xDEAD);
}

#[test]
fn control_is_for_the_privileged() {
    let world = World::running(Wishes::default());
    world.call(0, &[hypercall::CONTROL, 1, 0]);
    assert_eq!(world.answer(0), hypercall::DENIED);
    assert!(!world.is_cut(1));
}

#[test]
fn control_stops_and_restarts_others() {
    let world = privileged();
    world.call(0, &[hypercall::CONTROL, 1, hypercall::Control::Halt as u64]);
    assert_eq!(world.answer(0), hypercall::OK);
    assert!(world.is_cut(1));
    assert_eq!(world.kicked(), [target(2)]);
    assert_eq!(world.fetch(2), End::Waits);
    assert_eq!(world.link(1).state, State::Down as u32);
    assert_eq!(world.faults(1)[0].action, Action::Halt as u32);

    world.call(
        0,
        &[hypercall::CONTROL, 1, hypercall::Control::Restart as u64],
    );
    assert_eq!(world.idle(2), End::Resumed);
    assert_eq!(
        (world.link(1).state, world.link(1).epoch),
        (State::Starting as u32, 2)
    );
    assert!(!world.is_cut(1));
}

#[test]
fn control_knows_no_other_partitions_and_no_other_wishes() {
    let world = privileged();
    for (partition, what) in [(3, 0), (u64::MAX, 1), (1, 2), (1, u64::MAX)] {
        world.call(0, &[hypercall::CONTROL, partition, what]);
        assert_eq!(world.answer(0), hypercall::INVALID);
    }
    assert_eq!(world.fake.take_effects(), []);
}

#[test]
fn a_partition_and_its_standby_never_run_together() {
    let world = privileged();
    world.call(0, &[hypercall::CONTROL, 2, 0]);
    assert_eq!(
        world.answer(0),
        hypercall::DENIED,
        "the standby while the first runs"
    );
    world.partitions[2].stopped.store(0, Relaxed);
    world.call(2, &[hypercall::CONTROL, 0, 0]);
    assert_eq!(
        world.answer(2),
        hypercall::DENIED,
        "the first while the standby runs"
    );
}

#[test]
fn undefined_calls_of_the_range_and_immediates_are_faults() {
    let injecting = Wishes {
        action: Action::Inject,
        ..Wishes::default()
    };
    let calls = [
        (hypercall::BASE + 8, 0),
        (hypercall::LAST, 0),
        (psci::VERSION, 1),
    ];
    let conduits = [(0x16, 0x1004), (0x17, 0x1000)];
    for ((class, elr), (function, immediate)) in conduits
        .into_iter()
        .flat_map(|conduit| calls.map(|call| (conduit, call)))
    {
        // An HVC is stepped over before it is taken, an SMC is trapped where it stands.
        let world = World::running(injecting);
        world.fake.0.vbar.set(0x8000);
        let frame = &world.cores[0].frame;
        frame.set_x(0, function);
        frame.set_elr(elr);
        frame.set_spsr(0x3C5);
        let end = world.exception(0, class << 26 | 1 << 25 | immediate);
        assert_eq!(end, End::Returned);
        let expected = Effect::ToEl1 {
            esr: 1 << 25,
            far: 0,
            elr: 0x1000,
            spsr: 0x3C5,
        };
        assert_eq!(world.fake.take_effects(), [expected], "at the call itself");
        assert_eq!(frame.elr(), 0x8200);
        assert_eq!(world.faults(0)[0].elr, 0x1000, "in the record too");
    }
}

#[test]
fn other_calls_do_not_exist() {
    let world = World::running(Wishes::default());
    for function in [
        0,
        0x8000_0001,
        0x8400_0001,
        0xC600_0100,
        0xC5FF_FFFF,
        0xC400_0001,
    ] {
        assert_eq!(world.call(0, &[function]), End::Returned);
        assert_eq!(world.answer(0), psci::NOT_SUPPORTED, "{function:#x}");
        world.call(0, &[psci::FEATURES, function]);
        assert_eq!(world.answer(0), psci::NOT_SUPPORTED, "{function:#x}");
    }
}

#[test]
fn every_psci_function_that_is_there_says_so() {
    let world = World::running(Wishes::default());
    for function in [
        psci::VERSION,
        psci::CPU_OFF,
        psci::CPU_ON,
        psci::CPU_ON_32,
        psci::AFFINITY_INFO,
        psci::AFFINITY_INFO_32,
        psci::MIGRATE_INFO_TYPE,
        psci::SYSTEM_OFF,
        psci::SYSTEM_RESET,
        psci::FEATURES,
        psci::SMCCC_VERSION,
    ] {
        world.call(0, &[psci::FEATURES, function]);
        assert_eq!(world.answer(0), psci::SUCCESS, "{function:#x}");
    }
    world.call(0, &[psci::VERSION]);
    assert_eq!(world.answer(0), psci::VERSION_1_1.cast_signed());
}

#[test]
fn an_smc_is_stepped_over_and_an_hvc_is_not() {
    let world = World::running(Wishes::default());
    let frame = &world.cores[0].frame;
    frame.set_elr(0x1000);
    frame.set_x(0, psci::VERSION);
    world.exception(0, 0x17 << 26 | 1 << 25);
    assert_eq!(frame.elr(), 0x1004);
    frame.set_x(0, psci::VERSION);
    world.exception(0, 0x16 << 26 | 1 << 25);
    assert_eq!(frame.elr(), 0x1004);
}

#[test]
fn a_core_is_started_once_and_only_by_its_own_partition() {
    let world = World::running(Wishes::default());
    let on = |core, target| {
        world.call(core, &[psci::CPU_ON, target, 0x4000_1000, 99]);
        world.answer(core)
    };
    assert_eq!(on(0, 2), psci::INVALID_PARAMETERS);
    assert_eq!(on(2, 1), psci::INVALID_PARAMETERS);
    assert_eq!(on(0, u64::MAX), psci::INVALID_PARAMETERS);
    assert_eq!(world.kicked(), []);
    assert_eq!(on(0, 0), psci::ALREADY_ON);
    assert_eq!(on(0, 1), psci::SUCCESS);
    assert_eq!(world.kicked(), [target(1)]);
    assert_eq!(on(0, 1), psci::ON_PENDING);
    assert_eq!(world.idle(1), End::Resumed);
    let frame = &world.cores[1].frame;
    assert_eq!(
        (frame.elr(), frame.x(0), frame.spsr()),
        (0x4000_1000, 99, 0x3C5)
    );
    assert_eq!(on(0, 1), psci::ALREADY_ON);
}

#[test]
fn affinity_tells_the_power_of_own_cores() {
    let world = World::running(Wishes::default());
    let info = |target| {
        world.call(0, &[psci::AFFINITY_INFO, target, 0]);
        world.answer(0)
    };
    assert_eq!(info(0), Power::On as i64);
    assert_eq!(info(1), Power::Off as i64);
    assert_eq!(info(2), psci::INVALID_PARAMETERS);
    assert_eq!(world.call(0, &[psci::CPU_OFF]), End::Waits);
    world.call(1, &[psci::AFFINITY_INFO, 0, 0]);
    assert_eq!(world.answer(1), Power::Off as i64);
}

#[test]
fn reset_and_off_concern_the_partition_alone() {
    for (function, cause) in [
        (psci::SYSTEM_RESET, Cause::Reset),
        (psci::SYSTEM_OFF, Cause::Off),
    ] {
        let world = World::running(Wishes::default());
        assert_eq!(world.call(2, &[function]), End::Resumed);
        assert_eq!(world.faults(1)[0].cause, cause as u32);
        assert_eq!((world.link(1).epoch, world.link(0).epoch), (2, 1));
        assert!(!world.is_cut(0));
    }
}

#[test]
fn an_image_outside_the_memory_is_not_started() {
    let world = World::running(Wishes::default());
    let [start, bytes] = GUEST_MEMORY;
    for entry in [0, start - 4, start + bytes, 1 << 45, u64::MAX] {
        let end = world.call(2, &[hypercall::EXEC, entry, 5]);
        assert_eq!(end, End::Returned, "{entry:#x}");
        assert_eq!(world.answer(2), hypercall::INVALID);
    }
    assert_eq!(world.link(1).epoch, 1);
}

#[test]
fn a_guest_starts_an_image_of_its_own() {
    let world = World::running(Wishes::default());
    assert_eq!(
        world.call(2, &[hypercall::EXEC, 0x4004_0000, 5]),
        End::Resumed
    );
    let frame = &world.cores[2].frame;
    assert_eq!((frame.elr(), frame.x(0), frame.x(2)), (0x4004_0000, 5, 0));
    assert_eq!(world.link(1).epoch, 2);
    let effects = world.fake.take_effects();
    assert!(effects.contains(&Effect::Reset));
    assert!(
        !effects
            .iter()
            .any(|effect| matches!(effect, Effect::Transfer(..)))
    );
}
