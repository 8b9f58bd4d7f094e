//! The whole of the controller's job: from sensors and trajectory to demand
//!
//! The work of `control` in each millisecond, without its channels. The estimated slope is fed forward, slowly enough that an error
//! does no harm, and the headway can only make the vehicle slower. While the speed is unknown, the
//! throttle is closed and the brake applied gently until it is known again; the set-point then starts
//! from the speed the vehicle has, so that nothing jumps.

use crate::controller::Controller;
use crate::estimate::Estimate;
use crate::headway::Headway;
use crate::message::Trajectory;
use crate::reference::{Reference, Setpoint};
use crate::sensor::{Speed, SpeedSensor};
use crate::vehicle::{Demand, Parameters};

/// Deceleration asked for while the speed is unknown, m/s².
const BLIND_MPS2: f64 = 1.0;
/// Time constant with which an estimated slope is believed, s.
const GRADE_LAG_S: f64 = 0.3;

/// How the controller is doing.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The speed is measured.
    Normal = 0,
    /// The last good speed is used.
    Held = 1,
    /// The speed is not known: throttle closed, gentle brake.
    Blind = 2,
}

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Demand for engine and brake.
    pub demand: Demand,
    /// Set-point of the demand.
    pub setpoint: Setpoint,
    /// How it came about.
    pub mode: Mode,
}

/// The controller with all its safeguards.
#[derive(Clone, Copy, Debug)]
pub struct Pilot {
    vehicle: Parameters,
    controller: Controller,
    sensor: SpeedSensor,
    headway: Headway,
    /// The slope as far as it is believed.
    grade: f64,
    reference: Option<Reference>,
    pending: Option<Trajectory>,
    frequency_hz: u64,
    /// Trajectories taken over.
    pub accepted: u32,
    /// Trajectories that made no sense.
    pub refused: u32,
}

impl Pilot {
    /// For a vehicle of these constants, on a counter of `frequency_hz`.
    #[must_use]
    pub const fn new(vehicle: Parameters, frequency_hz: u64) -> Self {
        Self {
            vehicle,
            controller: Controller::new(vehicle),
            sensor: SpeedSensor::new(),
            headway: Headway::new(),
            grade: 0.0,
            reference: None,
            pending: None,
            frequency_hz,
            accepted: 0,
            refused: 0,
        }
    }

    /// Takes note of a trajectory that arrived at `now_ticks`.
    pub fn command(&mut self, trajectory: &Trajectory, now_ticks: u64) {
        let believed = match &mut self.reference {
            Some(reference) => reference.accept(trajectory, now_ticks),
            None => trajectory.is_valid(),
        };
        if believed {
            self.accepted = self.accepted.saturating_add(1);
            self.pending = Some(*trajectory);
        } else {
            self.refused = self.refused.saturating_add(1);
        }
    }

    /// Decides at `now_ticks`, `step_s` seconds after the last time; `sample` is speed in m/s and age
    /// in s. Without an estimate the road is level and free.
    pub fn step(
        &mut self,
        sample: Option<(f64, f64)>,
        estimate: Option<Estimate>,
        now_ticks: u64,
        step_s: f64,
    ) -> Decision {
        let (speed_mps, mode) = match self.sensor.judge(sample, step_s) {
            Speed::Measured(speed_mps) => (speed_mps, Mode::Normal),
            Speed::Held(speed_mps) => (speed_mps, Mode::Held),
            Speed::Unknown => return self.blind(),
        };
        let mut reference = self
            .reference
            .unwrap_or_else(|| self.begin(speed_mps, now_ticks));
        let Estimate { grade, headway_m } = estimate.unwrap_or_default();
        let before_mps = reference.setpoint().speed_mps;
        let most_mps2 = self.headway.limit(headway_m, before_mps, step_s);
        let setpoint = reference.advance(now_ticks, step_s, most_mps2);
        self.reference = Some(reference);
        self.grade += (grade - self.grade) * (step_s / GRADE_LAG_S).min(1.0);
        let demand = self
            .controller
            .demand(&setpoint, speed_mps, self.grade, step_s);
        Decision {
            demand,
            setpoint,
            mode,
        }
    }

    fn begin(&self, speed_mps: f64, now_ticks: u64) -> Reference {
        let mut reference = Reference::starting_at(speed_mps, now_ticks, self.frequency_hz);
        if let Some(trajectory) = &self.pending {
            let _believed = reference.accept(trajectory, now_ticks);
        }
        reference
    }

    fn blind(&mut self) -> Decision {
        self.reference = None;
        self.headway = Headway::new();
        self.controller = Controller::new(self.vehicle);
        let brake_n = self.vehicle.mass_kg * BLIND_MPS2;
        let demand = Demand {
            drive_n: 0.0,
            brake_n,
        };
        Decision {
            demand,
            setpoint: Setpoint::default(),
            mode: Mode::Blind,
        }
    }
}
