//! A control loop over CAN: the vehicle and its speed controller, 1 kHz, a partition each
//!
//! At each whole millisecond the vehicle takes the demand that came last, integrates one millisecond and
//! sends what its sensors show; half a millisecond later the controller answers what came with a demand.
//! Each sensor frame carries a number that its answer repeats: the vehicle knows the round trip, and
//! both know what was lost. What is no frame of the loop is counted and passed over.
//!
//! Argument words: `end=vehicle` (default) or `end=controller`; `target=KM_PER_HOUR`.
#![no_std]
#![no_main]

mod message;

use bulkhead_component::can::{Can, Received};
use bulkhead_component::{Own, clock, println};
use bulkhead_drive_model::STEP_S;
use bulkhead_drive_model::controller::Controller;
use bulkhead_drive_model::reference::Setpoint;
use bulkhead_drive_model::road::Road;
use bulkhead_drive_model::vehicle::{Demand, Parameters, State, Vehicle};
use bulkhead_guest::{ChannelError, Job, Period, run_periodic, trace};
use core::convert::Infallible;
use core::ops::ControlFlow;
use message::{Answer, Sensors};

bulkhead_component::application!(run);

/// Jobs from one line about the loop to the next.
const REPORT_EVERY: u64 = 500;
/// Sensor frames whose sending is remembered.
const REMEMBERED: usize = 64;
/// A demand that is older than this many milliseconds is none.
const STALE: u32 = 20;

fn run(own: &Own) -> Result<Infallible, ChannelError> {
    let Ok(can) = Can::open(own) else {
        panic!("{}: no CAN", own.name())
    };
    let _counted_from_here = own.ready();
    let millisecond = Period::from_micros(1000);
    match own.argument("end") {
        Some("controller") => {
            let target = own.number("target", 72) as f64 / 3.6;
            let mut end = Control::new(can, target);
            run_periodic(own, "control", millisecond.with_offset_micros(500), |job| {
                end.step(own, job);
                ControlFlow::Continue(())
            })
        }
        _ => {
            let mut end = Plant::new(can);
            run_periodic(own, "plant", millisecond, |job| {
                end.step(own, job);
                ControlFlow::Continue(())
            })
        }
    }
}

/// What an end knows of its frames.
struct Line {
    can: Can,
    /// Frames that are not the loop's.
    foreign: u64,
    /// Frames that could not be sent in time.
    unsent: u64,
    /// Numbers that never came.
    lost: u64,
    /// Number that comes next, once one has come.
    next: Option<u32>,
}

impl Line {
    const fn new(can: Can) -> Self {
        Self {
            can,
            foreign: 0,
            unsent: 0,
            lost: 0,
            next: None,
        }
    }

    /// Takes all frames out that `read` knows; hands them on in order.
    fn take<T>(
        &mut self,
        read: impl Fn(&Received) -> Option<(u32, T)>,
        mut use_: impl FnMut(u32, u64, T),
    ) {
        while let Some(received) = self.can.receive() {
            match read(&received) {
                None => self.foreign += 1,
                Some((number, content)) => {
                    let expected = self.next.unwrap_or(number);
                    self.lost += u64::from(number.wrapping_sub(expected));
                    self.next = Some(number.wrapping_add(1));
                    use_(number, received.at, content);
                }
            }
        }
    }

    /// Sends within the period; when it was put on the bus.
    fn send(&mut self, own: &Own, frame: &bulkhead_abi::can::Frame, job: &Job) -> Option<u64> {
        let until = job.release + clock::frequency() / 1000;
        let sent = self.can.send(own, frame, until).ok();
        self.unsent += u64::from(sent.is_none());
        sent
    }

    fn report(&self, job: &Job, what: core::fmt::Arguments<'_>) {
        let [sent, received, dropped, overruns, malformed, bus_offs] = self.can.counts();
        println!(
            "jobs={} {what} lost={} unsent={} foreign={} sent={sent} received={received} \
             dropped={dropped} overruns={overruns} malformed={malformed} bus-offs={bus_offs}",
            job.number + 1,
            self.lost,
            self.unsent,
            self.foreign
        );
    }
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
    fn new(can: Can) -> Self {
        Self {
            line: Line::new(can),
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

    fn step(&mut self, own: &Own, job: &Job) {
        let number = job.number as u32;
        let Self {
            line,
            demand,
            answered,
            sent_at,
            longest,
            ..
        } = self;
        line.take(Answer::read, |of, at, answer| {
            *demand = answer.demand();
            *answered = of;
            let sent = sent_at[of as usize % REMEMBERED];
            let age = number.wrapping_sub(of) as usize;
            if sent != 0 && age < REMEMBERED {
                let round_trip = at.saturating_sub(sent);
                *longest = (*longest).max(round_trip);
                trace::signal::<Own>("round-trip-us", at, clock::seconds(round_trip) * 1e6);
            }
        });
        if number.wrapping_sub(self.answered) > STALE {
            self.demand = Demand::default();
        }
        self.state = self.vehicle.step(&self.state, &self.demand, STEP_S);
        let frame = Sensors {
            number,
            speed_mps: self.state.speed_mps,
        };
        let sent = self.line.send(own, &frame.frame(), job);
        self.sent_at[job.number as usize % REMEMBERED] = sent.unwrap_or(0);
        if (job.number + 1).is_multiple_of(REPORT_EVERY) {
            let speed = (self.state.speed_mps * 1000.0) as u64;
            let longest_us = (clock::seconds(self.longest) * 1e6) as u64;
            let what = format_args!("speed={speed} mm/s round-trip={longest_us} us");
            self.line.report(job, what);
        }
    }
}

struct Control {
    line: Line,
    controller: Controller,
    setpoint: Setpoint,
}

impl Control {
    fn new(can: Can, target_mps: f64) -> Self {
        Self {
            line: Line::new(can),
            controller: Controller::new(Parameters::MID_SIZE),
            setpoint: Setpoint {
                speed_mps: target_mps,
                ..Setpoint::default()
            },
        }
    }

    fn step(&mut self, own: &Own, job: &Job) {
        let mut newest = None;
        self.line.take(Sensors::read, |number, _, speed_mps| {
            newest = Some((number, speed_mps));
        });
        if let Some((number, speed_mps)) = newest {
            let demand = self.controller.demand(&self.setpoint, speed_mps, STEP_S);
            let answer = Answer {
                number,
                force_n: demand.drive_n - demand.brake_n,
            };
            let _counted = self.line.send(own, &answer.frame(), job);
        }
        if (job.number + 1).is_multiple_of(REPORT_EVERY) {
            self.line.report(job, format_args!("controller"));
        }
    }
}
