//! Heartbeats, as a spare core looks after them

use crate::fake::{Effect, End, FREQUENCY};
use crate::world::{HEARTBEAT, PERIOD, SPARE, STARTUP, Wishes, World, target};
use bulkhead_abi::hypercall;
use bulkhead_abi::status::{Action, Cause, State};
use bulkhead_monitor_core::Transfer;

/// Later than the start.
fn beat(world: &World) -> u64 {
    advance(world, 1);
    let now = world.fake.0.now.get();
    world.fake.poke(HEARTBEAT, 8, now);
    now
}

fn advance(world: &World, ticks: u64) {
    world.fake.0.now.set(world.fake.0.now.get() + ticks);
}

/// The spare core looks once; what it set its alarm to.
fn look(world: &World) -> u64 {
    world.fake.take_effects();
    assert_eq!(world.idle(SPARE), End::Waits);
    let effects = world.fake.0.effects.borrow();
    let Some(Effect::Alarm(at)) = effects.last() else {
        panic!("no alarm")
    };
    *at
}

#[test]
fn a_beating_partition_is_left_alone() {
    let world = World::running(Wishes::default());
    for _ in 0..10 {
        let now = beat(&world);
        assert_eq!(
            look(&world),
            now + PERIOD + 1,
            "when its silence would be too long"
        );
        assert_eq!(world.kicked(), []);
        advance(&world, PERIOD / 2);
    }
}

#[test]
fn silence_stops_and_restarts() {
    let world = World::running(Wishes::default());
    beat(&world);
    advance(&world, PERIOD + 10);
    look(&world);
    assert_eq!(world.kicked(), [target(2)]);
    assert!(world.is_cut(1));
    assert_eq!(world.fetch(2), End::Resumed);
    assert_eq!(world.faults(1)[0].cause, Cause::Hang as u32);
    assert_eq!(world.link(1).epoch, 2);
}

#[test]
fn the_first_beat_or_the_announcement_ends_the_start_up_time() {
    let world = World::running(Wishes::default());
    let start = world.link(1).since_ticks;
    advance(&world, 10 * PERIOD);
    assert_eq!(
        look(&world),
        start + STARTUP + 1,
        "when it would be too long"
    );
    assert_eq!(world.kicked(), []);
    world.call(2, &[hypercall::UP]);
    look(&world);
    assert_eq!(world.kicked(), [], "it has just announced itself");
    advance(&world, PERIOD + 10);
    look(&world);
    assert_eq!(world.kicked(), [target(2)]);
}

#[test]
fn a_start_that_hangs_is_noticed_also_after_a_restart() {
    let world = World::running(Wishes::default());
    for epoch in [2, 3] {
        advance(&world, STARTUP + 10);
        look(&world);
        assert_eq!(world.kicked(), [target(2)]);
        assert_eq!(world.fetch(2), End::Resumed);
        assert_eq!(world.link(1).epoch, epoch);
        world.fake.poke(HEARTBEAT, 8, 0);
        look(&world);
        assert_eq!(world.kicked(), [], "its time begins anew");
    }
    let log = world.faults(1);
    assert_eq!([log[0].cause, log[1].cause], [Cause::Hang as u32; 2]);
}

#[test]
fn a_heartbeat_of_the_future_is_none() {
    let world = World::running(Wishes::default());
    let start = world.link(1).since_ticks;
    world.fake.poke(HEARTBEAT, 8, u64::MAX);
    assert_eq!(look(&world), start + STARTUP + 1, "its start-up time runs");
    assert_eq!(world.kicked(), []);
    advance(&world, STARTUP + 10);
    for future in [u64::MAX, world.fake.0.now.get() + 10 * PERIOD] {
        world.fake.poke(HEARTBEAT, 8, future);
        look(&world);
        assert_eq!(world.kicked(), [target(2)]);
    }
}

#[test]
fn a_stopped_partition_is_not_watched() {
    let world = World::running(Wishes {
        action: Action::Halt,
        ..Wishes::default()
    });
    beat(&world);
    world.call(2, &[hypercall::FAIL, 0]);
    advance(&world, 10 * PERIOD);
    let next = look(&world);
    assert_eq!(
        next,
        world.fake.0.now.get() + PERIOD,
        "it may be started meanwhile"
    );
    assert_eq!(world.kicked(), []);
}

#[test]
fn a_partition_that_does_not_come_is_reported_once_and_judged_when_it_comes() {
    let world = World::running(Wishes::default());
    beat(&world);
    advance(&world, PERIOD + 10);
    look(&world);
    advance(&world, 2 * FREQUENCY);
    look(&world);
    look(&world);
    let log = world.faults(1);
    assert_eq!(log.len(), 1);
    assert_eq!(
        (log[0].cause, log[0].action),
        (Cause::Hang as u32, Action::Halt as u32)
    );
    assert_eq!(log[0].elr, 0, "nothing is known of where it is");
    assert_eq!(world.link(1).state, State::Down as u32);
    assert_eq!(world.fetch(2), End::Resumed, "late, but not too late");
    assert_eq!(world.link(1).state, State::Starting as u32);
}

/// A partition that is watched by changes of 32 bits.
fn changing() -> World {
    World::running(Wishes {
        by_change: true,
        ..Wishes::default()
    })
}

#[test]
fn a_word_that_changes_is_a_sign_of_life_whatever_it_says() {
    let world = changing();
    for word in [1, u32::MAX, 7, 0, 3] {
        world.fake.poke(HEARTBEAT, 4, word.into());
        let now = world.fake.0.now.get();
        let next = look(&world);
        assert!(next <= now + STARTUP + 1, "{word}");
        assert_eq!(world.kicked(), [], "{word}");
        advance(&world, PERIOD);
    }
}

#[test]
fn a_word_that_no_longer_changes_is_a_hang_at_the_second_look() {
    let world = changing();
    look(&world);
    world.fake.poke(HEARTBEAT, 4, 1);
    advance(&world, PERIOD);
    assert_eq!(
        look(&world),
        world.fake.0.now.get() + PERIOD + 1,
        "the change is seen now"
    );
    advance(&world, PERIOD + 1);
    look(&world);
    assert_eq!(world.kicked(), [target(2)]);
    assert_eq!(world.fetch(2), End::Resumed);
    assert_eq!(world.faults(1)[0].cause, Cause::Hang as u32);
}

#[test]
fn what_a_restart_does_to_the_word_is_no_sign_of_life() {
    let world = changing();
    look(&world);
    world.fake.poke(HEARTBEAT, 4, 9);
    advance(&world, PERIOD);
    look(&world);
    advance(&world, PERIOD + 1);
    look(&world);
    assert_eq!(world.fetch(2), End::Resumed);
    // The image is loaded anew.
    world.fake.poke(HEARTBEAT, 4, 0);
    let start = world.link(1).since_ticks;
    assert_eq!(look(&world), start + STARTUP + 1, "its start-up time runs");
    advance(&world, 2 * PERIOD);
    look(&world);
    assert_eq!(world.kicked(), []);
    advance(&world, STARTUP);
    look(&world);
    assert_eq!(world.kicked(), [target(2)], "nothing ever changed");
}

#[test]
fn the_word_is_read_past_the_caches() {
    let world = changing();
    look(&world);
    let effects = world.fake.0.effects.borrow();
    let line = Effect::Transfer(Transfer::Clean, HEARTBEAT & !63, 0, 64);
    assert!(effects.contains(&line), "{effects:?}");
}
