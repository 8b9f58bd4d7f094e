//! Deferrable server
//!
//! Strosnider, Lehoczky and Sha 1995: full capacity at each multiple of the period, kept while
//! unused, gone at the period's end.

use crate::budget::interface::{Budget, Capacity};
use crate::thread::{Refusal, Time};

/// Budget of a deferrable server.
#[derive(Clone, Copy, Debug)]
pub struct Deferrable {
    limits: Capacity,
    remaining: Time,
    window: Time,
}

impl Deferrable {
    /// Full, in the period of `now`.
    ///
    /// # Errors
    /// [`Refusal::BadParameters`].
    pub const fn new(limits: Capacity, now: Time) -> Result<Self, Refusal> {
        match limits.checked() {
            Ok(limits) => Ok(Self {
                limits,
                remaining: limits.capacity,
                window: now - now % limits.period,
            }),
            Err(refusal) => Err(refusal),
        }
    }

    fn window_of(&self, now: Time) -> Time {
        now - now % self.limits.period
    }

    fn advance(&mut self, now: Time) {
        let window = self.window_of(now);
        if window != self.window {
            self.window = window;
            self.remaining = self.limits.capacity;
        }
    }
}

impl Budget for Deferrable {
    fn ready(&mut self, now: Time) {
        self.advance(now);
    }

    fn stop(&mut self, now: Time) {
        self.advance(now);
    }

    fn charge(&mut self, from: Time, until: Time) {
        self.advance(from);
        let boundary = self.window + self.limits.period;
        self.remaining = self.remaining.saturating_sub(until.min(boundary) - from);
        if until > boundary {
            self.advance(until);
            self.remaining = self.limits.capacity.saturating_sub(until - self.window);
        }
    }

    fn available(&self, now: Time) -> Time {
        let remaining = if self.window_of(now) == self.window {
            self.remaining
        } else {
            self.limits.capacity
        };
        remaining.min(self.window_of(now) + self.limits.period - now)
    }

    fn next_replenishment(&self, now: Time) -> Time {
        self.window_of(now) + self.limits.period
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_its_capacity_to_the_end_of_the_period_and_no_longer() {
        let limits = Capacity {
            capacity: 3,
            period: 10,
        };
        let mut budget = Deferrable::new(limits, 0).expect("valid");
        assert_eq!(budget.available(0), 3);
        assert_eq!(budget.available(8), 2);
        budget.charge(8, 10);
        assert_eq!(budget.available(10), 3);
        budget.charge(10, 13);
        assert_eq!(
            (budget.available(13), budget.next_replenishment(13)),
            (0, 20)
        );
    }
}
