//! Noise that repeats
//!
//! Xorshift64* (S. Vigna, *An experimental exploration of Marsaglia's xorshift generators, scrambled*, ACM TOMS 42(4), 2016).

/// A source of noise.
#[derive(Clone, Copy, Debug)]
pub struct Noise(u64);

impl Noise {
    /// Seeded; 0 is replaced.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(if seed == 0 { 1 } else { seed })
    }

    /// Uniform in [0, 1).
    pub const fn part(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
        bits as f64 / (1_u64 << 53) as f64
    }

    /// Uniform between two values.
    pub const fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.part()
    }

    /// Returns a value around 0 of that standard deviation, never beyond twice that: the sum of four uniform values has variance 4/12.
    pub fn around(&mut self, deviation: f64) -> f64 {
        let sum = (0..4).map(|_| self.between(-1.0, 1.0)).sum::<f64>();
        // Var(sum) = 4 · (2²/12) = 4/3.
        sum * deviation * 0.866_025_403_784_438_6
    }
}

#[cfg(test)]
mod tests {
    use super::Noise;

    #[test]
    fn has_the_moments_it_says() {
        let mut noise = Noise::new(7);
        let values: [f64; 20_000] = core::array::from_fn(|_| noise.around(2.0));
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values
            .iter()
            .map(|value| (value - mean) * (value - mean))
            .sum::<f64>()
            / count;
        assert!(
            mean.abs() < 0.05 && (variance / 4.0 - 1.0).abs() < 0.05,
            "{mean} {variance}"
        );
        assert!((0..20_000).all(|_| (3.0..4.0).contains(&noise.between(3.0, 4.0))));
    }
}
