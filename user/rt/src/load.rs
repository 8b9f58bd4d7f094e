//! Work of a known length

use crate::clock::{self, ticks};
use core::hint::black_box;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Rounds of the loop that are timed.
const ROUNDS: u64 = 100_000;
/// In pieces of so many, each of a microsecond or two, that many times.
const SHORT: u64 = 200;
const PIECES: u64 = 100;

/// Nanoseconds of so many ticks.
#[must_use]
pub fn nanoseconds(ticks: u64) -> u64 {
    (u128::from(ticks) * 1_000_000_000 / u128::from(clock::frequency())) as u64
}

/// A loop that takes a time known before, however often it is interrupted.
#[derive(Debug)]
pub struct Load {
    /// Ticks of [`ROUNDS`].
    ticks: AtomicU64,
}

impl Load {
    /// Not timed yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            ticks: AtomicU64::new(1),
        }
    }

    /// Times the loop, where nothing interrupts it.
    pub fn calibrate(&self) {
        let start = clock::now();
        rounds(ROUNDS);
        self.ticks.store((clock::now() - start).max(1), Relaxed);
    }

    /// Times the loop where cores are emulated and take turns, so many of them at most: alone, in pieces shorter than a
    /// turn of which the quickest counts, and as if all others always had theirs. What is computed for some time takes
    /// no longer then, whatever they do, and less while they wait.
    pub fn calibrate_among(&self, cores: u64) {
        let timed = (0..PIECES).map(|_| {
            let start = clock::now();
            rounds(SHORT);
            clock::now() - start
        });
        let quickest = timed.min().unwrap_or(1).max(1);
        self.ticks
            .store(quickest * (ROUNDS / SHORT) * cores, Relaxed);
    }

    /// Computes for `ns`, rounded down.
    pub fn compute(&self, ns: u64) {
        rounds(ticks(ns) * ROUNDS / self.ticks.load(Relaxed));
    }
}

/// Nanoseconds of a piece of endless work.
const PIECE: u64 = 10_000;

impl Load {
    /// Computes without end; counts pieces of [`PIECE`].
    pub fn endless(&self, pieces: &AtomicU64) -> ! {
        loop {
            self.compute(PIECE);
            pieces.fetch_add(1, Relaxed);
        }
    }
}

/// Computes for so many rounds, each of a few instructions.
pub fn rounds(count: u64) {
    for round in 0..count {
        black_box(round);
    }
}

impl Default for Load {
    fn default() -> Self {
        Self::new()
    }
}
