//! Keeps the distance to a vehicle ahead: constant time gap
//!
//! R. Rajamani, *Vehicle Dynamics and Control*, 2nd ed., §6.6.1: `a = (ġ + λ·δ)/h` where δ is what the gap g exceeds
//! `g₀ + h·v` by. The string is stable for `h` of at least twice the lag of the engine. Gap and its rate come from an observer of
//! second order, critically damped, of what the network estimates.

use crate::limited;

/// Time gap h, s: ISO 15622 asks for at least 0.8 s.
const GAP_S: f64 = 1.1;
/// Distance at a standstill, m.
const STANDING_M: f64 = 4.0;
/// λ, 1/s.
const CORRECTION_PER_S: f64 = 0.4;
/// Bandwidth of the observer, rad/s.
const OBSERVER_RADPS: f64 = 3.0;
/// Largest difference of speeds that is believed, m/s.
const MAX_RATE_MPS: f64 = 50.0;

/// The distance as it is known, m, and its rate, m/s.
#[derive(Clone, Copy, Debug, Default)]
pub struct Headway {
    seen: Option<[f64; 2]>,
}

impl Headway {
    /// State without a vehicle ahead.
    #[must_use]
    pub const fn new() -> Self {
        Self { seen: None }
    }

    /// Returns the largest slope of a set-point of `setpoint_mps`, m/s², with a vehicle `headway_m` ahead, `step_s` seconds after
    /// the last call; infinite without one.
    pub fn limit(&mut self, headway_m: Option<f64>, setpoint_mps: f64, step_s: f64) -> f64 {
        let Some(measured) = headway_m else {
            self.seen = None;
            return f64::INFINITY;
        };
        let [gap, rate] = self.seen.unwrap_or([measured, 0.0]);
        let error = measured - gap;
        let rate = rate + OBSERVER_RADPS * OBSERVER_RADPS * error * step_s;
        let rate = limited(rate, -MAX_RATE_MPS, MAX_RATE_MPS);
        let gap = gap + (rate + 2.0 * OBSERVER_RADPS * error) * step_s;
        self.seen = Some([gap, rate]);
        let excess = gap - STANDING_M - GAP_S * setpoint_mps;
        (rate + CORRECTION_PER_S * excess) / GAP_S
    }
}
