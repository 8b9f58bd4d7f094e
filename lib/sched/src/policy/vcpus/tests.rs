use super::*;
use crate::Scheduler;
use crate::budget::Budget;
use crate::policy::decisions::run;
use crate::policy::{Slot, TimeTable};

fn main(policy: &mut Vcpus<8, 4, 8>, capacity: Time, period: Time) -> ServerId {
    policy
        .add_main(Capacity { capacity, period }, 0)
        .expect("room")
}

/// A storm on the device of the less important VCPU: the more important one keeps its C in T, and
/// the storm gets its share and no more.
#[test]
fn an_interrupt_storm_is_paid_by_its_cause() {
    let mut policy = Vcpus::<8, 4, 8>::new(false);
    let fast = main(&mut policy, 4, 10);
    let slow = main(&mut policy, 10, 40);
    let eighth = Utilisation::ratio(1, 8).expect("valid");
    let io = policy.add_io(eighth, [40, 40], 0).expect("room");
    let mut scheduler = Scheduler::<_, 8>::new(policy);
    let storm = Binding {
        vcpu: io,
        cause: slow,
    };
    let threads = [Binding::main(fast), Binding::main(slow), storm]
        .map(|binding| scheduler.add(binding, 0).expect("room"));
    for thread in threads {
        scheduler.wakeup(thread, 0);
    }
    let (mut ran, mut now) = ([0; 3], 0);
    while now < 4000 {
        let decision = scheduler.decide(now);
        scheduler.dispatched(decision.thread, now);
        let next = decision.timer.min(4000);
        if let Some(thread) = decision.thread {
            ran[thread.index()] += next - now;
        }
        now = next;
    }
    assert_eq!(ran[0], 1600);
    assert!(ran[1] >= 1000 - 10, "{ran:?}");
    assert!((495..=505).contains(&ran[2]), "{ran:?}");
}

#[test]
fn a_more_important_request_raises_the_priority_at_once() {
    let mut policy = Vcpus::<8, 4, 8>::new(false);
    let fast = main(&mut policy, 4, 10);
    let slow = main(&mut policy, 10, 40);
    let half = Utilisation::ratio(1, 2).expect("valid");
    let io = policy.add_io(half, [10, 40], 0).expect("room");
    let mut scheduler = Scheduler::<_, 8>::new(policy);
    let bind = |cause| Binding { vcpu: io, cause };
    let for_slow = scheduler.add(bind(slow), 0).expect("room");
    let for_fast = scheduler.add(bind(fast), 0).expect("room");
    scheduler.wakeup(for_slow, 0);
    let priority =
        |scheduler: &Scheduler<Vcpus<8, 4, 8>, 8>| scheduler.policy().servers().priority(io);
    assert_eq!(priority(&scheduler), Some(Priority(1)));
    scheduler.wakeup(for_fast, 1);
    assert_eq!(priority(&scheduler), Some(Priority(0)));
    scheduler.block(for_fast, NEVER, 2);
    assert_eq!(priority(&scheduler), Some(Priority(1)));
    let lost = Binding {
        vcpu: fast,
        cause: slow,
    };
    assert_eq!(scheduler.add(lost, 2), Err(Refusal::BadParameters));
    assert_eq!(scheduler.add(bind(io), 2), Err(Refusal::BadParameters));
}

/// The VCPU for which it works goes, and another comes: it is as important as that one from then on, idle or not, also once that one has another
/// budget; and what it may take at once is a share of that one's period.
#[test]
fn a_bottom_half_is_given_another_cause() {
    let mut policy = Vcpus::<8, 4, 8>::new(false);
    let fast = main(&mut policy, 4, 10);
    let slow = main(&mut policy, 10, 40);
    let quarter = Utilisation::ratio(1, 4).expect("valid");
    let io = policy
        .add_io(quarter, [1, Time::MAX >> 3], 0)
        .expect("room");
    let mut scheduler = Scheduler::<_, 8>::new(policy);
    let bind = |cause| Binding { vcpu: io, cause };
    let half = scheduler.add(bind(slow), 0).expect("room");
    let seen = |scheduler: &Scheduler<Vcpus<8, 4, 8>, 8>, now| {
        let servers = scheduler.policy().servers();
        let budget = servers.budget(io).expect("it is there");
        (servers.priority(io), budget.available(now))
    };
    scheduler.wakeup(half, 0);
    assert_eq!(seen(&scheduler, 0), (Some(Priority(1)), 10));
    scheduler.block(half, NEVER, 0);
    scheduler.set_parameters(half, bind(fast), 1).expect("fits");
    assert_eq!(seen(&scheduler, 1), (Some(Priority(0)), 2));
    scheduler.wakeup(half, 2);
    scheduler.set_parameters(half, bind(slow), 2).expect("fits");
    assert_eq!(seen(&scheduler, 2), (Some(Priority(1)), 10));
    scheduler.block(half, NEVER, 2);
    let faster = Capacity {
        capacity: 1,
        period: 5,
    };
    scheduler
        .policy_mut(3)
        .set_limits(slow, faster, 3)
        .expect("it is idle");
    scheduler.wakeup(half, 4);
    assert_eq!(seen(&scheduler, 4).0, Some(Priority(0)));
}

