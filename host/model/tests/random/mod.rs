//! Random numbers that are the same in every run

use bulkhead_sched::harness;

/// A generator of the numbers of a case.
pub(crate) struct Random(harness::Random);

impl Random {
    /// The numbers of a case.
    pub(crate) const fn of(seed: u64) -> Self {
        Self(harness::Random::new(
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15),
        ))
    }

    /// From `least` to `most`, both included.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.below(most - least + 1)
    }
}
