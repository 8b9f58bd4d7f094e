//! Exact response times under preemptive fixed priorities
//!
//! Joseph and Pandya 1986; with release jitter, Audsley et al. 1993: the smallest R with
//! R = C + B + Σ_{higher} ⌈(R + J_j)/T_j⌉·C_j. A server with a corrected sporadic budget counts as a
//! periodic task of its C and T.

use crate::{Reservation, Time};

/// A task or server among others, most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// C, T; the deadline is T.
    pub reservation: Reservation,
    /// Longest time a less important one can hold it up.
    pub blocking: Time,
    /// Longest delay of its release.
    pub jitter: Time,
}

impl Task {
    /// A task without blocking or jitter.
    #[must_use]
    pub const fn new(reservation: Reservation) -> Self {
        Self {
            reservation,
            blocking: 0,
            jitter: 0,
        }
    }

    fn interference(&self, window: Time) -> Option<Time> {
        let releases = window
            .checked_add(self.jitter)?
            .div_ceil(self.reservation.period);
        releases.checked_mul(self.reservation.capacity)
    }
}

/// Worst response of `tasks[index]` from its nominal release; `None` where it exceeds its period.
/// `tasks` is ordered by priority, most important first.
#[must_use]
pub fn response_time(tasks: &[Task], index: usize) -> Option<Time> {
    let task = tasks.get(index)?;
    let own = task.reservation.capacity.checked_add(task.blocking)?;
    let limit = task.reservation.period.checked_sub(task.jitter)?;
    let mut window = own;
    loop {
        let higher = tasks.get(..index)?;
        let demand = higher
            .iter()
            .try_fold(own, |sum, task| sum.checked_add(task.interference(window)?))?;
        if demand > limit {
            return None;
        }
        if demand == window {
            return window.checked_add(task.jitter);
        }
        window = demand;
    }
}

/// The first task that misses its deadline, most important first.
#[must_use]
pub fn first_miss(tasks: &[Task]) -> Option<usize> {
    (0..tasks.len()).find(|&index| response_time(tasks, index).is_none())
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use bulkhead_sched::policy::{FixedPriority, Preemptive, Priority};
    use bulkhead_sched::{Scheduler, ThreadId};
    use proptest::prelude::*;
    use std::vec::Vec;

    fn task(capacity: Time, period: Time) -> Task {
        Task::new(Reservation::new(capacity, period).expect("valid"))
    }

    /// Burns and Wellings, Real-Time Systems and Programming Languages, §11.5: tasks 3/7, 3/12,
    /// 5/20 respond within 3, 6 and 20.
    #[test]
    fn textbook() {
        let tasks = [task(3, 7), task(3, 12), task(5, 20)];
        let responses: Vec<_> = (0..3).map(|index| response_time(&tasks, index)).collect();
        assert_eq!(responses, [Some(3), Some(6), Some(20)]);
        assert_eq!(first_miss(&[task(3, 7), task(3, 12), task(6, 20)]), Some(2));
    }

    /// Simulates synchronous periodic tasks on the real policy and returns worst responses.
    fn simulate(tasks: &[Task], releases: &[Time], horizon: Time) -> Vec<Time> {
        let mut scheduler = Scheduler::<_, 8>::new(FixedPriority::<_, 8>::new(Preemptive));
        let mut left: Vec<Time> = Vec::new();
        for index in 0..tasks.len() {
            scheduler.add(Priority(index as u8), 0).expect("room");
            left.push(0);
        }
        let mut worst = std::vec![0; tasks.len()];
        let mut released = std::vec![0; tasks.len()];
        for now in 0..horizon {
            for (index, task) in tasks.iter().enumerate() {
                let phase = now.checked_sub(releases[index]);
                if phase.is_some_and(|phase| phase % task.reservation.period == 0) {
                    left[index] += task.reservation.capacity;
                    released[index] = now;
                    scheduler.wakeup(ThreadId(index as u16), now);
                }
            }
            let decision = scheduler.decide(now);
            scheduler.dispatched(decision.thread, now);
            if let Some(thread) = decision.thread {
                let index = thread.index();
                left[index] -= 1;
                if left[index] == 0 {
                    worst[index] = worst[index].max(now + 1 - released[index]);
                    scheduler.block(thread, bulkhead_sched::NEVER, now + 1);
                }
            }
        }
        worst
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn no_simulated_response_exceeds_its_bound(
            mut shapes in prop::collection::vec((1u64..6, 2u64..40, 0u64..40), 1..6)
        ) {
            shapes.sort_by_key(|&(_, period, _)| period);
            let tasks: Vec<Task> =
                shapes.iter().map(|&(c, t, _)| task(c.min(t), t)).collect();
            prop_assume!(first_miss(&tasks).is_none());
            let releases: Vec<Time> = shapes.iter().map(|&(_, _, phase)| phase).collect();
            let worst = simulate(&tasks, &releases, 2_000);
            for (index, &seen) in worst.iter().enumerate() {
                let bound = response_time(&tasks, index).expect("schedulable");
                prop_assert!(seen <= bound, "task {index}: {seen} > {bound} of {tasks:?}");
            }
            let critical = simulate(&tasks, &std::vec![0; tasks.len()], 2_000);
            for (index, &seen) in critical.iter().enumerate() {
                prop_assert_eq!(Some(seen), response_time(&tasks, index), "critical instant");
            }
        }
    }
}
