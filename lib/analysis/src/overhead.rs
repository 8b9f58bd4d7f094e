//! Scheduling overhead of VCPUs, tasks and doorbells
//!
//! Decisions, and the kernel's paths to them and back, are charged to no budget: they delay the thread that would run. They are
//! accounted for as Katcher, Arakawa and Strosnider (1993) and Burns, Tindell and Wellings (1995) do: a VCPU's C is
//! prolonged by the decisions that its own starts and ends take, and time-outs, interrupts and changes of slots count
//! as tasks more important than all.
//!
//! In a period of it a VCPU starts when a job comes, which is a time-out or an interrupt, and when a chunk of its
//! budget comes back for which a job waits; it ends when a job is done and when a chunk is used up. Preemption by other jobs is part of
//! their overhead: they start and end. Preemption does not split a chunk in time: the used part of a chunk comes back
//! at one instant. A chunk with an instant of its own begins where a job finds the VCPU idle, so that there are at most one
//! more than jobs, and never more than the list has room for: so often chunks that come back start the VCPU. Each use of a chunk ends
//! once, by the end of a job or by that of the chunk. If k of J jobs find the VCPU idle, there are at most k + 1 uses. The other J − k
//! jobs end while another job is ready, so that their ends are no ends of uses. The sum is J + 1 ends.
//!
//! An I/O VCPU has its whole budget each time it starts after it was idle, so that its jobs need no more budgets together than one by
//! one. A budget is U·T of the shortest period for which it works.

use crate::{Reservation, Time};

/// Costs of the scheduler and the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// Longest time from the last instruction of a thread to the first of the next: D.
    pub decision: Time,
    /// Longest time in which an interrupt is acknowledged and counted, where it leads to no decision.
    pub interrupt: Time,
    /// Most that the runtime takes of a task's budget for each job: from its release to its own code, and from there until it
    /// waits again.
    pub job: Time,
    /// Most that it takes for each job of a stage of a pipe, with copying its inputs and outputs.
    pub stage: Time,
    /// Longest time for which the kernel masks interrupts, for whatever thread: a release waits for it.
    pub blocking: Time,
}

/// Jobs of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jobs {
    /// Shortest distance of two.
    pub period: Time,
    /// By how much one may come later than that, since another task releases it; 0: by itself.
    pub late: Time,
    /// Of a bottom half: budgets that a job needs at most; 0 where a Main VCPU runs it.
    pub pieces: u64,
    /// Jobs that come together; not 0.
    pub burst: u64,
}

/// A Main VCPU as it is request for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its budget.
    pub limits: Reservation,
    /// Jobs in a period of it ([`Jobs::within`]).
    pub jobs: u64,
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
/// Iterations after which there is no answer.
const STEPS: usize = 1_000;

impl Jobs {
    /// Returns the jobs of a task that a Main VCPU runs.
    #[must_use]
    pub const fn each(period: Time) -> Self {
        Self {
            period,
            late: 0,
            pieces: 0,
            burst: 1,
        }
    }

    /// So many of them together each time.
    #[must_use]
    pub const fn in_bursts(self, burst: u64) -> Self {
        Self { burst, ..self }
    }

    /// Returns these jobs if another task releases them, at most `late` after their period.
    #[must_use]
    pub const fn after(self, late: Time) -> Self {
        Self { late, ..self }
    }

    /// Jobs of a bottom half with this WCET, on an I/O VCPU of so many percent. `shortest` is the shortest period of the Main VCPUs
    /// for which the I/O VCPU works.
    #[must_use]
    pub const fn of_bottom_half(period: Time, wcet: Time, percent: u32, shortest: Time) -> Self {
        let budget = (shortest / 100).saturating_mul(percent as Time);
        let budget = if budget > 0 { budget } else { 1 };
        let pieces = wcet.div_ceil(budget);
        Self {
            period,
            late: 0,
            pieces: if pieces > 0 { pieces } else { 1 },
            burst: 1,
        }
    }

    /// How many come in a window that begins with one.
    #[must_use]
    pub const fn within(self, window: Time) -> u64 {
        let window = window.saturating_add(self.late);
        let releases = window.div_ceil(if self.period > 0 { self.period } else { 1 });
        releases.saturating_mul(self.burst)
    }
}

impl Keeping {
    /// Decisions of the starts and ends of a VCPU in a period of it, the starts of its jobs aside.
    const fn decisions(&self, vcpu: &Request) -> u64 {
        let turns = match self.quantum {
            Some(quantum) if quantum > 0 => vcpu.limits.capacity / quantum + 1,
            _ => 0,
        };
        let ends = vcpu.jobs.saturating_add(1);
        let chunks = if ends < self.chunks {
            ends
        } else {
            self.chunks
        };
        ends.saturating_add(turns).saturating_add(chunks)
    }
}

impl Overhead {
    /// C and T of a VCPU with its decisions: each chunk that comes back costs one, each end, and each turn among equals. C may
    /// exceed T then, and has no response.
    #[must_use]
    pub const fn prolong(&self, vcpu: &Request, keeping: &Keeping) -> Reservation {
        let more = self.decision.saturating_mul(keeping.decisions(vcpu));
        Reservation {
            capacity: vcpu.limits.capacity.saturating_add(more),
            ..vcpu.limits
        }
    }

    /// Returns the overhead of the releases of a task's jobs, and of the pieces of a bottom half.
    #[must_use]
    pub const fn of_jobs(&self, jobs: Jobs) -> Option<Reservation> {
        let decisions = START_AND_END.saturating_mul(jobs.pieces).saturating_add(1);
        Self::ahead(
            self.decision,
            decisions.saturating_mul(jobs.burst),
            jobs.period,
        )
    }

