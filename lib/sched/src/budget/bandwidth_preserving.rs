//! Bandwidth-preserving I/O server
//!
//! Paper 001 §4.1.2, spec 30-scheduling §2: an I/O VCPU has a utilisation U and no period of its
//! own. From its start it may use U·T, T the period of the Main VCPU it works for; at the end of
//! this budget, or of the work, after a use of u, it is eligible again at start + u/U. One
//! replenishment, no list.

use crate::budget::interface::Budget;
use crate::thread::{NEVER, Refusal, Time};

/// A share of a processor, in units of 2^-20.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utilisation(u32);

const WHOLE: u32 = 1 << 20;

impl Utilisation {
    /// `numerator / denominator`, rounded down.
    ///
    /// # Errors
    /// [`Refusal::BadParameters`] where it is nothing (below 2^-20) or more than the processor.
    pub fn ratio(numerator: u32, denominator: u32) -> Result<Self, Refusal> {
        let scaled = (u64::from(numerator) << 20).checked_div(u64::from(denominator));
        match scaled {
            Some(scaled @ 1..=0x10_0000) => Ok(Self(scaled as u32)),
            _ => Err(Refusal::BadParameters),
        }
    }

    /// U·t, rounded down.
    #[must_use]
    pub fn of(self, span: Time) -> Time {
        ((u128::from(span) * u128::from(self.0)) >> 20) as Time
    }

    /// t/U, rounded up.
    #[must_use]
    pub fn span_of(self, used: Time) -> Time {
        let span = (u128::from(used) * u128::from(WHOLE)).div_ceil(u128::from(self.0));
        Time::try_from(span).unwrap_or(NEVER >> 2)
    }
}

/// Budget of an I/O VCPU.
#[derive(Clone, Copy, Debug)]
pub struct BandwidthPreserving {
    utilisation: Utilisation,
    /// T of the Main VCPU it works for, and U·T.
    period: Time,
    capacity: Time,
    /// Start of what is accounted; in the future, the time from which it is eligible again.
    start: Time,
    used: Time,
}

impl BandwidthPreserving {
    /// Eligible from `now` on, for a Main VCPU of period `period`.
    ///
    /// # Errors
    /// [`Refusal::BadParameters`] where U·T is less than one cycle, or T too long.
    pub fn new(utilisation: Utilisation, period: Time, now: Time) -> Result<Self, Refusal> {
        let capacity = utilisation.of(period);
        if capacity == 0 || period > Time::MAX >> 2 {
            return Err(Refusal::BadParameters);
        }
        Ok(Self {
            utilisation,
            period,
            capacity,
            start: now,
            used: 0,
        })
    }

    /// Works for a Main VCPU of period `period` from its next start on; what is under way is
    /// accounted to its end as it began.
    pub fn work_for(&mut self, period: Time) {
        if self.used == 0 {
            self.period = period;
            self.capacity = self.utilisation.of(period).max(1);
        }
    }

    fn settle(&mut self) {
        let used = core::mem::take(&mut self.used);
        self.start = self.start.saturating_add(self.utilisation.span_of(used));
    }
}

impl Budget for BandwidthPreserving {
    fn ready(&mut self, now: Time) {
        if self.used == 0 {
            self.start = self.start.max(now);
        }
    }

    fn stop(&mut self, _now: Time) {}

    fn idle(&mut self, _now: Time) {
        self.settle();
    }

    fn charge(&mut self, from: Time, until: Time) {
        self.used += until - from;
        if self.used >= self.capacity {
            self.settle();
        }
    }

    fn available(&self, now: Time) -> Time {
        if self.start <= now {
            self.capacity - self.used
        } else {
            0
        }
    }

    fn next_replenishment(&self, now: Time) -> Time {
        if self.start > now { self.start } else { NEVER }
    }

    fn deadline(&self) -> Time {
        self.start.saturating_add(self.period)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn quarter(period: Time) -> BandwidthPreserving {
        let utilisation = Utilisation::ratio(1, 4).expect("valid");
        BandwidthPreserving::new(utilisation, period, 0).expect("valid")
    }

    #[test]
    fn is_eligible_again_when_its_use_is_paid() {
        let mut budget = quarter(40);
        budget.ready(0);
        assert_eq!(budget.available(0), 10);
        budget.charge(0, 4);
        budget.idle(4);
        assert_eq!((budget.available(5), budget.next_replenishment(5)), (0, 16));
        budget.ready(5);
        assert_eq!(budget.available(16), 10);
        budget.charge(16, 26);
        assert_eq!(
            (budget.available(26), budget.next_replenishment(26)),
            (0, 56)
        );
    }

    #[test]
    fn what_is_no_share_is_refused() {
        assert_eq!(Utilisation::ratio(0, 5), Err(Refusal::BadParameters));
        assert_eq!(Utilisation::ratio(6, 5), Err(Refusal::BadParameters));
        assert_eq!(Utilisation::ratio(1, 0), Err(Refusal::BadParameters));
        let small = Utilisation::ratio(1, 100).expect("valid");
        assert!(BandwidthPreserving::new(small, 99, 0).is_err());
    }

    proptest! {
        /// In every window of t it executes at most U·t + (2 − U)·U·T: at its edges two budgets, in
        /// between its share.
        #[test]
        fn keeps_its_share_in_every_window(steps in prop::collection::vec((any::<bool>(), 1u64..60), 1..80)) {
            let (mut budget, mut now, mut ran) = (quarter(40), 0, Vec::<(Time, Time)>::new());
            let mut awake = false;
            for (run, span) in steps {
                if run && !core::mem::replace(&mut awake, true) {
                    budget.ready(now);
                }
                let granted = if run { span.min(budget.available(now)) } else { 0 };
                if granted > 0 {
                    budget.charge(now, now + granted);
                    ran.push((now, now + granted));
                } else if !run && core::mem::take(&mut awake) {
                    budget.idle(now);
                }
                now = match (run, granted) {
                    (true, 0) => budget.next_replenishment(now),
                    (true, _) => now + granted,
                    (false, _) => now + span,
                };
            }
            for (index, &(start, _)) in ran.iter().enumerate() {
                let mut sum = 0;
                for &(from, end) in &ran[index..] {
                    sum += end - from;
                    prop_assert!(4 * sum <= (end - start) + 70, "{sum} in {start}..{end}");
                }
            }
        }
    }
}
