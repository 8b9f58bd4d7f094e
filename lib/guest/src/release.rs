//! Release times of a periodic task
//!
//! Releases lie at `offset + n * period` of the counter that all partitions share, whenever the
//! task started: the phase between tasks of different partitions is thus fixed by the description
//! of the tasks and survives restarts (time-triggered release; Kopetz, *Real-Time Systems*, ch.
//! 1.3). A period that is no whole number of ticks is kept exact by carrying the remainder.

/// Nanoseconds of a second.
const SECOND_NS: u64 = 1_000_000_000;

/// Period and phase, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// From release to release; at least 1.
    pub period_ns: u64,
    /// Of the releases against counter value 0.
    pub offset_ns: u64,
}

impl Period {
    /// Releases every `period_ns` nanoseconds, at multiples of it; 0 counts as 1.
    #[must_use]
    pub const fn from_nanos(period_ns: u64) -> Self {
        Self {
            period_ns: if period_ns == 0 { 1 } else { period_ns },
            offset_ns: 0,
        }
    }

    /// Releases every `period_us` microseconds.
    #[must_use]
    pub const fn from_micros(period_us: u64) -> Self {
        Self::from_nanos(period_us.saturating_mul(1000))
    }

    /// Releases `offset_us` microseconds later.
    #[must_use]
    pub const fn with_offset_micros(self, offset_us: u64) -> Self {
        Self {
            offset_ns: offset_us.saturating_mul(1000),
            ..self
        }
    }
}

/// A duration as whole ticks and the remainder in ticks / 10⁹.
#[derive(Clone, Copy)]
struct Exact {
    ticks: u64,
    billionths: u64,
}

impl Exact {
    fn of(nanos: u64, frequency_hz: u64) -> Self {
        let product = u128::from(nanos) * u128::from(frequency_hz);
        let second = u128::from(SECOND_NS);
        Self {
            ticks: (product / second) as u64,
            billionths: (product % second) as u64,
        }
    }
}

/// The releases of one task.
pub struct Releases {
    period: Exact,
    next: Exact,
}

/// A release that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// When, ticks.
    pub ticks: u64,
    /// Releases before it that went by unused.
    pub skipped: u64,
}

impl Releases {
    /// The releases after `now_ticks`, on a counter of `frequency_hz`.
    #[must_use]
    pub fn after(now_ticks: u64, period: Period, frequency_hz: u64) -> Self {
        let scale = |ns| u128::from(ns) * u128::from(frequency_hz);
        let (step, offset) = (scale(period.period_ns).max(1), scale(period.offset_ns));
        let now = u128::from(now_ticks) * u128::from(SECOND_NS);
        let passed = if now < offset {
            0
        } else {
            (now - offset) / step + 1
        };
        let first = offset + passed * step;
        let second = u128::from(SECOND_NS);
        let next = Exact {
            ticks: (first / second) as u64,
            billionths: (first % second) as u64,
        };
        Self {
            period: Exact::of(period.period_ns, frequency_hz),
            next,
        }
    }

    /// When the next release is due, ticks.
    #[must_use]
    pub fn next_ticks(&self) -> u64 {
        self.next.ticks
    }

    /// Ticks from a release to the next, rounded down.
    #[must_use]
    pub const fn period_ticks(&self) -> u64 {
        self.period.ticks
    }

    /// Takes the release that is due at `now_ticks`, the newest one where several are; the others
    /// are skipped, for a controller that is late must act on the present and not catch up.
    pub fn take(&mut self, now_ticks: u64) -> Release {
        let mut release = Release {
            ticks: self.next.ticks,
            skipped: 0,
        };
        self.advance();
        while self.next.ticks <= now_ticks && self.next.ticks > release.ticks {
            release = Release {
                ticks: self.next.ticks,
                skipped: release.skipped + 1,
            };
            self.advance();
        }
        release
    }

    fn advance(&mut self) {
        let billionths = self.next.billionths + self.period.billionths;
        let carry = u64::from(billionths >= SECOND_NS);
        self.next.ticks = self.next.ticks.saturating_add(self.period.ticks + carry);
        self.next.billionths = billionths - carry * SECOND_NS;
    }
}

#[cfg(test)]
mod tests {
    use super::{Period, Release, Releases};
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    const HZ: u64 = 62_500_000;

    #[test]
    fn lie_on_the_common_grid() {
        let period = Period::from_micros(1000).with_offset_micros(500);
        let mut releases = Releases::after(0, period, HZ);
        assert_eq!(releases.next_ticks(), 31_250);
        assert_eq!(
            releases.take(31_250),
            Release {
                ticks: 31_250,
                skipped: 0
            }
        );
        assert_eq!(releases.next_ticks(), 93_750);
        assert_eq!(
            Releases::after(31_250, period, HZ).next_ticks(),
            93_750,
            "strictly later"
        );
        assert_eq!(Releases::after(31_249, period, HZ).next_ticks(), 31_250);
    }

    #[test]
    fn skip_what_was_missed() {
        let mut releases = Releases::after(0, Period::from_micros(1000), HZ);
        let release = releases.take(62_500 * 5 + 7);
        assert_eq!(
            release,
            Release {
                ticks: 62_500 * 5,
                skipped: 4
            }
        );
        assert_eq!(releases.next_ticks(), 62_500 * 6);
    }

    proptest! {
        #[test]
        fn never_drift(period_ns in 20u64..10_000_000, hz in 1_000_000u64..1_500_000_000,
                       start in 0u64..1 << 40) {
            let mut releases = Releases::after(start, Period::from_nanos(period_ns), hz);
            let index = u128::from(start) * 1_000_000_000 / (u128::from(period_ns) * u128::from(hz));
            for n in 1..200u128 {
                let exact = (index + n) * u128::from(period_ns) * u128::from(hz) / 1_000_000_000;
                prop_assert_eq!(u128::from(releases.next_ticks()), exact);
                let now = releases.next_ticks();
                prop_assert!(releases.take(now).ticks == now);
            }
        }
    }
}