    /// Returns the overhead of releases by another task: each is a doorbell, and a late one is closer to the next release.
    #[must_use]
    pub const fn of_waking(&self, jobs: Jobs) -> [Option<Reservation>; 3] {
        if jobs.late == 0 {
            return [None; 3];
        }
        let [each, once] = self.of_doorbell(jobs.burst, jobs.period);
        [each, once, Self::ahead(self.decision, jobs.burst, ONCE)]
    }

    /// Work for a less important thread that a release finds, the kernel's or a decision: nothing less important runs before
    /// all that was released is done, so that it comes once.
    #[must_use]
    pub const fn of_blocking(&self) -> Option<Reservation> {
        let longest = if self.blocking > self.decision {
            self.blocking
        } else {
            self.decision
        };
        Self::ahead(longest, 1, ONCE)
    }

    /// Decisions of the changes of so many slots in a frame.
    #[must_use]
    pub const fn of_slots(&self, slots: u64, frame: Time) -> Option<Reservation> {
        Self::ahead(self.decision, START_AND_END.saturating_mul(slots), frame)
    }

    /// Returns the overhead of a doorbell that rings at most `limit` times in `period`: as many again may fall into a span that
    /// begins before the end of a window.
    #[must_use]
    pub const fn of_doorbell(&self, limit: u64, period: Time) -> [Option<Reservation>; 2] {
        [
            Self::ahead(self.interrupt, limit, period),
            Self::ahead(self.interrupt, limit, ONCE),
        ]
    }

    /// Returns `often` events of `each` in `period` as a reservation of highest priority; `None` if they take no time.
    #[must_use]
    pub const fn ahead(each: Time, often: u64, period: Time) -> Option<Reservation> {
        let capacity = each.saturating_mul(often);
        if capacity == 0 || period == 0 {
            return None;
        }
        Some(Reservation { capacity, period })
    }
}

/// Longest time from the instant at which a job comes to the one at which its VCPU is ready, while all that is more important than
/// the VCPUs is dealt with. Where an interrupt or another task releases jobs, a budget that a job finds whole may come back so much later
/// than the job, because the job a period before was ready so much later than it came. A thread that waits for a time-out, or that a
/// thread of its core wakes, is ready when its job comes. `None` where no end was found.
#[must_use]
pub fn latency(ahead: &[Reservation]) -> Option<Time> {
    let within = |window: Time| {
        ahead.iter().try_fold(0, |sum: Time, one| {
            let releases = window.max(1).div_ceil(one.period);
            sum.checked_add(releases.checked_mul(one.capacity)?)
        })
    };
    let mut window = 0;
    for _ in 0..STEPS {
        let next = within(window)?;
        if next == window {
            return Some(window);
        }
        window = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const OVERHEAD: Overhead = Overhead {
        decision: 10,
        interrupt: 3,
        job: 0,
        stage: 0,
        blocking: 0,
    };

    const fn request(jobs: u64) -> Request {
        Request {
            limits: Reservation {
                capacity: 100,
                period: 1000,
            },
            jobs,
        }
    }

    #[test]
    fn each_chunk_that_comes_back_costs_a_decision_and_each_end() {
        let keeping = Keeping {
            chunks: 8,
            quantum: None,
        };
        let prolonged = |jobs| OVERHEAD.prolong(&request(jobs), &keeping).capacity;
        assert_eq!(prolonged(1), 140, "release aside: 2 chunks, 2 ends");
        assert_eq!(
            prolonged(100),
            1190,
            "no more chunks than there is room for"
        );
        let free = Overhead::default().prolong(&request(1), &keeping);
        assert_eq!(free, request(1).limits);
        let turns = Keeping {
            quantum: Some(30),
            ..keeping
        };
        assert_eq!(OVERHEAD.prolong(&request(1), &turns).capacity, 180);
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
    fn the_kernel_blocks_a_release_once() {
        let once = |blocking| {
            let overhead = Overhead {
                blocking,
                ..OVERHEAD
            };
            latency(overhead.of_blocking().as_slice())
        };
        assert_eq!(once(17), Some(17));
        assert_eq!(once(7), Some(10), "a decision takes longer");
        assert_eq!(Overhead::default().of_blocking(), None);
    }

    #[test]
    fn jobs_that_come_together_are_released_one_by_one() {
        let jobs = Jobs::each(100).in_bursts(3);
        assert_eq!((jobs.within(100), jobs.within(101)), (3, 6));
        let releases = OVERHEAD.of_jobs(jobs).expect("they cost something");
        assert_eq!((releases.capacity, releases.period), (30, 100));
        let half = |wcet| Jobs::of_bottom_half(100, wcet, 10, 100).in_bursts(2);
        let costs = |wcet| OVERHEAD.of_jobs(half(wcet)).map(|one| one.capacity);
        assert_eq!(costs(10), Some(60), "one budget");
        assert_eq!(costs(11), Some(100), "two");
    }

    #[test]
    fn all_that_comes_at_once_delays_a_release() {
        let ahead = |capacity, period| Reservation { capacity, period };
        assert_eq!(latency(&[]), Some(0));
        assert_eq!(latency(&[ahead(3, 100), ahead(5, 7)]), Some(13));
        assert_eq!(latency(&[ahead(8, 7)]), None);
    }

    #[test]
    fn what_takes_nothing_is_not_there() {
        assert_eq!(Overhead::ahead(0, 5, 100), None);
        assert_eq!(Overhead::ahead(3, 0, 100), None);
        assert_eq!(Overhead::ahead(3, 5, 100).map(|one| one.capacity), Some(15));
    }
}
