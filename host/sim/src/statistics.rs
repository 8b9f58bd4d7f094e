//! Response times, streamed

/// Buckets per power of two.
const STEPS: u32 = 4;
const BUCKETS: usize = 64 * STEPS as usize;

/// Response times of a task, in bounded memory: extremes are exact, quantiles within a quarter of a
/// power of two, rounded up.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// Jobs that ended.
    pub jobs: u64,
    /// Jobs that ended after their deadline.
    pub late: u64,
    /// Longest response, nanoseconds.
    pub worst: u64,
    /// Sum of all, nanoseconds.
    pub sum: u128,
    buckets: [u32; BUCKETS],
}

impl Default for Statistics {
    fn default() -> Self {
        Self {
            jobs: 0,
            late: 0,
            worst: 0,
            sum: 0,
            buckets: [0; BUCKETS],
        }
    }
}

/// Values below `STEPS` have buckets of their own; above, the two bits after the highest count.
fn bucket(value: u64) -> usize {
    if value < u64::from(STEPS) {
        return value as usize;
    }
    let power = value.ilog2();
    let step = (value >> (power - 2)) & 3;
    ((power - 1) * STEPS) as usize + step as usize
}

/// Largest value of a bucket.
fn upper(bucket: usize) -> u64 {
    let (power, step) = (bucket as u32 / STEPS + 1, bucket as u64 % u64::from(STEPS));
    if bucket < STEPS as usize {
        return bucket as u64;
    }
    let width = 1_u128 << (power - 2);
    ((4 + u128::from(step) + 1) * width - 1).min(u128::from(u64::MAX)) as u64
}

impl Statistics {
    pub(crate) fn add(&mut self, response: u64, deadline: u64) {
        self.jobs += 1;
        self.late += u64::from(response > deadline);
        self.worst = self.worst.max(response);
        self.sum += u128::from(response);
        let count = &mut self.buckets[bucket(response)];
        *count = count.saturating_add(1);
    }

    /// Mean, nanoseconds; 0 without jobs.
    #[must_use]
    pub fn mean(&self) -> u64 {
        let mean = self.sum.checked_div(u128::from(self.jobs));
        mean.unwrap_or(0) as u64
    }

    /// Upper bound of this percentage of the responses, nanoseconds.
    #[must_use]
    pub fn quantile(&self, percent: u64) -> u64 {
        let rank = (u128::from(self.jobs) * u128::from(percent)).div_ceil(100) as u64;
        let mut seen = 0;
        let found = self.buckets.iter().position(|&count| {
            seen += u64::from(count);
            seen >= rank
        });
        found.map_or(self.worst, |bucket| upper(bucket).min(self.worst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_what_they_say() {
        for value in (0..4096).chain([u64::MAX, u64::MAX / 3, 1 << 40]) {
            let number = bucket(value);
            assert!(value <= upper(number), "{value}");
            assert!(number == 0 || value > upper(number - 1), "{value}");
        }
    }

    #[test]
    fn quantiles() {
        let mut statistics = Statistics::default();
        (1..=1000).for_each(|value| statistics.add(value, 990));
        assert_eq!(
            (statistics.late, statistics.worst, statistics.mean()),
            (10, 1000, 500)
        );
        let median = statistics.quantile(50);
        assert!((500..=640).contains(&median), "{median}");
        assert_eq!(statistics.quantile(100), 1000);
    }
}
