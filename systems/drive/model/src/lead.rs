//! Vehicles ahead, met one after the other
//!
//! Each is met at some distance, goes its own way for a while, and turns off or drives out of sight. How it drives
//! follows from a seed, so that a run repeats.

use crate::limited;
use crate::noise::Noise;

/// Beyond this a vehicle ahead is out of sight, m.
pub const RANGE_M: f64 = 80.0;
/// Nearer than this nothing is told apart: bumper to bumper, m.
pub const NEAREST_M: f64 = 1.0;
/// Widths of vehicles, m.
const WIDTHS_M: [f64; 2] = [1.7, 1.95];
/// Least distance of a vehicle that keeps clear: m, and seconds of the own speed.
const CLEAR_M: f64 = 8.0;
const CLEAR_S: f64 = 2.2;
/// Speed of a slow vehicle, m/s.
const SLOW_MPS: f64 = 11.0;

/// How vehicles ahead are driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// There are none.
    Absent,
    /// The vehicle keeps clear of the one behind.
    Clear,
    /// The vehicle is slow: the one behind must follow.
    Slow,
}

/// The vehicle ahead.
#[derive(Clone, Copy, Debug)]
pub struct Met {
    /// From one's own front to its rear, m.
    pub gap_m: f64,
    /// Its speed, m/s.
    pub speed_mps: f64,
    /// Its width, m.
    pub width_m: f64,
    acceleration_mps2: f64,
    /// Time until it turns off, and until it changes its mind, s.
    left_s: f64,
    steady_s: f64,
}

/// The road's other traffic.
#[derive(Clone, Copy, Debug)]
pub struct Lead {
    manner: Manner,
    noise: Noise,
    met: Option<Met>,
    /// Time until the next is met, s.
    pause_s: f64,
}

impl Lead {
    /// State without a vehicle ahead.
    #[must_use]
    pub const fn new(manner: Manner, seed: u64) -> Self {
        Self {
            manner,
            noise: Noise::new(seed),
            met: None,
            pause_s: 1.0,
        }
    }

    /// Returns the vehicle ahead within [`RANGE_M`].
    #[must_use]
    pub const fn met(&self) -> Option<&Met> {
        self.met.as_ref()
    }

    /// Advances by `step_s` seconds, ahead of a vehicle at `own_mps`.
    pub fn step(&mut self, own_mps: f64, step_s: f64) {
        let Some(mut met) = self.met.take() else {
            self.pause_s -= step_s;
            if self.pause_s <= 0.0 && self.manner != Manner::Absent {
                self.met = Some(self.meet(own_mps));
            }
            return;
        };
        met.steady_s -= step_s;
        if met.steady_s <= 0.0 {
            met.steady_s = self.noise.between(1.0, 4.0);
            met.acceleration_mps2 = self.noise.between(self.gentlest_mps2(), 0.8);
        }
        let target = match self.manner {
            Manner::Slow => (SLOW_MPS - met.speed_mps) / 2.0 + met.acceleration_mps2,
            _ if met.gap_m < CLEAR_M + CLEAR_S * own_mps => {
                1.0 + 2.0 * (own_mps - met.speed_mps).max(0.0)
            }
            _ => met.acceleration_mps2,
        };
        met.speed_mps = (met.speed_mps + limited(target, -3.0, 4.0) * step_s).max(0.0);
        met.gap_m = (met.gap_m + (met.speed_mps - own_mps) * step_s).max(NEAREST_M);
        met.left_s -= step_s;
        if met.left_s > 0.0 && met.gap_m <= RANGE_M {
            self.met = Some(met);
        } else {
            self.pause_s = self.noise.between(1.0, 3.0);
        }
    }

    /// Gentle braking of a vehicle that keeps clear.
    fn gentlest_mps2(&self) -> f64 {
        match self.manner {
            Manner::Slow => -0.8,
            _ => -0.3,
        }
    }

    fn meet(&mut self, own_mps: f64) -> Met {
        let nearest = CLEAR_M + CLEAR_S * own_mps;
        let [slim, wide] = WIDTHS_M;
        Met {
            gap_m: self.noise.between(nearest, nearest + 20.0).min(RANGE_M),
            speed_mps: own_mps + self.noise.between(0.0, 3.0),
            width_m: self.noise.between(slim, wide),
            acceleration_mps2: 0.0,
            left_s: self.noise.between(8.0, 25.0),
            steady_s: 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::STEP_S;

    /// Returns the smallest gap, in seconds, behind vehicles of `manner` at a constant speed, and the number of steps with a vehicle ahead.
    fn drive(manner: Manner, own_mps: f64) -> (f64, usize) {
        let mut lead = Lead::new(manner, 3);
        let (mut least, mut seen) = (f64::INFINITY, 0);
        for _ in 0..200_000 {
            lead.step(own_mps, STEP_S);
            if let Some(met) = lead.met() {
                least = least.min(met.gap_m / own_mps);
                seen += 1;
                assert!((NEAREST_M..=RANGE_M).contains(&met.gap_m));
            }
        }
        (least, seen)
    }

    #[test]
    fn a_car_that_keeps_clear_is_never_near_and_a_slow_one_is_hit() {
        let (clear, seen) = drive(Manner::Clear, 25.0);
        assert!(clear > 2.0 && seen > 50_000, "{clear} {seen}");
        let (slow, _) = drive(Manner::Slow, 25.0);
        assert!(slow < 0.1, "{slow}");
        assert_eq!(drive(Manner::Absent, 25.0).1, 0);
    }
}
