//! Random numbers that are the same in every run

/// Marsaglia's xorshift64*.
pub(crate) struct Random(u64);

impl Random {
    /// The numbers of a case.
    pub(crate) const fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// From `least` to `most`, both included.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        least + (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16) % (most - least + 1)
    }
}
