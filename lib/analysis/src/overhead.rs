//! What deciding costs who is scheduled
//!
//! Decisions, and the kernel's way to them and back, are on nobody's budget: they delay whoever would run. They are
//! accounted for as Katcher, Arakawa and Strosnider (1993) and Burns, Tindell and Wellings (1995) do: a VCPU's C is
//! prolonged by the decisions that its own starts and ends take, and time-outs, interrupts and changes of slots count
//! as tasks more important than all.
//!
//! In a period of it a VCPU starts when a job comes, which is a time-out or an interrupt, and when a chunk of its
//! budget comes back; it ends when a job is done and when a chunk is used up. That others preempt it is part of
//! what they take: they start and end. A chunk is split where the VCPU is preempted or waits, so there are at
//! most one more than that happens in a period, and never more than the list has room for.

use crate::{Reservation, Time};

/// What the scheduler and the kernel take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// Longest time from the last instruction of a thread to the first of the next: D.
    pub decision: Time,
    /// Longest time in which an interrupt is acknowledged and counted, where it leads to no decision.
    pub interrupt: Time,
}

/// What happens on a VCPU in a period of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Jobs.
    pub jobs: u64,
    /// Chunks of its budget.
    pub chunks: u64,
}

impl Activity {
    /// Where its jobs are so many, and it is preempted so often, with room for `room` chunks.
    #[must_use]
    pub const fn new(jobs: u64, preempted: u64, room: u64) -> Self {
        let pieces = jobs.saturating_add(preempted).saturating_add(1);
        let chunks = if pieces < room { pieces } else { room };
        Self { jobs, chunks }
    }

    /// How often it starts in a period.
    #[must_use]
    pub const fn starts(self) -> u64 {
        self.jobs.saturating_add(self.chunks)
    }

    /// How often what starts `starts` times in `period` does in a window of `window`, wherever that begins.
    #[must_use]
    pub const fn within(starts: u64, period: Time, window: Time) -> u64 {
        starts.saturating_mul(window.div_ceil(period).saturating_add(1))
    }
}

impl Overhead {
    /// A VCPU as it is to be counted: its jobs' ends cost a decision each, and its chunks two. C may exceed T
    /// then, and has no response.
    #[must_use]
    pub const fn prolong(&self, vcpu: Reservation, activity: Activity) -> Reservation {
        let decisions = activity
            .jobs
            .saturating_add(activity.chunks.saturating_mul(2));
        let more = self.decision.saturating_mul(decisions);
        Reservation {
            capacity: vcpu.capacity.saturating_add(more),
            ..vcpu
        }
    }

    /// What comes so often in `period` as something more important than all, taking `each`; `None` where it takes nothing.
    #[must_use]
    pub const fn ahead(each: Time, often: u64, period: Time) -> Option<Reservation> {
        let capacity = each.saturating_mul(often);
        if capacity == 0 || period == 0 {
            return None;
        }
        Some(Reservation { capacity, period })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OVERHEAD: Overhead = Overhead {
        decision: 10,
        interrupt: 3,
    };

    #[test]
    fn each_chunk_costs_two_decisions_and_each_job_one() {
        let vcpu = Reservation::new(100, 1000).expect("valid");
        let activity = Activity::new(1, 0, 8);
        assert_eq!((activity.chunks, activity.starts()), (2, 3));
        assert_eq!(OVERHEAD.prolong(vcpu, activity).capacity, 150);
        assert_eq!(Overhead::default().prolong(vcpu, activity), vcpu);
        let full = Activity::new(1, 100, 8);
        assert_eq!(full.chunks, 8, "no more than there is room for");
    }

    #[test]
    fn windows_begin_anywhere() {
        assert_eq!(Activity::within(3, 40, 100), 12);
        assert_eq!(Activity::within(u64::MAX, 1, 2), u64::MAX);
    }

    #[test]
    fn what_takes_nothing_is_not_there() {
        assert_eq!(Overhead::ahead(0, 5, 100), None);
        assert_eq!(Overhead::ahead(3, 0, 100), None);
        assert_eq!(Overhead::ahead(3, 5, 100).map(|one| one.capacity), Some(15));
    }
}
