//! Plausibility of the measured speed

/// Age up to which a value counts as new, s: five control periods.
pub const FRESH_S: f64 = 0.005;
/// Age up to which the last value is held, s; a restart of the plant takes less.
pub const HELD_S: f64 = 0.05;
/// Largest change that a vehicle can make, m/s²: a crash makes more, and is none of our business.
pub const MAX_RATE_MPS2: f64 = 20.0;
/// Largest speed that is believed, m/s.
pub const MAX_SPEED_MPS: f64 = 100.0;

/// Knowledge of the current speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// Measured, m/s.
    Measured(f64),
    /// The last one that was good, m/s.
    Held(f64),
    /// Not known.
    Unknown,
}

/// Watches over the speed sensor.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpeedSensor {
    good_mps: Option<f64>,
    since_good_s: f64,
}

impl SpeedSensor {
    /// One that has seen nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            good_mps: None,
            since_good_s: 0.0,
        }
    }

    /// Judges a sample (speed in m/s, age in s), `step_s` seconds after the last call. What is too
    /// old or impossible counts as absent; after [`HELD_S`] without a good sample, the next
    /// possible one is believed whatever the last was.
    pub fn judge(&mut self, sample: Option<(f64, f64)>, step_s: f64) -> Speed {
        self.since_good_s = (self.since_good_s + step_s).min(1e9);
        if self.since_good_s > HELD_S {
            self.good_mps = None;
        }
        match sample {
            Some((speed_mps, age_s)) if age_s <= FRESH_S && self.is_possible(speed_mps) => {
                *self = Self {
                    good_mps: Some(speed_mps),
                    since_good_s: 0.0,
                };
                Speed::Measured(speed_mps)
            }
            _ => self.good_mps.map_or(Speed::Unknown, Speed::Held),
        }
    }

    fn is_possible(&self, speed_mps: f64) -> bool {
        let reach = MAX_RATE_MPS2 * self.since_good_s + 1e-3;
        let continuous = self
            .good_mps
            .is_none_or(|good| (speed_mps - good).abs() <= reach);
        (0.0..=MAX_SPEED_MPS).contains(&speed_mps) && continuous
    }
}

#[cfg(test)]
mod tests {
    use super::{HELD_S, Speed, SpeedSensor};
    use crate::STEP_S;

    #[test]
    fn holds_then_gives_up_then_starts_anew() {
        let mut sensor = SpeedSensor::default();
        assert_eq!(sensor.judge(None, STEP_S), Speed::Unknown);
        assert_eq!(
            sensor.judge(Some((10.0, 0.0)), STEP_S),
            Speed::Measured(10.0)
        );
        assert_eq!(
            sensor.judge(Some((10.0, 0.02)), STEP_S),
            Speed::Held(10.0),
            "too old"
        );
        assert_eq!(
            sensor.judge(Some((15.0, 0.0)), STEP_S),
            Speed::Held(10.0),
            "impossible jump"
        );
        assert_eq!(
            sensor.judge(Some((f64::NAN, 0.0)), STEP_S),
            Speed::Held(10.0)
        );
        assert_eq!(
            sensor.judge(Some((10.01, 0.0)), STEP_S),
            Speed::Measured(10.01)
        );
        let steps = (HELD_S / STEP_S) as usize + 1;
        let last = (0..steps).map(|_| sensor.judge(None, STEP_S)).last();
        assert_eq!(last, Some(Speed::Unknown));
        assert_eq!(sensor.judge(Some((0.0, 0.0)), STEP_S), Speed::Measured(0.0));
        assert_eq!(sensor.judge(Some((-1.0, 0.0)), STEP_S), Speed::Held(0.0));
    }
}
