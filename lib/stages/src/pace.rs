//! Release times of jobs
//!
//! Job j is released at v(j) = max(arrival, v(j − m) + T), where a budget covers m jobs. A stage
//! paces by v and not by its budget alone: a job that needs less than its WCET leaves budget for an
//! additional one (`doc/design/pipes-language.md`).

/// Maximum number of jobs per budget.
pub const MESSAGES: usize = 16;

/// The last releases of a stage. Times are ticks of any clock.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    period: u64,
    messages: usize,
    /// v of the last m jobs; 0 = none.
    releases: [u64; MESSAGES],
    jobs: usize,
}

impl Pace {
    /// The pace of m jobs in a period, at most [`MESSAGES`].
    #[must_use]
    pub fn new(period: u64, messages: u32) -> Self {
        Self {
            period,
            messages: (messages as usize).clamp(1, MESSAGES),
            releases: [0; MESSAGES],
            jobs: 0,
        }
    }

    /// Release time of a message that arrives at `arrival`.
    #[must_use]
    pub fn release(&self, arrival: u64) -> u64 {
        match self.releases[self.jobs % self.messages] {
            0 => arrival,
            before => arrival.max(before + self.period),
        }
    }

    /// Stores the release of a job.
    pub fn note(&mut self, release: u64) {
        self.releases[self.jobs % self.messages] = release;
        self.jobs += 1;
    }
}

/// The next tick at which a stage polls by its clock; `last` is the previous one. While a message
/// `waits` no tick is left out, even if it has passed: otherwise a reader with the writer's rate
/// would stay late for ever.
#[must_use]
pub fn next_look(last: u64, period: u64, now: u64, waits: bool) -> u64 {
    let period = period.max(1);
    let passed = match waits {
        true => 1,
        false => (now.saturating_sub(last) / period).max(1),
    };
    last.saturating_add(passed.saturating_mul(period))
}

#[cfg(test)]
mod tests {
    use super::{Pace, next_look};

    #[test]
    fn looks_that_were_missed_are_made_up_for_while_something_waits() {
        // In time, late by less than a period, and by more.
        for now in [100, 199, 200, 201, 299] {
            assert_eq!(next_look(100, 100, now, false), 200);
        }
        assert_eq!(next_look(100, 100, 350, false), 300);
        assert_eq!(next_look(100, 100, 350, true), 200);
        assert_eq!(next_look(100, 0, 100, false), 101);
        assert_eq!(next_look(u64::MAX, 100, 0, true), u64::MAX);
    }

    #[test]
    fn as_many_jobs_as_a_budget_pays_for_are_released_in_a_period() {
        let mut pace = Pace::new(100, 2);
        let mut releases = Vec::new();
        for arrival in [10, 10, 11, 300, 301, 302] {
            let release = pace.release(arrival);
            pace.note(release);
            releases.push(release);
        }
        assert_eq!(releases, [10, 10, 110, 300, 301, 400]);
    }
}
