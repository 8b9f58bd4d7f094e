//! Work of a known length

use crate::clock::{self, ticks};
use core::hint::black_box;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Rounds of the loop that are timed.
const ROUNDS: u64 = 100_000;
/// Number and length of the pieces: a microsecond or two each.
const SHORT: u64 = 200;
const PIECES: u64 = 100;

/// Converts ticks to nanoseconds.
#[must_use]
pub fn nanoseconds(ticks: u64) -> u64 {
    (u128::from(ticks) * 1_000_000_000 / u128::from(clock::frequency())) as u64
}

/// A loop with a known duration, however often it is interrupted.
#[derive(Debug)]
pub struct Load {
    /// Ticks of [`ROUNDS`].
    ticks: AtomicU64,
}

impl Load {
    /// A loop that was not timed yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            ticks: AtomicU64::new(1),
        }
    }

    /// Times the loop, while nothing interrupts it.
    pub fn calibrate(&self) {
        let start = clock::now();
        rounds(ROUNDS);
        self.ticks.store((clock::now() - start).max(1), Relaxed);
    }

    /// Times the loop on an emulator with up to `cores` cores that take turns: alone, in pieces
    /// shorter than a turn, of which the quickest counts, and as if all other cores always used
    /// their turns. Then a computation of some duration takes no longer, whatever the other cores
    /// do, and less while they wait.
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

    /// Computes for `ns` nanoseconds, rounded down.
    pub fn compute(&self, ns: u64) {
        rounds(ticks(ns) * ROUNDS / self.ticks.load(Relaxed));
    }
}

/// Rounds of a piece of endless work.
const PIECE: u64 = 625;

/// Computes without end; counts pieces. A piece is a fixed number of rounds: if it were a time, another core that starts
/// while the loop is timed would change the work of all pieces, and the counts of two runs could not be compared.
pub fn endless(pieces: &AtomicU64) -> ! {
    loop {
        rounds(PIECE);
        pieces.fetch_add(1, Relaxed);
    }
}

/// Computes so many iterations, each of a few instructions.
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
