//! Detection and handling of jobs that need more than their budget
//!
//! The kernel of rtos partitions reports an exhausted budget. Linux only throttles the thread,
//! without a notification: there [`Spent`] detects overruns from the processor time that the
//! stage's thread used.

use bulkhead_abi::pipe::OnOverrun;

/// Every so many jobs one overruns on purpose, if requested.
const ON_PURPOSE: u64 = 100;

/// Returns whether a job, by its number from 1, overruns on purpose.
#[must_use]
pub const fn is_on_purpose(job: u64) -> bool {
    job.is_multiple_of(ON_PURPOSE)
}

/// Returns whether a job that overran may send its output. Calls `halt` if the pipe has to halt.
pub fn may_send(what: OnOverrun, halt: impl FnOnce()) -> bool {
    if what == OnOverrun::Stop {
        halt();
    }
    what == OnOverrun::Report
}

/// Budget accounting of a stage, for all jobs that are released within a period. Budget and usage
/// may have any unit; releases and period are ticks of any clock.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    capacity: u64,
    period: u64,
    /// End of the period of the current budget.
    until: Option<u64>,
    /// Usage of the thread when the period began.
    before: u64,
}

impl Spent {
    /// An account of C in every T.
    #[must_use]
    pub const fn new(capacity: u64, period: u64) -> Self {
        Self {
            capacity,
            period,
            until: None,
            before: 0,
        }
    }

    /// Accounts for a release; `used` is the thread's usage until then. A period has no more
    /// releases than a budget covers ([`crate::pace::Pace`]), so they share one budget, and the
    /// next release gets another.
    pub const fn released(&mut self, release: u64, used: u64) {
        match self.until {
            Some(until) if release < until => {}
            _ => {
                self.until = Some(release.saturating_add(self.period));
                self.before = used;
            }
        }
    }

    /// Accounts for the end of a job; `used` is the thread's usage until then. Returns whether it
    /// exceeds the budget. The excess is not charged to the next job.
    #[must_use]
    pub const fn overran(&mut self, used: u64) -> bool {
        let over = used.saturating_sub(self.before) > self.capacity;
        if over {
            self.until = None;
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs jobs, given by release and usage, of a stage with a budget of 20 in every 100. Returns
    /// which of them overran.
    fn overran(jobs: &[(u64, u64)]) -> Vec<bool> {
        let (mut spent, mut used) = (Spent::new(20, 100), 7);
        let jobs = jobs.iter().map(|&(release, needed)| {
            spent.released(release, used);
            used += needed;
            spent.overran(used)
        });
        jobs.collect()
    }

    #[test]
    fn a_job_overruns_that_needs_more_than_its_budget_and_no_other() {
        assert_eq!(
            overran(&[(100, 20), (200, 21), (300, 20), (400, 1000), (500, 20)]),
            [false, true, false, true, false]
        );
    }

    #[test]
    fn jobs_of_a_period_have_one_budget() {
        assert_eq!(
            overran(&[(100, 10), (199, 10), (200, 10), (201, 10)]),
            [false; 4]
        );
        assert_eq!(
            overran(&[(100, 10), (110, 11), (200, 20)]),
            [false, true, false]
        );
    }

    #[test]
    fn the_job_after_an_overrun_is_not_charged_for_it() {
        assert_eq!(
            overran(&[(100, 30), (110, 20), (111, 1)]),
            [true, false, true]
        );
    }

    #[test]
    fn what_a_thread_uses_between_its_jobs_is_charged_to_none() {
        let mut spent = Spent::new(20, 100);
        spent.released(100, 0);
        assert!(!spent.overran(20));
        spent.released(200, 50);
        assert!(!spent.overran(70));
    }

    #[test]
    fn a_clock_that_ends_or_goes_back_is_no_overrun() {
        let mut spent = Spent::new(20, 100);
        spent.released(u64::MAX, 30);
        assert!(!spent.overran(10));
        spent.released(u64::MAX, 40);
        assert!(!spent.overran(60));
    }

    #[test]
    fn what_is_done_about_it_is_what_the_function_says() {
        let dealt = |what| {
            let mut halted = false;
            (may_send(what, || halted = true), halted)
        };
        assert_eq!(
            OnOverrun::ALL.map(dealt),
            [(false, false), (false, true), (true, false)]
        );
        assert_eq!([0, 1, 2, 3].map(OnOverrun::of)[3], OnOverrun::Skip);
        for one in OnOverrun::ALL {
            assert_eq!(OnOverrun::of(one as u32), one);
        }
    }

    #[test]
    fn every_hundredth_job_overruns_on_purpose() {
        let overruns: Vec<_> = (1..=250).filter(|&job| is_on_purpose(job)).collect();
        assert_eq!(overruns, [100, 200]);
    }
}
