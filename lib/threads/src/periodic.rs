//! Periodic tasks

use crate::{Machine, Threads, Time};
use bulkhead_sched::policy::Policy;

/// The releases of a periodic task: instants of a grid that never drifts. Laid out as `slite.h` says.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Periodic {
    next: Time,
    period: Time,
    overruns: u64,
}

impl Periodic {
    /// First released at `first`, then each `period` ticks; a period is not 0.
    #[must_use]
    pub const fn new(first: Time, period: Time) -> Self {
        assert!(period != 0, "a period has a length");
        Self {
            next: first,
            period,
            overruns: 0,
        }
    }

    /// Waits for the next release; which it was. Releases that came while the job before them still
    /// ran are counted, and only the last of them is served; the grid stays.
    pub fn wait<M: Machine, P: Policy, const N: usize>(
        &mut self,
        threads: &Threads<M, P, N>,
    ) -> Time {
        self.skip(M::now());
        let release = self.next;
        threads.sleep_until(release);
        self.next = release.saturating_add(self.period);
        release
    }

    /// Leaves out all releases before `now` but the last.
    fn skip(&mut self, now: Time) {
        let late = now.saturating_sub(self.next);
        self.overruns += late.div_ceil(self.period);
        self.next += late - late % self.period;
    }

    /// Ticks from a release to the next.
    #[must_use]
    pub const fn period(&self) -> Time {
        self.period
    }

    /// The next release.
    #[must_use]
    pub const fn next(&self) -> Time {
        self.next
    }

    /// Releases that came while the job before them still ran.
    #[must_use]
    pub const fn overruns(&self) -> u64 {
        self.overruns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_releases_are_counted_and_the_grid_stays() {
        let mut task = Periodic::new(100, 10);
        for (now, next, overruns) in [(90, 100, 0), (100, 100, 0), (101, 100, 1), (145, 140, 6)] {
            task.skip(now);
            assert_eq!((task.next, task.overruns), (next, overruns), "at {now}");
        }
    }
}
