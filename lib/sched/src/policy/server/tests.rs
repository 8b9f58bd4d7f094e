use super::*;
use crate::Scheduler;
use crate::budget::{Capacity, ConstantBandwidth, Deferrable};
use crate::policy::Slot;
use crate::policy::decisions::run;

fn limits(capacity: Time, period: Time) -> Capacity {
    Capacity { capacity, period }
}

#[test]
fn an_exhausted_server_gives_way_and_comes_back() {
    let mut policy = Servers::<Deferrable, 4, 2>::new(false);
    let budget = |capacity, period| Deferrable::new(limits(capacity, period), 0).expect("valid");
    let fast = policy.add_server(budget(3, 10), Priority(0)).expect("room");
    let slow = policy
        .add_server(budget(20, 40), Priority(1))
        .expect("room");
    let mut scheduler = Scheduler::<_, 4>::new(policy);
    let a = scheduler.add(Membership(fast), 0).expect("room");
    let b = scheduler.add(Membership(slow), 0).expect("room");
    scheduler.wakeup(a, 0);
    scheduler.wakeup(b, 0);
    run(&mut scheduler, 0, Some(a), 3);
    run(&mut scheduler, 3, Some(b), 10);
    run(&mut scheduler, 10, Some(a), 13);
    run(&mut scheduler, 13, Some(b), 20);
    run(&mut scheduler, 20, Some(a), 23);
    run(&mut scheduler, 23, Some(b), 29);
    run(&mut scheduler, 29, None, 30);
    run(&mut scheduler, 30, Some(a), 33);
}

#[test]
fn in_a_band_the_earliest_deadline_runs_and_no_more_than_its_budget() {
    let mut policy = Servers::<ConstantBandwidth, 4, 2>::new(false);
    policy.add_band(Priority(0)).expect("no band yet");
    assert_eq!(policy.add_band(Priority(0)), Err(Refusal::BadParameters));
    let mut add = |capacity, period| {
        let budget = ConstantBandwidth::new(limits(capacity, period), 0).expect("valid");
        policy.add_server(budget, Priority(0)).expect("room")
    };
    let (slow, fast) = (add(20, 100), add(5, 20));
    let mut scheduler = Scheduler::<_, 4>::new(policy);
    let a = scheduler.add(Membership(slow), 0).expect("room");
    let b = scheduler.add(Membership(fast), 0).expect("room");
    scheduler.wakeup(a, 0);
    scheduler.wakeup(b, 0);
    run(&mut scheduler, 0, Some(b), 5);
    run(&mut scheduler, 5, Some(a), 20);
    run(&mut scheduler, 20, Some(b), 25);
    run(&mut scheduler, 25, Some(a), 30);
    run(&mut scheduler, 30, None, 40);
    run(&mut scheduler, 40, Some(b), 45);
    run(&mut scheduler, 45, None, 60);
}

/// Equals in a slot take turns; those of the other partition wait for theirs.
#[test]
fn turns_are_taken_within_a_slot() {
    let mut policy = Servers::<Deferrable, 4, 4, 3, 2>::new(false);
    policy.set_quantum(10);
    let slot = |end, partition| Slot { end, partition };
    let table = TimeTable::of(&[slot(30, 1), slot(60, 2)]).expect("valid");
    policy.set_table(table).expect("partitions are there");
    let whole = Deferrable::new(limits(1000, 1000), 0).expect("valid");
    let threads = [1, 1, 2].map(|partition| {
        let server = policy.add_server_to(partition, whole, Priority(4));
        server.map(Membership).expect("room")
    });
    let mut scheduler = Scheduler::<_, 4>::new(policy);
    let [a, b, other] = threads.map(|server| scheduler.add(server, 0).expect("room"));
    for thread in [a, b, other] {
        scheduler.wakeup(thread, 0);
    }
    run(&mut scheduler, 0, Some(a), 10);
    run(&mut scheduler, 10, Some(b), 20);
    run(&mut scheduler, 20, Some(a), 30);
    run(&mut scheduler, 30, Some(other), 60);
    run(&mut scheduler, 60, Some(b), 70);
}

#[test]
fn what_is_out_of_range_is_refused() {
    let mut policy = Servers::<Deferrable, 4, 1, 2, 2>::new(false);
    let budget = Deferrable::new(limits(1, 2), 0).expect("valid");
    let bad = Err(Refusal::BadParameters);
    assert_eq!(policy.add_server(budget, Priority(200)), bad);
    assert_eq!(policy.add_server_to(2, budget, Priority(0)), bad);
    let slot = |end, partition| Slot { end, partition };
    let table = TimeTable::of(&[slot(5, 1), slot(9, 2)]).expect("valid");
    assert_eq!(policy.set_table(table), Err(Refusal::BadParameters));
    assert!(policy.add_server(budget, Priority(0)).is_ok());
    assert_eq!(policy.add_server(budget, Priority(0)), Err(Refusal::Full));
}
