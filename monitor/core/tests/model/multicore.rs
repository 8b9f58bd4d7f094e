//! Cores that work together, one after the other and while the other waits

use crate::fake::{Effect, End, Fake};
use crate::world::{Wishes, World, target};
use bulkhead_abi::status::{Action, Cause, FaultRecord, State};
use bulkhead_abi::{hypercall, psci};
use bulkhead_monitor_core::{Core, Monitor, Power};
use std::sync::atomic::Ordering::Relaxed;

/// Both cores of the first partition run.
fn two_cores(wishes: Wishes) -> World {
    let world = World::running(wishes);
    world.call(0, &[psci::CPU_ON, 1, 0x4000_2000, 0]);
    assert_eq!(world.idle(1), End::Resumed);
    world.fake.take_effects();
    world
}

/// While one core spins, the other leaves its guest.
fn other_attends(world: &World, core: usize) {
    let (fake, core): (Fake, &'static Core) = (world.fake, world.cores[core]);
    *fake.0.meanwhile.borrow_mut() = Some(Box::new(move || {
        fake.run(|| {
            Monitor {
                machine: fake,
                core,
            }
            .idle()
        });
    }));
}

#[test]
fn a_fault_of_the_second_core_is_judged_by_the_first() {
    let world = two_cores(Wishes::default());
    let frame = &world.cores[1].frame;
    frame.set_elr(0x1111);
    frame.set_ipa(0x7777_0000);
    assert_eq!(world.exception(1, 0x20 << 26 | 1 << 25 | 7), End::Waits);
    assert_eq!(world.kicked(), [target(0)]);
    assert!(world.is_cut(0));
    other_attends(&world, 1);
    assert_eq!(world.fetch(0), End::Resumed);
    let record = world.faults(0)[0];
    assert_eq!(
        (record.core, record.elr, record.ipa),
        (1, 0x1111, 0x7777_0000)
    );
    assert_eq!(record.cause, Cause::Violation as u32);
    assert_eq!(
        (world.link(0).state, world.link(0).epoch),
        (State::Starting as u32, 2)
    );
    assert_eq!(world.cores[1].power.load(Relaxed), Power::Off as u64);
    assert_eq!(world.idle(1), End::Waits, "until the new image starts it");
}

#[test]
fn injected_faults_concern_their_own_core() {
    let world = two_cores(Wishes {
        action: Action::Inject,
        ..Wishes::default()
    });
    world.fake.0.vbar.set(0x8000);
    assert_eq!(world.exception(1, 0), End::Returned);
    assert_eq!(world.kicked(), []);
    assert_eq!(world.faults(0)[0].core, 1);
}

#[test]
fn a_restart_parks_the_other_cores_first() {
    let world = two_cores(Wishes::default());
    other_attends(&world, 1);
    assert_eq!(world.call(0, &[hypercall::FAIL, 0]), End::Resumed);
    assert_eq!(world.kicked(), [target(1); 2], "it is parked twice");
    assert_eq!(world.cores[1].power.load(Relaxed), Power::Off as u64);
    world.call(0, &[psci::CPU_ON, 1, 0x4000_3000, 7]);
    assert_eq!(world.idle(1), End::Resumed);
    assert_eq!(world.cores[1].frame.elr(), 0x4000_3000);
}

#[test]
fn a_core_that_does_not_come_stops_the_partition_and_is_reported() {
    let world = two_cores(Wishes::default());
    assert_eq!(world.call(0, &[hypercall::FAIL, 0]), End::Waits);
    assert!(world.is_cut(0));
    let log = world.faults(0);
    let [hang, panic] = [Cause::Hang, Cause::Panic].map(|cause| {
        let found = log.iter().find(|record| record.cause == cause as u32);
        *found.expect("a record of each cause")
    });
    assert_eq!((hang.core, hang.cause), (1, Cause::Hang as u32));
    assert_eq!((panic.core, panic.action), (0, Action::Halt as u32));
    assert_eq!(world.link(0).state, State::Down as u32);
    assert_eq!(world.idle(0), End::Waits);
}

#[test]
fn an_image_of_the_guests_own_waits_for_the_other_cores_too() {
    let exec = [hypercall::EXEC, 0x4000_4000, 1];
    let world = two_cores(Wishes::default());
    assert_eq!(world.call(0, &exec), End::Waits);
    assert!(world.is_cut(0));
    assert_eq!(world.faults(0)[0].core, 1);
}

#[test]
fn the_first_core_starts_an_image_that_another_one_names() {
    let world = two_cores(Wishes::default());
    assert_eq!(
        world.call(1, &[hypercall::EXEC, 0x4000_4000, 7]),
        End::Waits
    );
    assert!(world.is_cut(0));
    world.others_idle(1);
    assert_eq!(world.fetch(0), End::Resumed);
    let frame = &world.cores[0].frame;
    assert_eq!((frame.elr(), frame.x(0)), (0x4000_4000, 7));
    assert_eq!(world.cores[1].power.load(Relaxed), Power::Off as u64);
    assert_eq!((world.link(0).epoch, world.faults(0).len()), (2, 0));
}

#[test]
fn a_reset_wins_against_an_image_of_the_guests_own_in_either_order() {
    for first in [0, 1] {
        let world = two_cores(Wishes::default());
        let calls: [&[u64]; 2] = [&[psci::SYSTEM_RESET], &[hypercall::EXEC, 0x4000_4000, 1]];
        // The leader resets while the other core names an image, and the other way round.
        if first == 0 {
            world.call(1, calls[1]);
            world.others_idle(1);
            assert_eq!(world.call(0, calls[0]), End::Resumed);
        } else {
            world.call(1, calls[0]);
            world.others_idle(1);
            assert_eq!(world.call(0, calls[1]), End::Resumed);
        }
        assert_eq!(
            world.cores[0].frame.elr(),
            0x4000_0000,
            "the pristine image"
        );
        assert_eq!(world.link(0).epoch, 2);
        assert_eq!(world.faults(0)[0].cause, Cause::Reset as u32);
        assert_eq!(world.idle(1), End::Waits);
        assert!(!world.is_cut(0), "and it runs");
    }
}

#[test]
fn nothing_of_a_lost_core_is_told_but_that_it_is_lost() {
    let world = two_cores(Wishes::default());
    let frame = &world.cores[1].frame;
    frame.set_elr(0x1111);
    frame.set_x(7, 0x2222);
    world.call(0, &[hypercall::FAIL, 0]);
    let log = world.faults(0);
    let lost = |record: &&FaultRecord| record.cause == Cause::Hang as u32;
    let record = log.iter().find(lost).expect("a record");
    assert_eq!((record.core, record.cause), (1, Cause::Hang as u32));
    assert_eq!((record.elr, record.x[7], record.esr), (0, 0, 0));
    assert!(record.ticks > 0);
}

#[test]
fn no_core_is_started_while_its_partition_is_stopped() {
    let world = World::running(Wishes::default());
    for entry in crate::world::roots(0) {
        world.fake.poke(entry.pa, 8, 0);
    }
    world.call(0, &[psci::CPU_ON, 1, 0x4000_2000, 0]);
    assert_eq!(world.answer(0), psci::INTERNAL_FAILURE);
    assert_eq!(world.cores[1].power.load(Relaxed), Power::Off as u64);
}

#[test]
fn a_core_that_was_being_started_while_its_partition_stopped_does_not_enter_the_next_image() {
    let world = two_cores(Wishes::default());
    world.call(1, &[psci::CPU_OFF]);
    world.call(0, &[psci::CPU_ON, 1, 0x4000_2000, 0]);
    world.others_idle(1);
    assert_eq!(world.call(0, &[hypercall::FAIL, 0]), End::Resumed);
    assert_eq!(world.idle(1), End::Waits);
    assert_eq!(world.cores[1].power.load(Relaxed), Power::Off as u64);
}

#[test]
fn a_stop_that_overtakes_a_start_is_not_lost() {
    // A privileged partition orders a halt while the leader has opened the root but not entered the guest.
    let world = two_cores(Wishes::default());
    let partition = world.partitions[0];
    partition.stoppers.store(1, Relaxed);
    let (fake, leader): (Fake, &'static Core) = (world.fake, world.cores[0]);
    let sibling = world.cores[1];
    *fake.0.meanwhile.borrow_mut() = Some(Box::new(move || {
        if sibling.requests.load(Relaxed) != 0 {
            fake.run(|| {
                Monitor {
                    machine: fake,
                    core: sibling,
                }
                .idle()
            });
        } else if partition.stoppers.load(Relaxed) != 0 {
            leader.requests.fetch_or(1 << 4, Relaxed);
            partition.stoppers.store(0, Relaxed);
            // The leader sets an alarm that is due: its next wait ends at once.
            fake.0.patience.set(1);
        }
    }));
    assert_eq!(world.call(0, &[hypercall::FAIL, 0]), End::Waits);
    assert!(world.is_cut(0));
    assert_eq!(world.link(0).state, State::Down as u32);
}

#[test]
fn a_core_of_a_partition_that_is_cut_waits_for_what_follows() {
    let world = two_cores(Wishes::default());
    for entry in crate::world::roots(0) {
        world.fake.poke(entry.pa, 8, 0);
    }
    for esr in [0x20 << 26, 0x24 << 26] {
        assert_eq!(world.exception(1, esr), End::Waits);
    }
    assert!(world.faults(0).is_empty());
}

#[test]
fn what_was_asked_because_of_the_old_image_does_not_hit_the_new_one() {
    let world = two_cores(Wishes::default());
    // The second core fails and asks while the first is about to restart for its own reason.
    assert_eq!(world.exception(1, 0x20 << 26 | 7), End::Waits);
    world.others_idle(1);
    assert_eq!(world.call(0, &[hypercall::FAIL, 0]), End::Resumed);
    assert_eq!(world.cores[0].requests.load(Relaxed), 0);
    assert_eq!(world.link(0).epoch, 2);
}

#[test]
fn interrupts_between_processors_reach_own_cores_only() {
    let world = two_cores(Wishes::default());
    let send = |value: u64| {
        world.fake.take_effects();
        world.cores[0].frame.set_x(5, value);
        let sgi1r = 3 << 20 | 5 << 17 | 12 << 10 | 11 << 1 | 5 << 5;
        assert_eq!(
            world.exception(0, 0x18 << 26 | 1 << 25 | sgi1r),
            End::Returned
        );
        world.fake.take_effects()
    };
    let sent = |core, intid: u64| Effect::Ipi(target(core) | intid << 24);
    assert_eq!(send(0b11 | 4 << 24), [sent(0, 4), sent(1, 4)]);
    assert_eq!(send(0xFFFF | 4 << 24), [sent(0, 4), sent(1, 4)]);
    assert_eq!(send(1 << 40 | 1 << 24), [sent(1, 1)], "all but self");
    assert_eq!(send(1 << 16 | 0xFFFF | 4 << 24), [], "another cluster");
    assert_eq!(send(1 << 44 | 0xFFFF | 4 << 24), [], "another range");
    assert_eq!(send(1 << 48 | 0xFFFF | 4 << 24), [], "another machine part");
    assert_eq!(
        send(0b10 | 15 << 24),
        [sent(1, 15)],
        "every number is the guest's"
    );
}

#[test]
fn interrupts_of_other_groups_reach_no_core() {
    let world = two_cores(Wishes::default());
    for op2 in [6, 7] {
        world.cores[0].frame.set_x(5, 0xFFFF | 1 << 40);
        let register = 3 << 20 | op2 << 17 | 12 << 10 | 11 << 1 | 5 << 5;
        assert_eq!(
            world.exception(0, 0x18 << 26 | 1 << 25 | register),
            End::Returned
        );
        assert_eq!(world.fake.take_effects(), []);
    }
}

#[test]
fn translations_are_forgotten_on_the_own_core() {
    let world = World::running(Wishes::default());
    let tlbi_vmalle1is = 1 << 20 | 8 << 10 | 3 << 1;
    assert_eq!(
        world.exception(2, 0x18 << 26 | 1 << 25 | tlbi_vmalle1is),
        End::Returned
    );
    assert_eq!(world.fake.take_effects(), [Effect::ForgetStage1]);
}
