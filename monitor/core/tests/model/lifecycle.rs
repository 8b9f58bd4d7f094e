//! Starting and stopping a partition of one core

use crate::fake::{Effect, End, FREQUENCY};
use crate::world::{
    ALARM, GICD, GUEST_PRIVATE, HYPERVISOR, MEMORY, SEGMENT, Wishes, World, gicr, mpidr, roots,
    set_private, spis, vttbr,
};
use bulkhead_abi::hypercall;
use bulkhead_abi::status::{Action, State};
use bulkhead_monitor_core::{Core, Transfer};

#[test]
fn the_first_start_loads_and_enters() {
    let world = World::new(Wishes::default());
    assert_eq!(world.link(1).state, State::Down as u32);
    assert_eq!(world.idle(2), End::Resumed);
    let frame = &world.cores[2].frame;
    assert_eq!(
        (frame.elr(), frame.x(0), frame.spsr()),
        (0x4000_0000, 0x4444, 0x3C5)
    );
    let link = world.link(1);
    assert_eq!((link.state, link.epoch), (State::Starting as u32, 1));
    let status = world.status(1);
    assert_eq!(
        (
            status.restarts,
            world.faults(1).len(),
            status.last_restart_ticks
        ),
        (0, 0, 0)
    );
}

#[test]
fn segments_are_loaded_page_by_page_where_stage_2_says() {
    let world = World::new(Wishes::default());
    world.idle(2);
    let effects = world.fake.take_effects();
    let transfers: Vec<_> = effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Transfer(..)))
        .copied()
        .collect();
    let to = MEMORY + SEGMENT.ipa;
    // 0x0F00 to 0x1000, 0x1000 to 0x1F40; then zeros to 0x1FC0; then clean to 0x2000 and 0x2FC0.
    let expected = [
        Effect::Transfer(Transfer::Copy, to, SEGMENT.pa, 0x100),
        Effect::Transfer(Transfer::Copy, to + 0x100, SEGMENT.pa + 0x100, 0xF40),
        Effect::Transfer(Transfer::Zero, to + 0x1040, 0, 0x80),
        Effect::Transfer(Transfer::Clean, to + 0x10C0, 0, 0x40),
        Effect::Transfer(Transfer::Clean, to + 0x1100, 0x40, 0xFC0),
    ];
    assert_eq!(transfers, expected);
    let published = effects.iter().position(|effect| *effect == Effect::Publish);
    let last = effects
        .iter()
        .rposition(|effect| matches!(effect, Effect::Transfer(..)));
    assert!(published > last);
}

#[test]
fn a_start_silences_what_the_partition_owns_and_nothing_else() {
    let world = World::running(Wishes::default());
    world.call(2, &[hypercall::FAIL, 0]);
    let effects = world.fake.take_effects();
    for bank in [0x180, 0x280, 0x380] {
        for word in [1, 6] {
            let value = u64::from(spis(1)[word as usize]);
            let write = Effect::Write {
                pa: GICD + bank + 4 * word,
                bytes: 4,
                value,
            };
            assert!(effects.contains(&write), "{bank:#x} {word}");
        }
    }
    let route = Effect::Write {
        pa: GICD + 0x6000 + 8 * 40,
        bytes: 8,
        value: mpidr(2),
    };
    assert!(effects.contains(&route));
    for effect in effects {
        let Effect::Write { pa, bytes, value } = effect else {
            continue;
        };
        assert!(
            !(gicr(0)..gicr(2)).contains(&pa),
            "another's redistributor at {pa:#x}"
        );
        if (GICD + 0x400..GICD + 0x800).contains(&pa) {
            let intid = (pa - GICD - 0x400) as usize;
            assert_eq!((bytes, value), (1, 0xA0));
            assert_ne!(
                spis(1)[intid / 32] >> (intid % 32) & 1,
                0,
                "priority of {intid}"
            );
        }
    }
}