/// A VCPU that was the least important with 10/100 is the most important with 2/5, and has 2 in every 5.
#[test]
fn an_idle_vcpu_is_given_another_budget() {
    let mut policy = Vcpus::<8, 4, 8>::new(false);
    let steady = main(&mut policy, 5, 10);
    let other = main(&mut policy, 10, 100);
    let mut scheduler = Scheduler::<_, 8>::new(policy);
    let [busy, idle] =
        [steady, other].map(|vcpu| scheduler.add(Binding::main(vcpu), 0).expect("room"));
    scheduler.wakeup(busy, 0);
    scheduler.wakeup(idle, 0);
    let limits = Capacity {
        capacity: 2,
        period: 5,
    };
    let set = |scheduler: &mut Scheduler<Vcpus<8, 4, 8>, 8>, limits, now| {
        scheduler.policy_mut(now).set_limits(other, limits, now)
    };
    assert_eq!(
        set(&mut scheduler, limits, 0),
        Err(Refusal::BadParameters),
        "it has work"
    );
    scheduler.block(idle, NEVER, 0);
    let bad = Capacity {
        capacity: 6,
        period: 5,
    };
    assert_eq!(set(&mut scheduler, bad, 0), Err(Refusal::BadParameters));
    assert_eq!(set(&mut scheduler, limits, 0), Ok(()));
    scheduler.wakeup(idle, 0);
    run(&mut scheduler, 0, Some(idle), 2);
    run(&mut scheduler, 2, Some(busy), 5);
    run(&mut scheduler, 5, Some(idle), 7);
}

type Placed = Vcpus<8, 8, 8, 3, 4>;

fn placed(slots: &[Slot]) -> Placed {
    let mut policy = Placed::new(false);
    policy.set_order(Order::FixedPriority).expect("new");
    let table = TimeTable::of(slots).expect("valid");
    policy.servers_mut().set_table(table).expect("valid");
    policy
}

/// An L3C task in a band above two time partitions and TP0.
#[test]
fn slots_tp0_and_a_band() {
    let slot = |end, partition| Slot { end, partition };
    let mut policy = placed(&[slot(50, 1), slot(100, 2)]);
    policy
        .servers_mut()
        .add_band(Priority(3))
        .expect("no band yet");
    let whole = Capacity {
        capacity: 1000,
        period: 1000,
    };
    let echo = Capacity {
        capacity: 5,
        period: 40,
    };
    let places = [
        (whole, Place::Partition(1, Priority(4))),
        (whole, Place::Partition(2, Priority(4))),
        (whole, Place::Partition(0, Priority(4))),
        (echo, Place::Band(Priority(3))),
    ];
    let vcpus = places.map(|(limits, place)| policy.add_placed(limits, place, 0).expect("room"));
    let mut scheduler = Scheduler::<_, 8>::new(policy);
    let [one, two, tp0, l3c] =
        vcpus.map(|vcpu| scheduler.add(Binding::main(vcpu), 0).expect("room"));
    for thread in [one, two, l3c] {
        scheduler.wakeup(thread, 0);
    }
    run(&mut scheduler, 0, Some(l3c), 5);
    run(&mut scheduler, 5, Some(one), 40);
    run(&mut scheduler, 40, Some(l3c), 45);
    run(&mut scheduler, 45, Some(one), 50);
    run(&mut scheduler, 50, Some(two), 80);
    scheduler.wakeup(tp0, 60);
    run(&mut scheduler, 60, Some(tp0), 80);
    scheduler.block(tp0, NEVER, 70);
    run(&mut scheduler, 70, Some(two), 80);
    run(&mut scheduler, 80, Some(l3c), 85);
}

