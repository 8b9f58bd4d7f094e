//! Comparison of two policies by their decisions
//!
//! An optional feature must not change decisions of a system that does not use it: two schedulers see the same random
//! events, and each decision of one is compared with the other's, with its times and its
//! budget. Portable, so that the machine code of a target can be compared, too.

use crate::harness::Random;
use crate::policy::Policy;
use crate::scheduler::{Decision, Scheduler};
use crate::thread::{NEVER, ThreadId, Time};

/// Longest time from one step to the next.
const STEP: u64 = 40;

/// Takes `steps` random steps with both schedulers, which have the threads 0 to `threads`: blocks, time-outs, wake-ups,
/// yields. Returns the first step with different decisions, and these; `None` if all are equal.
pub fn first_difference<A: Policy, B: Policy, const N: usize>(
    one: &mut Scheduler<A, N>,
    other: &mut Scheduler<B, N>,
    threads: u16,
    seed: u64,
    steps: u64,
) -> Option<(u64, [Decision; 2])> {
    let mut random = Random::new(seed);
    let mut now = 0;
    for step in 0..steps {
        let thread = ThreadId(random.below(threads.into()) as u16);
        let until = match random.below(2) {
            0 => NEVER,
            _ => now + random.below(4 * STEP),
        };
        let act = random.below(6);
        live(one, act, thread, until, now);
        live(other, act, thread, until, now);
        let decisions = [one.decide(now), other.decide(now)];
        let [decision, same] = decisions;
        if decision != same {
            return Some((step, decisions));
        }
        one.dispatched(decision.thread, now);
        other.dispatched(decision.thread, now);
        now = decision.timer.min(now + 1 + random.below(STEP));
    }
    None
}

fn live<P: Policy, const N: usize>(
    scheduler: &mut Scheduler<P, N>,
    act: u64,
    thread: ThreadId,
    until: Time,
    now: Time,
) {
    match act {
        0..3 => scheduler.wakeup(thread, now),
        3..5 => drop(scheduler.block(thread, until, now)),
        _ => scheduler.yield_now(thread, now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Capacity, Utilisation};
    use crate::policy::{Binding, Order, ServerId, Slot, TimeTable, Vcpus};

    const SEEDS: u64 = 300;
    const STEPS: u64 = 300;

    /// Three Main VCPUs and one for I/O, a thread or two on each.
    fn scheduler<const P: usize, const S: usize>(
        order: Order,
        background: bool,
        change: impl Fn(&mut Vcpus<8, 4, 8, P, S>),
    ) -> Scheduler<Vcpus<8, 4, 8, P, S>, 8> {
        let mut policy = Vcpus::new(background);
        policy.set_order(order).expect("there are none");
        for (capacity, period) in [(4, 20), (10, 50), (15, 90)] {
            let limits = Capacity { capacity, period };
            policy.add_main(limits, 0).expect("room");
        }
        let share = Utilisation::ratio(1, 10).expect("valid");
        policy.add_io(share, [20, 90], 0).expect("room");
        change(&mut policy);
        let mut scheduler = Scheduler::new(policy);
        let [fast, middle, slow, io] = [0, 1, 2, 3].map(ServerId);
        let mains = [fast, middle, middle, slow].map(Binding::main);
        let halves = [fast, slow].map(|cause| Binding { vcpu: io, cause });
        for binding in mains.into_iter().chain(halves) {
            scheduler.add(binding, 0).expect("room");
        }
        scheduler
    }

    fn difference(order: Order, background: bool, slots: &[Slot]) -> Option<u64> {
        let found = (1..=SEEDS).find_map(|seed| {
            let mut plain = scheduler::<1, 0>(order, background, |_| {});
            let mut able = scheduler::<8, 16>(order, background, |policy| {
                let table = TimeTable::of(slots).expect("in order");
                policy.servers_mut().set_table(table).expect("room");
            });
            first_difference(&mut plain, &mut able, 6, seed, STEPS)
        });
        found.map(|(step, _)| step)
    }

    /// The decisions of a scheduler that could have time partitions, slots and bands, and of one that could not.
    #[test]
    fn unused_features_change_no_decision() {
        for order in [Order::RateMonotonic, Order::EarliestDeadline] {
            for background in [false, true] {
                assert_eq!(difference(order, background, &[]), None, "{order:?}");
            }
        }
    }

    #[test]
    fn slots_are_felt() {
        let slots = [(30, 1), (60, 0)].map(|(end, partition)| Slot { end, partition });
        assert!(difference(Order::RateMonotonic, false, &slots).is_some());
    }
}
