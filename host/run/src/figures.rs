//! Figures and their kinds
//!
//! A figure of one kind is never shown beside one of another: the kind says what may be concluded.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Percentiles do not tell longer durations apart: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// How a figure came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Instruction counts of one core: exact, repeats bit by bit.
    Path,
    /// Instruction-counted time of several cores that take turns: repeats bit by bit; skew between
    /// cores is bounded by their turns.
    Virtual,
    /// Wall clock of the emulator: ratios side by side at most, never a deadline.
    Emulated,
    /// Cycles of the portable libraries on the developer's machine.
    Host,
    /// Bytes and lines of what was built: no time at all.
    Size,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Path => "path",
            Self::Virtual => "virtual",
            Self::Emulated => "emulated",
            Self::Host => "host",
            Self::Size => "size",
        })
    }
}

/// Smallest, mean, 99th percentile and largest of many durations, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// Smallest.
    pub min_ns: u64,
    /// Mean.
    pub avg_ns: f64,
    /// 99th percentile, to 1 %.
    pub p99_ns: u64,
    /// Largest.
    pub max_ns: u64,
}

impl Spread {
    /// Largest less smallest, nanoseconds.
    #[must_use]
    pub const fn jitter_ns(&self) -> u64 {
        self.max_ns - self.min_ns
    }
}

/// Collects durations in bounded memory; all but the percentile exact.
#[derive(Clone, Debug)]
pub struct Durations {
    histogram: Histogram<u64>,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
}

impl Default for Durations {
    fn default() -> Self {
        let histogram = Histogram::new_with_max(LONGEST_NS, 2).expect("the range is a valid one");
        Self {
            histogram,
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
        }
    }
}

impl Durations {
    /// Takes one more.
    pub fn add(&mut self, duration_ns: u64) {
        self.histogram.saturating_record(duration_ns);
        self.min_ns = self.min_ns.min(duration_ns);
        self.max_ns = self.max_ns.max(duration_ns);
        self.sum_ns += u128::from(duration_ns);
    }

    /// Largest so far, nanoseconds.
    #[must_use]
    pub const fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// Their distribution; all zero if there is none.
    #[must_use]
    pub fn spread(&self) -> Spread {
        let count = self.histogram.len();
        if count == 0 {
            return Spread::default();
        }
        let p99_ns = self.histogram.value_at_quantile(0.99);
        Spread {
            count,
            min_ns: self.min_ns,
            avg_ns: self.sum_ns as f64 / count as f64,
            p99_ns: p99_ns.clamp(self.min_ns, self.max_ns),
            max_ns: self.max_ns,
        }
    }
}

/// A number of things: `1 fault`, `2 faults`.
#[must_use]
pub fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// A duration as a person reads it: `215 us`, `1.25 ms`, `2 s`.
#[must_use]
pub fn duration(ns: u64) -> String {
    let (scale, unit) = match ns {
        0..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let text = format!("{:.2}", ns as f64 / f64::from(scale));
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_of_one_to_a_hundred() {
        let mut durations = Durations::default();
        (1..=100).for_each(|ns| durations.add(ns * 1000));
        let spread = durations.spread();
        assert_eq!(
            (spread.count, spread.min_ns, spread.max_ns),
            (100, 1000, 100_000)
        );
        assert!((spread.avg_ns - 50_500.0).abs() < 1e-9);
        assert!(spread.p99_ns.abs_diff(99_000) <= 990, "{}", spread.p99_ns);
        assert_eq!(spread.jitter_ns(), 99_000);
        assert_eq!(Durations::default().spread(), Spread::default());
    }

    #[test]
    fn nonsense_does_not_panic() {
        let mut durations = Durations::default();
        durations.add(u64::MAX);
        durations.add(0);
        assert_eq!(durations.spread().max_ns, u64::MAX);
    }

    #[test]
    fn durations_and_counts_read_well() {
        for (ns, text) in [
            (0, "0 ns"),
            (950, "950 ns"),
            (215_200, "215.2 us"),
            (1_250_000, "1.25 ms"),
            (60_000_000, "60 ms"),
            (2_000_000_000, "2 s"),
        ] {
            assert_eq!(duration(ns), text);
        }
        assert_eq!(counted(1, "job"), "1 job");
        assert_eq!(counted(0, "job"), "0 jobs");
    }
}
