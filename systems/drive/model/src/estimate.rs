//! Estimates of the network from the frames on the bus: the slope of the road, and the headway
//!
//! `MLProcess` of paper 003 (§4): a stage between the CAN controller and the speed controller. The weights are trained by
//! `cargo run --release -p bulkhead-drive-train` on drives of the plant model and lie beside this file.

use crate::camera::{FOCAL_PX, HEIGHT_M, Image, USUAL_WIDTH_M};
use crate::lead::{NEAREST_M, RANGE_M};
use crate::limited;
use crate::network::{INPUTS, Network, OUTPUTS, WEIGHTS};
use crate::wire::Wire;

/// Interface by which the controller asks for the newest estimate.
pub const INTERFACE: &str = "estimate";
/// First word of that: the newest estimate, as [`Estimate::bits`] gives it.
pub const READ: u64 = 0;
/// The answer where there is none, or none that is new: two numbers that are none.
pub const NOTHING: u64 = u64::MAX;

/// From one estimate to the next, s.
pub const PERIOD_S: f64 = 0.01;
/// Below this speed brakes hold the vehicle, and nothing tells of the slope, m/s.
pub const STANDING_MPS: f64 = 1.0;
/// Largest grade that is believed, rise over run.
pub const MAX_GRADE: f64 = 0.15;

/// Sizes of the outputs: rise over run, m.
pub const SCALES: [f64; OUTPUTS] = [0.1, RANGE_M];

static NETWORK: Network = {
    const BYTES: &[u8; 4 * WEIGHTS] = include_bytes!("weights.bin");
    Network::from_bytes(BYTES)
};

/// The trained network.
#[must_use]
pub fn weights() -> &'static Network {
    &NETWORK
}

/// Estimated values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Grade of the road, rise over run; 0 at a standstill.
    pub grade: f64,
    /// Distance to the vehicle ahead, m; nothing where none is seen.
    pub headway_m: Option<f64>,
}

/// Newest values from the bus.
#[derive(Clone, Copy, Debug, Default)]
pub struct Senses {
    speed_mps: f64,
    acceleration_mps2: f64,
    drive_n: f64,
    brake_n: f64,
    image: Image,
}

impl Senses {
    /// Takes a frame; whether it was one of the vehicle's.
    pub fn take(&mut self, wire: &Wire) -> bool {
        match *wire {
            Wire::Speed { speed_mps, .. } => self.speed_mps = speed_mps,
            Wire::Motion {
                acceleration_mps2, ..
            } => self.acceleration_mps2 = acceleration_mps2,
            Wire::Forces { drive_n, brake_n } => {
                (self.drive_n, self.brake_n) = (drive_n, brake_n);
            }
            Wire::Camera(image) => self.image = image,
            // Not the estimator's to know.
            Wire::Truth { .. } => {}
            Wire::Demand { .. } => return false,
        }
        true
    }

    /// Returns true if a vehicle is seen ahead.
    #[must_use]
    pub fn sees_one(&self) -> bool {
        self.image.shows_one()
    }

    /// Returns true if the vehicle stands, or nearly so.
    #[must_use]
    pub fn stands(&self) -> bool {
        self.speed_mps < STANDING_MPS
    }

    /// Inputs of the network: sizes of about 1, whatever came over the bus.
    #[must_use]
    pub fn inputs(&self) -> [f32; INPUTS] {
        let speed = self.speed_mps / 40.0;
        let distance = |size: f64, px: f64| {
            let far = if px > 0.0 {
                size * FOCAL_PX / px
            } else {
                2.0 * RANGE_M
            };
            limited(far, 0.0, 2.0 * RANGE_M) / RANGE_M
        };
        let by_width = distance(USUAL_WIDTH_M, self.image.width_px);
        let by_edge = distance(HEIGHT_M, self.image.edge_px);
        let acceleration = self.acceleration_mps2 / 4.0;
        let inputs = [
            speed,
            speed * speed,
            acceleration,
            self.drive_n / 5000.0,
            self.brake_n / 10_000.0,
            by_width,
            by_edge,
            // By how much pitch moves the edge is in proportion to acceleration and square of the distance.
            acceleration * by_width * by_width,
        ];
        inputs.map(|input| limited(input, -4.0, 4.0) as f32)
    }

    /// The network's estimate.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        self.estimate_by(weights())
    }

    /// Evaluates with another network.
    #[must_use]
    pub fn estimate_by(&self, network: &Network) -> Estimate {
        let [grade, headway] = network.evaluate(&self.inputs()).outputs.map(f64::from);
        let [grade_scale, headway_scale] = SCALES;
        let near = limited(headway * headway_scale, NEAREST_M, RANGE_M);
        Estimate {
            grade: match self.stands() {
                true => 0.0,
                false => limited(grade * grade_scale, -MAX_GRADE, MAX_GRADE),
            },
            headway_m: self.sees_one().then_some(near),
        }
    }
}

impl Estimate {
    /// As a word: grade and headway in single precision, the headway no number where there is none.
    #[must_use]
    pub fn bits(&self) -> u64 {
        let headway = self.headway_m.map_or(f32::NAN, |metres| metres as f32);
        u64::from((self.grade as f32).to_bits()) | u64::from(headway.to_bits()) << 32
    }

    /// Decodes such a word; `None` if the grade is not a number. Values out of range are clamped, because the estimator is
    /// less critical than the controller.
    #[must_use]
    pub fn of(bits: u64) -> Option<Self> {
        let [grade, headway] =
            [bits, bits >> 32].map(|word| f64::from(f32::from_bits(word as u32)));
        (!grade.is_nan()).then(|| Self {
            grade: limited(grade, -MAX_GRADE, MAX_GRADE),
            headway_m: (!headway.is_nan()).then(|| limited(headway, NEAREST_M, RANGE_M)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, proptest};

    #[test]
    fn estimates_travel_as_words() {
        for estimate in [
            Estimate {
                grade: -0.0625,
                headway_m: Some(31.5),
            },
            Estimate {
                grade: 0.0,
                headway_m: None,
            },
        ] {
            assert_eq!(Estimate::of(estimate.bits()), Some(estimate));
        }
        assert_eq!(Estimate::of(NOTHING), None);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_an_estimate_within_its_range(values in any::<[f64; 4]>(), image in any::<[f64; 2]>(),
                                                          bits in any::<u64>()) {
            let [speed_mps, acceleration_mps2, drive_n, brake_n] = values;
            let [width_px, edge_px] = image;
            let image = Image { width_px, edge_px };
            let senses = Senses { speed_mps, acceleration_mps2, drive_n, brake_n, image };
            for estimate in [Some(senses.estimate()), Estimate::of(bits)].into_iter().flatten() {
                prop_assert!(estimate.grade.abs() <= MAX_GRADE);
                prop_assert!(estimate.headway_m.is_none_or(|metres| (NEAREST_M..=RANGE_M).contains(&metres)));
            }
        }
    }
}
