//! Constant-bandwidth server with a hard budget
//!
//! Abeni and Buttazzo 1998, with hard reservations: meant to be ordered by [`Budget::deadline`]. It
//! demands no more than C/T of what is due by any time, and no more is guaranteed: a server that is *less* important than
//! a band of such servers may lose two budgets within one period. Where that matters a corrected
//! sporadic server ([`super::Sporadic`]) stands in the band (`doc/design/time-and-budgets.md`).

use crate::budget::interface::{Budget, Capacity};
use crate::thread::{NEVER, Refusal, Time};

/// Budget of a constant-bandwidth server.
#[derive(Clone, Copy, Debug)]
pub struct ConstantBandwidth {
    limits: Capacity,
    remaining: Time,
    /// From when on what is left may be used: the deadline before, where that budget was used up.
    usable: Time,
    deadline: Time,
}

impl ConstantBandwidth {
    /// Its first period starts when it is first ready.
    ///
    /// # Errors
    /// [`Refusal::BadParameters`].
    pub fn new(limits: Capacity, now: Time) -> Result<Self, Refusal> {
        Ok(Self {
            limits: limits.checked()?,
            remaining: 0,
            usable: now,
            deadline: now,
        })
    }
}

impl Budget for ConstantBandwidth {
    /// The old deadline stays where what is left does not exceed the bandwidth until then.
    fn ready(&mut self, now: Time) {
        let Capacity { capacity, period } = self.limits;
        let rest = self.deadline.saturating_sub(now);
        let exceeds = u128::from(self.remaining) * u128::from(period)
            > u128::from(rest) * u128::from(capacity);
        if now >= self.usable && (rest == 0 || exceeds) {
            self.remaining = capacity;
            self.usable = now;
            self.deadline = now + period;
        }
    }

    fn stop(&mut self, _now: Time) {}

    fn charge(&mut self, from: Time, until: Time) {
        self.remaining = self.remaining.saturating_sub(until - from);
        if self.remaining == 0 {
            self.remaining = self.limits.capacity;
            self.usable = self.deadline;
            self.deadline += self.limits.period;
        }
    }

    fn available(&self, now: Time) -> Time {
        if self.usable <= now {
            self.remaining
        } else {
            0
        }
    }

    fn next_replenishment(&self, now: Time) -> Time {
        if self.usable > now {
            self.usable
        } else {
            NEVER
        }
    }

    fn deadline(&self) -> Time {
        self.deadline
    }
}
