//! Utilisation tests
//!
//! Rate monotonic with I/O VCPUs: Σ C_i/T_i + Σ (2 − U_j)·U_j ≤ n(2^{1/n} − 1) (spec
//! 30-scheduling §3; Liu and Layland 1973 for the right side, n the number of Main VCPUs); EDF:
//! the left side ≤ 1. Sums are exact to one part in 2^40 and rounded up, so that no rounding admits
//! an overload.

use crate::Reservation;

/// A fraction of a processor, in units of 2^-40.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fraction(pub u64);

/// The whole processor.
pub const WHOLE: Fraction = Fraction(1 << 40);

impl Fraction {
    /// `numerator / denominator`, rounded up; at most 2^23 processors.
    #[must_use]
    pub fn ratio(numerator: u64, denominator: u64) -> Option<Self> {
        let scaled = u128::from(numerator) << 40;
        let quotient = scaled.checked_add(u128::from(denominator).checked_sub(1)?)?;
        u64::try_from(quotient.checked_div(u128::from(denominator))?)
            .ok()
            .map(Self)
    }

    /// In percent, for people.
    #[must_use]
    pub fn percent(self) -> f64 {
        self.0 as f64 * 100.0 / WHOLE.0 as f64
    }

    fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }
}

/// Returns the largest share that an I/O VCPU of utilisation U takes from the others: (2 − U)·U.
#[must_use]
pub fn io_share(utilisation: Fraction) -> Option<Fraction> {
    let rest = (2 * WHOLE.0).checked_sub(utilisation.0)?;
    let product = (u128::from(rest) * u128::from(utilisation.0)).div_ceil(1 << 40);
    u64::try_from(product).ok().map(Fraction)
}

/// Left side of both tests.
#[must_use]
pub fn demand<'a>(
    mains: impl IntoIterator<Item = &'a Reservation>,
    io: impl IntoIterator<Item = Fraction>,
) -> Option<Fraction> {
    let mains = mains.into_iter().try_fold(Fraction(0), |sum, vcpu| {
        sum.plus(Fraction::ratio(vcpu.capacity, vcpu.period)?)
    })?;
    io.into_iter()
        .try_fold(mains, |sum, utilisation| sum.plus(io_share(utilisation)?))
}

/// n(2^{1/n} − 1), rounded down; the whole processor for n = 0.
#[must_use]
pub fn rate_monotonic_bound(n: usize) -> Fraction {
    if n == 0 {
        return WHOLE;
    }
    let n = n as u64;
    let root = largest(|root| power_at_most_two(root, n));
    Fraction(n.saturating_mul(root - WHOLE.0))
}

/// Largest 40-bit fixed-point number in 1..=2 that satisfies a downward-closed condition.
fn largest(holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (WHOLE.0, 2 * WHOLE.0);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if holds(middle) {
            low = middle
        } else {
            high = middle - 1
        }
    }
    low
}

/// Returns whether root^n ≤ 2, with every product rounded up.
fn power_at_most_two(root: u64, n: u64) -> bool {
    let (mut base, mut power, mut n) = (u128::from(root), u128::from(WHOLE.0), n);
    let limit = u128::from(2 * WHOLE.0);
    while n > 0 {
        if n & 1 == 1 {
            power = (power * base).div_ceil(1 << 40);
        }
        n >>= 1;
        if power > limit || (n > 0 && base > limit) {
            return false;
        }
        base = (base * base).div_ceil(1 << 40);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vcpu(capacity: u64, period: u64) -> Reservation {
        Reservation::new(capacity, period).expect("valid")
    }

    #[test]
    fn liu_and_layland() {
        for (n, expected) in [(1, 1.0), (2, 0.828_427), (3, 0.779_763), (10, 0.717_734)] {
            let bound = rate_monotonic_bound(n).percent() / 100.0;
            assert!((bound - expected).abs() < 1e-6, "n = {n}: {bound}");
            assert!(bound <= (n as f64) * (2f64.powf(1.0 / n as f64) - 1.0) + 1e-15);
        }
        let many = rate_monotonic_bound(10_000).percent() / 100.0;
        assert!((many - core::f64::consts::LN_2).abs() < 1e-4);
    }

    #[test]
    fn bounds_are_rounded_down_and_one_vcpu_has_the_processor() {
        assert_eq!(rate_monotonic_bound(1), WHOLE);
        // Exactly: the root is the largest number whose power is at most two.
        for n in 2..=3 {
            let root = u128::from(rate_monotonic_bound(n).0) / n as u128 + (1 << 40);
            let limit = 1u128 << (40 * n + 1);
            assert!(root.pow(n as u32) <= limit, "{n}");
            assert!((root + 2).pow(n as u32) > limit, "{n}");
        }
    }

    #[test]
    fn figure_4_3_is_admitted() {
        let io = Fraction::ratio(4, 100).expect("valid");
        let demand = demand(&[vcpu(10, 40), vcpu(20, 50)], [io]).expect("fits");
        // 0.25 + 0.4 + (2 - 0.04)·0.04 = 0.7284
        assert!((demand.percent() - 72.84).abs() < 1e-6);
        assert!(demand <= rate_monotonic_bound(2));
    }

    #[test]
    fn nothing_is_rounded_into_fitting() {
        let thirds = [vcpu(1, 3), vcpu(1, 3), vcpu(1, 3)];
        assert!(demand(&thirds, []).expect("fits") >= WHOLE);
        assert_eq!(Fraction::ratio(1, 0), None);
        assert_eq!(io_share(Fraction(3 * WHOLE.0)), None);
    }
}