#[test]
fn what_is_wrong_is_refused_and_disturbs_nothing() {
    let mut policy = placed(&[]);
    policy
        .servers_mut()
        .add_band(Priority(3))
        .expect("no band yet");
    let limits = |capacity, period| Capacity { capacity, period };
    let mut refused = |limits, place| {
        assert_eq!(
            policy.add_placed(limits, place, 0).err(),
            Some(Refusal::BadParameters)
        );
    };
    for bad in [
        limits(0, 1),
        limits(2, 1),
        limits(0, 0),
        limits(1, Time::MAX),
    ] {
        refused(bad, Place::Band(Priority(3)));
    }
    refused(limits(1, 2), Place::Band(Priority(4)));
    refused(limits(1, 2), Place::Partition(0, Priority(3)));
    refused(limits(1, 2), Place::Partition(3, Priority(4)));
    assert_eq!(
        policy.add_main(limits(1, 2), 0),
        Err(Refusal::BadParameters)
    );
    assert!(
        policy
            .add_placed(limits(1, 2), Place::Partition(1, Priority(3)), 0)
            .is_ok()
    );
    assert_eq!(
        policy.set_order(Order::RateMonotonic),
        Err(Refusal::BadParameters)
    );
}

/// 3/6 and 4/9 do not fit by rate, and fit by deadline: together they need 17/18.
#[test]
fn by_deadline_more_fits() {
    for order in [Order::RateMonotonic, Order::EarliestDeadline] {
        let mut policy = Vcpus::<2, 2, 8>::new(false);
        policy.set_order(order).expect("new");
        let vcpus = [(3, 6), (4, 9)].map(|(capacity, period)| {
            policy
                .add_main(Capacity { capacity, period }, 0)
                .expect("room")
        });
        let mut scheduler = Scheduler::<_, 2>::new(policy);
        let threads = vcpus.map(|vcpu| scheduler.add(Binding::main(vcpu), 0).expect("room"));
        for thread in threads {
            scheduler.wakeup(thread, 0);
        }
        let (mut now, mut ran) = (0, 0);
        while now < 9 {
            let decision = scheduler.decide(now);
            scheduler.dispatched(decision.thread, now);
            let next = decision.timer.min(9);
            if decision.thread == Some(threads[1]) {
                ran += next - now;
            }
            now = next;
        }
        let expected = if order == Order::RateMonotonic { 3 } else { 4 };
        assert_eq!(ran, expected, "{order:?}");
    }
}

/// A decision that is made late for a release takes nothing from the budget of the next one.
#[test]
fn a_budget_is_whole_a_period_after_the_time_out_whenever_that_is_seen() {
    let mut policy = Vcpus::<8, 4, 8>::new(false);
    let vcpu = main(&mut policy, 10, 100);
    let mut scheduler = Scheduler::<_, 8>::new(policy);
    let thread = scheduler.add(Binding::main(vcpu), 0).expect("room");
    scheduler.wakeup(thread, 0);
    let budget = |scheduler: &mut Scheduler<Vcpus<8, 4, 8>, 8>, now| {
        let decision = scheduler.decide(now);
        scheduler.dispatched_on_account(decision.thread, now);
        decision.account.map(|account| account.budget)
    };
    assert_eq!(budget(&mut scheduler, 0), Some(10));
    for (release, late) in [(100, 7), (200, 0), (300, 3), (400, 0)] {
        scheduler.block(thread, release, release - 50);
        assert_eq!(budget(&mut scheduler, release + late), Some(10));
        scheduler.account(9, release + late + 9);
    }
}

#[test]
fn a_thread_behind_vcpus_causes_no_decision_while_one_runs() {
    let mut scheduler = Scheduler::<_, 8>::new(Vcpus::<8, 4, 8>::new(false));
    let vcpu = main(scheduler.policy_mut(0), 40, 100);
    let policy = scheduler.policy_mut(0);
    let before = policy.add_priority(Priority(47), None, 0);
    assert_eq!(
        before,
        Err(Refusal::BadParameters),
        "among the ranks of VCPUs"
    );
    let behind = policy.add_priority(BACKGROUND, None, 0).expect("room");
    let task = scheduler.add(Binding::main(vcpu), 0).expect("room");
    let log = scheduler.add(Binding::main(behind), 0).expect("room");
    scheduler.wakeup(log, 0);
    run(&mut scheduler, 0, Some(log), NEVER);
    scheduler.block(log, 20, 5);
    // Idle: its time-out counts.
    run(&mut scheduler, 5, None, 20);
    scheduler.wakeup(task, 10);
    // The VCPU runs: only the end of its budget counts.
    run(&mut scheduler, 10, Some(task), 50);
    assert_eq!(scheduler.block(task, 100, 30), None);
    // Its time-out was at 20.
    run(&mut scheduler, 30, Some(log), 100);
}