#[test]
fn private_interrupts_of_the_monitor_survive_a_start() {
    let world = World::running(Wishes::default());
    world.call(2, &[hypercall::FAIL, 0]);
    let private = gicr(2) + 0x1_0000;
    let monitors = u64::from(!(GUEST_PRIVATE | ALARM));
    for effect in world.fake.take_effects() {
        let Effect::Write { pa, value, .. } = effect else {
            continue;
        };
        if [0x180, 0x280, 0x380]
            .map(|bank| private + bank)
            .contains(&pa)
        {
            assert_eq!(value & monitors, 0);
        }
        for intid in HYPERVISOR {
            assert_ne!(pa, private + 0x400 + intid);
        }
    }
}

#[test]
fn the_root_is_cut_before_and_restored_after_with_the_translations_forgotten() {
    let world = World::running(Wishes::default());
    world.call(2, &[hypercall::FAIL, 0]);
    let effects = world.fake.take_effects();
    let position = |sought: Effect| effects.iter().position(|effect| *effect == sought);
    let [first, ..] = roots(1);
    let cut = position(Effect::Write {
        pa: first.pa,
        bytes: 8,
        value: 0,
    });
    let restored = position(Effect::Write {
        pa: first.pa,
        bytes: 8,
        value: first.open,
    });
    let forgotten = effects
        .iter()
        .rposition(|effect| *effect == Effect::Forget(vttbr(1)));
    assert!(cut.is_some() && cut < position(Effect::Forget(vttbr(1))));
    assert!(cut < restored && restored < forgotten);
    assert!(!world.is_cut(1));
}

#[test]
fn a_pause_comes_before_the_restart() {
    let backoff = 50 * FREQUENCY;
    let world = World::running(Wishes {
        backoff,
        ..Wishes::default()
    });
    assert_eq!(world.call(2, &[hypercall::FAIL, 0]), End::Waits);
    let Some(Effect::Alarm(at)) = world.fake.take_effects().pop() else {
        panic!("no alarm")
    };
    assert!(at.abs_diff(world.fake.0.now.get() + backoff) < 100);
    assert_eq!(world.idle(2), End::Waits, "too early");
    world.fake.0.now.set(at);
    assert_eq!(world.idle(2), End::Resumed);
    assert!(world.status(1).last_restart_ticks >= backoff);
}

#[test]
fn a_core_without_a_guest_is_not_woken_by_its_interrupts() {
    let world = World::running(Wishes {
        action: Action::Halt,
        ..Wishes::default()
    });
    assert_eq!(world.call(2, &[hypercall::FAIL, 0]), End::Waits);
    let effects = world.fake.take_effects();
    let position = |sought: Effect| effects.iter().rposition(|effect| *effect == sought);
    assert!(position(Effect::Disown) > position(Effect::Reset));
}

#[test]
fn a_guest_never_sees_the_monitors_interrupt() {
    let world = World::running(Wishes::default());
    world.call(2, &[hypercall::FAIL, 0]);
    let effects = world.fake.take_effects();
    let position = |sought: Effect| effects.iter().rposition(|effect| *effect == sought);
    let (enabled, disabled) = (set_private(2, 0x100), set_private(2, 0x180));
    assert!(position(enabled) < position(disabled));
    assert!(position(disabled) < position(Effect::Alarm(u64::MAX)));
}

#[test]
fn restart_times_are_kept() {
    let world = World::running(Wishes::default());
    world.call(2, &[hypercall::FAIL, 0]);
    let first = world.status(1).last_restart_ticks;
    assert!((1..1000).contains(&first));
    assert_eq!(world.status(1).worst_restart_ticks, first);
}

#[test]
fn the_alternate_image_has_its_own_entry() {
    let world = World::running(Wishes {
        action: Action::Alternate,
        ..Wishes::default()
    });
    assert_eq!(world.call(2, &[hypercall::FAIL, 0]), End::Resumed);
    let frame = &world.cores[2].frame;
    assert_eq!((frame.elr(), frame.x(0)), (0x4001_0000, 0x5555));
}

#[test]
fn the_state_leaves_room_for_a_stack_in_its_page() {
    assert!(size_of::<Core>() <= 1536, "{} bytes", size_of::<Core>());
    assert_eq!(size_of::<Core>() % 16, 0);
}
