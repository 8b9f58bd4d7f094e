//! Work of a known length

use bulkhead_linux::{frequency_hz, ticks};
use std::hint::black_box;

/// Rounds of the loop that are timed, and how often: the shortest time is that of the loop alone.
const ROUNDS: u64 = 10_000;
const TRIES: usize = 20;

/// A loop whose rounds were timed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    ticks: u64,
}

impl Load {
    pub(crate) fn calibrated() -> Self {
        let time = || {
            let start = ticks();
            rounds(ROUNDS);
            ticks() - start
        };
        let shortest = (0..TRIES).map(|_| time()).min();
        Self {
            ticks: shortest.unwrap_or(1).max(1),
        }
    }

    /// Computes for so many nanoseconds, rounded down.
    pub(crate) fn compute(self, ns: u64) {
        let ticks = u128::from(ns) * u128::from(frequency_hz()) / 1_000_000_000;
        rounds((ticks * u128::from(ROUNDS) / u128::from(self.ticks)) as u64);
    }
}

fn rounds(count: u64) {
    for round in 0..count {
        black_box(round);
    }
}
