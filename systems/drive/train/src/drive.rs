//! A drive of the plant model, as the bus tells it
//!
//! Vehicle, traffic and controller as in the showcase, on a road and by set-points that follow from a seed. The controller is told what is
//! so, and drives do not depend on the network.

use bulkhead_drive_model::estimate::{Estimate, Senses};
use bulkhead_drive_model::instruments::Instruments;
use bulkhead_drive_model::lead::{Lead, Manner};
use bulkhead_drive_model::message::Trajectory;
use bulkhead_drive_model::noise::Noise;
use bulkhead_drive_model::pilot::Pilot;
use bulkhead_drive_model::road::Road;
use bulkhead_drive_model::vehicle::{Parameters, State, Vehicle};
use bulkhead_drive_model::wire::Wire;
use bulkhead_drive_model::{STEP_S, mps};

/// Milliseconds of a drive.
const LENGTH: u64 = 120_000;
/// From one sample to the next, milliseconds: no multiple of the frames' ten.
const SAMPLED_EVERY: u64 = 97;
/// From one set-point to the next.
const COMMANDED_EVERY: u64 = 6_000;
/// Ticks of the clock in a second, and in a millisecond.
const HZ: u64 = 1_000_000;
const STEP_TICKS: u64 = HZ / 1000;
/// Steepest grade, rise over run.
const STEEPEST: f64 = 0.08;

/// Measured and true values of one instant.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Values from the bus.
    pub senses: Senses,
    /// Grade, rise over run, where the vehicle drives.
    pub grade: Option<f64>,
    /// Distance to the vehicle ahead, m, where one is seen.
    pub headway_m: Option<f64>,
}

/// The samples of the drive of that seed.
#[must_use]
pub fn samples(seed: u64) -> Vec<Sample> {
    let mut noise = Noise::new(seed);
    let knots = road(&mut noise);
    let manner = [Manner::Slow, Manner::Clear][usize::from(seed.is_multiple_of(2))];
    let mut drive = Drive {
        vehicle: Vehicle {
            parameters: Parameters::MID_SIZE,
            road: Road { knots: &knots },
        },
        state: State {
            speed_mps: noise.between(0.0, 30.0),
            ..State::default()
        },
        lead: Lead::new(manner, seed),
        pilot: Pilot::new(Parameters::MID_SIZE, HZ),
        instruments: Instruments::new(seed),
        senses: Senses::default(),
        noise,
    };
    let step = |millisecond| {
        drive.step(millisecond);
        let due = millisecond > COMMANDED_EVERY && millisecond.is_multiple_of(SAMPLED_EVERY);
        due.then(|| drive.sample())
    };
    (0..LENGTH).filter_map(step).collect()
}

/// Knots a hundred metres and more apart.
fn road(noise: &mut Noise) -> Vec<(f64, f64)> {
    let mut at_m = 0.0;
    let knot = |_| {
        at_m += noise.between(60.0, 400.0);
        (at_m, noise.between(-STEEPEST, STEEPEST))
    };
    (0..40).map(knot).collect()
}

struct Drive<'r> {
    vehicle: Vehicle<'r>,
    state: State,
    lead: Lead,
    pilot: Pilot,
    instruments: Instruments,
    senses: Senses,
    noise: Noise,
}

impl Drive<'_> {
    fn step(&mut self, millisecond: u64) {
        let now = millisecond * STEP_TICKS;
        if millisecond.is_multiple_of(COMMANDED_EVERY) {
            let speed_mps = mps(self.noise.between(0.0, 130.0));
            self.pilot
                .command(&Trajectory::set_point(now, speed_mps), now);
        }
        let sample = Some((self.state.speed_mps, STEP_S));
        let truth = Estimate {
            grade: self.vehicle.road.grade(self.state.distance_m),
            headway_m: self.lead.met().map(|met| met.gap_m),
        };
        let decision = self.pilot.step(sample, Some(truth), now, STEP_S);
        self.state = self.vehicle.step(&self.state, &decision.demand, STEP_S);
        self.lead.step(self.state.speed_mps, STEP_S);
        self.tell(millisecond);
    }

    /// The frames of a millisecond, in the order and at the rate of the showcase's vehicle.
    fn tell(&mut self, millisecond: u64) {
        let speed = Wire::Speed {
            number: 0,
            speed_mps: self.state.speed_mps,
        };
        let slower = self
            .instruments
            .slower(millisecond, &self.vehicle, &self.state, &self.lead);
        // The wire rounds numbers.
        let inputs = [Some(speed), slower].into_iter().flatten();
        for wire in inputs.filter_map(|wire| Wire::of(&wire.frame())) {
            self.senses.take(&wire);
        }
    }

    fn sample(&self) -> Sample {
        let seen = self.lead.met().filter(|_| self.senses.sees_one());
        Sample {
            senses: self.senses,
            grade: (!self.senses.stands()).then(|| self.vehicle.road.grade(self.state.distance_m)),
            headway_m: seen.map(|met| met.gap_m),
        }
    }
}
