//! A control loop over CAN: the vehicle and its speed controller, 1 kHz, a partition each
//!
//! At each whole millisecond the vehicle takes the newest demand, integrates one millisecond and
//! sends its sensor values. Half a millisecond later the controller answers the newest sensor frame
//! with a demand. Each sensor frame contains a number that its answer repeats, so that the vehicle
//! measures the round trip, and both ends count lost frames. Other frames are counted and ignored.
//!
//! Argument words: `end=vehicle` (default) or `end=controller`; `target=KM_PER_HOUR`.
#![no_std]
#![no_main]

use bulkhead_component::can::Line;
use bulkhead_component::{Environment, clock, println};
use bulkhead_drive_model::STEP_S;
use bulkhead_drive_model::controller::Controller;
use bulkhead_drive_model::reference::Setpoint;
use bulkhead_drive_model::road::Road;
use bulkhead_drive_model::vehicle::{Demand, Parameters, State, Vehicle};
use bulkhead_drive_model::wire::{self, Wire};
use bulkhead_guest::{ChannelError, Job, Period, run_periodic, trace};
use core::convert::Infallible;
use core::ops::ControlFlow;

bulkhead_component::application!(run);

/// Jobs per line of output.
const REPORT_EVERY: u64 = 500;
/// Number of sensor frames for which the time of sending is stored.
const REMEMBERED: usize = 64;
/// A demand that is older than this many milliseconds is ignored.
const STALE: u32 = 20;

fn run(env: &Environment) -> Result<Infallible, ChannelError> {
    let Ok(line) = Line::open(env) else {
        panic!("{}: no CAN", env.name())
    };
    let _counted_from_here = env.ready();
    let millisecond = Period::from_micros(1000);
    match env.argument("end") {
        Some("controller") => {
            let target = env.number("target", 72) as f64 / 3.6;
            let mut end = Control::new(line, target);
            run_periodic(env, "control", millisecond.with_offset_micros(500), |job| {
                end.step(env, job);
                ControlFlow::Continue(())
            })
        }
        _ => {
            let mut end = Plant::new(line);
            run_periodic(env, "plant", millisecond, |job| {
                end.step(env, job);
                ControlFlow::Continue(())
            })
        }
    }
}

/// Sends within the period. Returns the tick at which the frame was put on the bus.
fn send(line: &mut Line, env: &Environment, wire: &Wire, job: &Job) -> Option<u64> {
    let until = job.release + clock::frequency() / 1000;
    line.send(env, &wire.frame(), until)
}

fn report(line: &Line, job: &Job, what: core::fmt::Arguments<'_>) {
    let [sent, received, dropped, overruns, malformed, bus_offs] = line.counts();
    println!(
        "jobs={} {what} lost={} unsent={} foreign={} sent={sent} received={received} \
         dropped={dropped} overruns={overruns} malformed={malformed} bus-offs={bus_offs}",
        job.number + 1,
        line.lost,
        line.unsent,
        line.foreign
    );
}

struct Plant {
    line: Line,
    vehicle: Vehicle<'static>,
    state: State,
    demand: Demand,
    answered: u32,
    sent_at: [u64; REMEMBERED],
    longest: u64,
}

impl Plant {
    fn new(line: Line) -> Self {
        Self {
            line,
            vehicle: Vehicle {
                parameters: Parameters::MID_SIZE,
                road: Road::LEVEL,
            },
            state: State::default(),
            demand: Demand::default(),
            answered: 0,
            sent_at: [0; REMEMBERED],
            longest: 0,
        }
    }

    fn step(&mut self, env: &Environment, job: &Job) {
        let number = job.number as u32;
        let Self {
            line,
            demand,
            answered,
            sent_at,
            longest,
            ..
        } = self;
        line.take(|received| {
            let Some(Wire::Demand {
                number: of,
                force_n,
            }) = Wire::of(&received.frame)
            else {
                return None;
            };
            let at = received.at;
            *demand = wire::demand(force_n);
            *answered = of;
            let sent = sent_at[of as usize % REMEMBERED];
            let age = number.wrapping_sub(of) as usize;
            if sent != 0 && age < REMEMBERED {
                let round_trip = at.saturating_sub(sent);
                *longest = (*longest).max(round_trip);
                trace::delivered::<Environment>("round-trip", of, [sent, at]);
            }
            Some(Some(of))
        });
        if number.wrapping_sub(self.answered) > STALE {
            self.demand = Demand::default();
        }
        self.state = self.vehicle.step(&self.state, &self.demand, STEP_S);
        let wire = Wire::Speed {
            number,
            speed_mps: self.state.speed_mps,
        };
        let sent = send(&mut self.line, env, &wire, job);
        self.sent_at[job.number as usize % REMEMBERED] = sent.unwrap_or(0);
        if (job.number + 1).is_multiple_of(REPORT_EVERY) {
            let speed = (self.state.speed_mps * 1000.0) as u64;
            let longest_us = (clock::seconds(self.longest) * 1e6) as u64;
            let what = format_args!("speed={speed} mm/s round-trip={longest_us} us");
            report(&self.line, job, what);
        }
    }
}

struct Control {
    line: Line,
    controller: Controller,
    setpoint: Setpoint,
}

impl Control {
    fn new(line: Line, target_mps: f64) -> Self {
        Self {
            line,
            controller: Controller::new(Parameters::MID_SIZE),
            setpoint: Setpoint {
                speed_mps: target_mps,
                ..Setpoint::default()
            },
        }
    }

    fn step(&mut self, env: &Environment, job: &Job) {
        let mut newest = None;
        self.line.take(|received| {
            let Some(Wire::Speed { number, speed_mps }) = Wire::of(&received.frame) else {
                return None;
            };
            newest = Some((number, speed_mps));
            Some(Some(number))
        });
        if let Some((number, speed_mps)) = newest {
            let demand = self
                .controller
                .demand(&self.setpoint, speed_mps, 0.0, STEP_S);
            let answer = Wire::Demand {
                number,
                force_n: demand.drive_n - demand.brake_n,
            };
            let _counted = send(&mut self.line, env, &answer, job);
        }
        if (job.number + 1).is_multiple_of(REPORT_EVERY) {
            report(&self.line, job, format_args!("controller"));
        }
    }
}
