//! View of a camera behind the windscreen on a vehicle ahead
//!
//! A pinhole camera over a flat road: a vehicle of width W at distance d is f·W/d wide, and its lower edge lies f·h/d below
//! the horizon. Neither tells the distance: widths differ, and the horizon moves when the vehicle pitches, which it does
//! in proportion to its acceleration (T. D. Gillespie, *Fundamentals of Vehicle Dynamics*, SAE 1992, ch. 7). Both are noisy, and in
//! steps of a quarter of a pixel.

use crate::lead::Met;
use crate::noise::Noise;

/// Focal length f, pixels.
pub const FOCAL_PX: f64 = 1200.0;
/// Height h above the road, m.
pub const HEIGHT_M: f64 = 1.3;
/// A width between the usual ones, m.
pub const USUAL_WIDTH_M: f64 = 1.82;
/// Pitch by acceleration, rad/(m/s²): some 2° at 1 g.
pub const PITCH: f64 = 0.0035;
/// Standard deviation of both measures, pixels.
const NOISE_PX: f64 = 0.4;
/// Steps in a pixel.
const STEPS: f64 = 4.0;

/// An image of a vehicle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Image {
    /// Its width, pixels; 0 = there is none.
    pub width_px: f64,
    /// Its lower edge below the usual horizon, pixels.
    pub edge_px: f64,
}

impl Image {
    /// Returns the image of the vehicle ahead, while accelerating.
    pub fn of(met: Option<&Met>, acceleration_mps2: f64, noise: &mut Noise) -> Self {
        let Some(met) = met else {
            return Self::default();
        };
        let mut measured = |exact: f64| {
            let value = exact + noise.around(NOISE_PX);
            // To the nearest step; pixels are positive.
            (value.max(0.0) * STEPS + 0.5) as i64 as f64 / STEPS
        };
        let edge_rad = HEIGHT_M / met.gap_m + PITCH * acceleration_mps2;
        Self {
            width_px: measured(FOCAL_PX * met.width_m / met.gap_m),
            edge_px: measured(FOCAL_PX * edge_rad),
        }
    }

    /// Returns true if a vehicle is in the image.
    #[must_use]
    pub fn shows_one(&self) -> bool {
        self.width_px > 0.0
    }
}
