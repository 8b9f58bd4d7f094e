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

/// Jobs of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jobs {
    /// Shortest distance of two.
    pub period: Time,
    /// By how much one may come later than that, since another task releases it; 0: by itself.
    pub late: Time,
    /// Of a bottom half: pieces of a job, as many as it needs budgets; 0 where a Main VCPU runs it.
    pub pieces: u64,
}

/// What starts so often in a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Starts {
    /// How often.
    pub often: u64,
    /// In what time.
    pub period: Time,
}

/// A Main VCPU as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Its budget.
    pub limits: Reservation,
    /// Jobs in a period of it ([`Jobs::within`]).
    pub jobs: u64,
    /// Whether its deadline says when it runs: then each other may preempt it.
    pub by_deadline: bool,
}

/// How a scheduler keeps budgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// Chunks of a budget there is room for.
    pub chunks: u64,
    /// Longest turn among equals; none: no end.
    pub quantum: Option<Time>,
}

/// Decisions of what starts and ends: one when it comes, one when it is over.
const START_AND_END: u64 = 2;
/// Longer than any window: it comes once.
const ONCE: Time = Time::MAX;

impl Jobs {
    /// Those of a task that a Main VCPU runs.
    #[must_use]
    pub const fn each(period: Time) -> Self {
        Self {
            period,
            late: 0,
            pieces: 0,
        }
    }

    /// The same, released by another task, so much later at most.
    #[must_use]
    pub const fn after(self, late: Time) -> Self {
        Self { late, ..self }
    }

    /// Those of a bottom half whose jobs take so long, on an I/O VCPU of so many percent that works for a Main VCPU
    /// with the period `cause`.
    #[must_use]
    pub const fn of_bottom_half(period: Time, wcet: Time, percent: u32, cause: Time) -> Self {
        let budget = (cause / 100).saturating_mul(percent as Time);
        let budget = if budget > 0 { budget } else { 1 };
        let pieces = wcet.div_ceil(budget).saturating_add(1);
        Self {
            period,
            late: 0,
            pieces,
        }
    }

    /// How many come in a window that begins with one.
    #[must_use]
    pub const fn within(self, window: Time) -> u64 {
        let window = window.saturating_add(self.late);
        window.div_ceil(if self.period > 0 { self.period } else { 1 })
    }

    /// How often a bottom half starts.
    #[must_use]
    pub const fn starts(self) -> Starts {
        Starts {
            often: self.pieces,
            period: self.period,
        }
    }
}

impl Starts {
    /// Where so many slots begin and end in a frame.
    #[must_use]
    pub const fn of_slots(slots: u64, frame: Time) -> Self {
        Self {
            often: START_AND_END.saturating_mul(slots),
            period: frame,
        }
    }

    const fn within(self, window: Time) -> u64 {
        let period = if self.period > 0 { self.period } else { 1 };
        Activity::within(self.often, period, window)
    }
}

impl Keeping {
    /// What happens on VCPUs, which are ordered by rank, behind what starts before all of them. As many are found as
    /// there is room for.
    pub fn activities(&self, before: &[Starts], vcpus: &[Asked], found: &mut [Activity]) {
        let vcpus = vcpus.iter().take(found.len());
        for (rank, own) in vcpus.clone().enumerate() {
            let Reservation { capacity, period } = own.limits;
            // Its equals have their turn.
            let turns = self.quantum;
            let turns = turns.map_or(0, |quantum| capacity / quantum.max(1) + 1);
            let higher = vcpus.clone().zip(&*found).take(rank);
            let higher = higher.map(|(vcpu, activity)| Starts {
                often: activity.starts(),
                period: vcpu.limits.period,
            });
            let preempted = before
                .iter()
                .copied()
                .chain(higher)
                .map(|starts| starts.within(period))
                .fold(turns, u64::saturating_add);
            let preempted = if own.by_deadline { u64::MAX } else { preempted };
            let jobs = own.jobs.saturating_add(turns);
            let activity = Activity::new(jobs, preempted, self.chunks);
            if let Some(place) = found.get_mut(rank) {
                *place = activity;
            }
        }
    }
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

    /// What the releases of a task's jobs take, and where it is a bottom half, its pieces.
    #[must_use]
    pub const fn of_jobs(&self, jobs: Jobs) -> Option<Reservation> {
        let decisions = START_AND_END.saturating_mul(jobs.pieces).saturating_add(1);
        Self::ahead(self.decision, decisions, jobs.period)
    }

    /// What waking takes where another task releases a task's jobs: as a doorbell, and what comes late comes closer to
    /// the next release.
    #[must_use]
    pub const fn of_waking(&self, jobs: Jobs) -> [Option<Reservation>; 3] {
        if jobs.late == 0 {
            return [None; 3];
        }
        let [each, once] = self.of_doorbell(1, jobs.period);
        [each, once, Self::ahead(self.decision, 1, ONCE)]
    }

    /// What the changes of slots take.
    #[must_use]
    pub const fn of_changes(&self, changes: Starts) -> Option<Reservation> {
        Self::ahead(self.decision, changes.often, changes.period)
    }

    /// What a doorbell takes that rings at most `limit` times in `period`: as many again may fall into a span that
    /// begins before the end of a window.
    #[must_use]
    pub const fn of_doorbell(&self, limit: u64, period: Time) -> [Option<Reservation>; 2] {
        [
            Self::ahead(self.interrupt, limit, period),
            Self::ahead(self.interrupt, limit, ONCE),
        ]
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
    fn what_another_task_releases_is_woken_and_may_come_late() {
        let jobs = Jobs::each(100);
        assert_eq!((jobs.within(100), jobs.after(30).within(100)), (1, 2));
        assert_eq!(OVERHEAD.of_waking(jobs), [None; 3]);
        let costs = OVERHEAD
            .of_waking(jobs.after(30))
            .map(|one| one.map(|one| one.capacity));
        assert_eq!(costs, [Some(3), Some(3), Some(10)]);
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
