//! Frames of the vehicle besides its speed: one in most milliseconds, each kind every ten

use crate::camera::Image;
use crate::lead::Lead;
use crate::noise::Noise;
use crate::vehicle::{State, Vehicle};
use crate::wire::Wire;

/// Milliseconds after which it begins again.
pub const TURNS: u64 = 10;
/// Standard deviation of what the accelerometer shows, m/s².
const ACCELERATION_NOISE_MPS2: f64 = 0.02;

/// The instruments, with their noise.
#[derive(Clone, Copy, Debug)]
pub struct Instruments {
    noise: Noise,
}

impl Instruments {
    /// Makes instruments with noise from a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            noise: Noise::new(seed),
        }
    }

    /// Returns the frame of that millisecond, if there is one.
    pub fn slower(
        &mut self,
        millisecond: u64,
        vehicle: &Vehicle<'_>,
        state: &State,
        lead: &Lead,
    ) -> Option<Wire> {
        let acceleration_mps2 = vehicle.acceleration_mps2(state);
        Some(match millisecond % TURNS {
            0 => Wire::Truth {
                grade: vehicle.road.grade(state.distance_m),
                headway_m: lead.met().map_or(0.0, |met| met.gap_m),
            },
            2 => Wire::Motion {
                distance_m: state.distance_m,
                acceleration_mps2: acceleration_mps2 + self.noise.around(ACCELERATION_NOISE_MPS2),
            },
            5 => Wire::Forces {
                drive_n: state.drive_n,
                brake_n: state.brake_n,
            },
            8 => Wire::Camera(Image::of(lead.met(), acceleration_mps2, &mut self.noise)),
            _ => return None,
        })
    }
}
