//! The whole of the controller's job: from sensors and trajectory to demand
//!
//! What `control` does each millisecond, without its channels. Where the speed is not known, the
//! throttle is closed and the brake applied gently until it is known again; the set-point then starts
//! from the speed the vehicle has, so that nothing jumps.

use crate::controller::Controller;
use crate::message::Trajectory;
use crate::reference::{Reference, Setpoint};
use crate::sensor::{Speed, SpeedSensor};
use crate::vehicle::{Demand, Parameters};

/// Deceleration asked for while the speed is unknown, m/s².
const BLIND_MPS2: f64 = 1.0;

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
    /// What to ask of engine and brake.
    pub demand: Demand,
    /// What it serves.
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
    /// in s.
    pub fn step(&mut self, sample: Option<(f64, f64)>, now_ticks: u64, step_s: f64) -> Decision {
        let (speed_mps, mode) = match self.sensor.judge(sample, step_s) {
            Speed::Measured(speed_mps) => (speed_mps, Mode::Normal),
            Speed::Held(speed_mps) => (speed_mps, Mode::Held),
            Speed::Unknown => return self.blind(),
        };
        let mut reference = self
            .reference
            .unwrap_or_else(|| self.begin(speed_mps, now_ticks));
        let setpoint = reference.advance(now_ticks, step_s);
        self.reference = Some(reference);
        let demand = self.controller.demand(&setpoint, speed_mps, step_s);
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
