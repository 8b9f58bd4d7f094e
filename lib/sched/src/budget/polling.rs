//! Polling server
//!
//! Sprunt, Sha and Lehoczky 1989: full capacity at each multiple of the period, lost as soon as
//! there is nothing to run. The plain baseline.

use crate::budget::deferrable::Deferrable;
use crate::budget::interface::{Budget, Capacity};
use crate::thread::{Refusal, Time};

/// Budget of a polling server.
#[derive(Clone, Copy, Debug)]
pub struct Polling {
    budget: Deferrable,
    forfeited: bool,
    until: Time,
}

impl Polling {
    /// Full, in the period of `now`.
    ///
    /// # Errors
    /// [`Refusal::BadParameters`].
    pub fn new(limits: Capacity, now: Time) -> Result<Self, Refusal> {
        Deferrable::new(limits, now).map(|budget| Self {
            budget,
            forfeited: false,
            until: 0,
        })
    }
}

impl Budget for Polling {
    fn ready(&mut self, now: Time) {
        self.forfeited = self.forfeited && now < self.until;
        self.budget.ready(now);
    }

    fn stop(&mut self, now: Time) {
        self.budget.stop(now);
    }

    fn idle(&mut self, now: Time) {
        self.forfeited = true;
        self.until = self.budget.next_replenishment(now);
    }

    fn charge(&mut self, from: Time, until: Time) {
        self.budget.charge(from, until);
    }

    fn available(&self, now: Time) -> Time {
        let lost = self.forfeited && now < self.until;
        if lost { 0 } else { self.budget.available(now) }
    }

    fn next_replenishment(&self, now: Time) -> Time {
        self.budget.next_replenishment(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_used_at_once_is_lost() {
        let mut budget = Polling::new(
            Capacity {
                capacity: 3,
                period: 10,
            },
            0,
        )
        .expect("valid");
        budget.ready(0);
        assert_eq!(budget.available(0), 3);
        budget.charge(0, 1);
        budget.idle(1);
        budget.ready(5);
        assert_eq!((budget.available(5), budget.next_replenishment(5)), (0, 10));
        assert_eq!(budget.available(10), 3);
    }
}
