//! The speed controller of the showcase, 1 kHz: a component
//!
//! Half a millisecond after the vehicle: take the frames that came over CAN and, if one came, a new
//! trajectory; ask for the newest estimate of slope and headway; decide; send the demand; report every 10 ms. A speed that is old is held for a while, then the
//! brake is applied (`Pilot`). The telemetry's doorbell is left alone, for ringing it enters EL2: Linux looks
//! every 20 ms by itself, and nothing traps in the steady state.
//!
//! Argument word: `fault=control-wild-write`.
#![no_std]
#![no_main]

mod fault;

use bulkhead_abi::trace::Stamp;
use bulkhead_component::can::Line;
use bulkhead_component::invocation::invoke;
use bulkhead_component::{Environment, clock, println};
use bulkhead_drive_model::STEP_S;
use bulkhead_drive_model::estimate::{self, Estimate};
use bulkhead_drive_model::message::{Sensors, Telemetry, Trajectory};
use bulkhead_drive_model::pilot::{Decision, Mode, Pilot};
use bulkhead_drive_model::vehicle::Parameters;
use bulkhead_drive_model::wire::Wire;
use bulkhead_guest::{
    ChannelError, Ended, Job, Link, MailReceiver, Period, Sender, Subscriber, run_periodic, trace,
};
use core::convert::Infallible;
use core::ops::ControlFlow;

bulkhead_component::application!(run);

/// Skipped milliseconds that the controller's integrals take into account.
const MOST_SKIPPED: u64 = 100;
/// Jobs from one telemetry message to the next.
const REPORT_EVERY: u64 = 10;

fn run(env: &Environment) -> Result<Infallible, ChannelError> {
    let mut control = Control::open(env)?;
    println!("controller ready");
    let mut fault = fault::Fault::of(env);
    let _counted_from_here = env.ready();
    let period = Period::from_micros(1000).with_offset_micros(500);
    run_periodic(env, "control", period, |job| {
        fault.strike(job);
        control.step(env, job);
        ControlFlow::Continue(())
    })
}

struct Control {
    pilot: Pilot,
    line: Line,
    /// The newest sensor values.
    seen: Sensors,
    /// Slot of the capability to invoke the estimator, and its newest answer.
    estimator: Option<u64>,
    estimate: Option<Estimate>,
    /// True headway of the vehicle in metres, only for the report; 0 without a vehicle ahead.
    true_headway_m: f64,
    commands: MailReceiver<Trajectory, Environment>,
    telemetry: Sender<Telemetry, Environment>,
    plant: Option<Link>,
}

impl Control {
    fn open(env: &Environment) -> Result<Self, ChannelError> {
        let Ok(line) = Line::open(env) else {
            panic!("{}: no CAN", env.name())
        };
        // The vehicle's own notes are none of the controller's business; whether it was restarted is.
        let state = Subscriber::<Sensors, Environment>::open(env, "state")?;
        Ok(Self {
            plant: env.peer_link(state.channel_end()),
            pilot: Pilot::new(Parameters::MID_SIZE, clock::frequency()),
            line,
            seen: Sensors::default(),
            estimator: env.interface(estimate::INTERFACE),
            estimate: None,
            true_headway_m: 0.0,
            commands: MailReceiver::open(env, "commands")?,
            telemetry: Sender::open(env, "telemetry")?,
        })
    }

    fn step(&mut self, env: &Environment, job: &Job) {
        if let Ok(command) = self.commands.receive() {
            self.pilot.command(&command.message, job.release);
        }
        self.look();
        let Stamp { sequence, ticks } = self.seen.stamp;
        let sample = (ticks != 0).then(|| (self.seen.speed_mps, age_s(ticks, job.start)));
        let elapsed_s = STEP_S * (1 + job.skipped.min(MOST_SKIPPED)) as f64;
        self.estimate = self.estimated();
        let decision = self
            .pilot
            .step(sample, self.estimate, job.release, elapsed_s);
        let answer = Wire::Demand {
            number: sequence as u32,
            force_n: decision.demand.drive_n - decision.demand.brake_n,
        };
        // One that is not sent in its period is not sent; the next one is newer.
        let until = job.release + clock::frequency() / 1000;
        let _counted = self.line.send(env, &answer.frame(), until);
        if job.number.is_multiple_of(REPORT_EVERY) {
            self.report(job, &decision);
        }
    }

    /// Takes in what came over the bus.
    fn look(&mut self) {
        let (seen, true_headway_m) = (&mut self.seen, &mut self.true_headway_m);
        self.line.take(|received| {
            match Wire::of(&received.frame)? {
                Wire::Speed { number, speed_mps } => {
                    seen.speed_mps = speed_mps;
                    seen.stamp = Stamp {
                        sequence: number.into(),
                        ticks: received.at,
                    };
                    return Some(Some(number));
                }
                Wire::Motion {
                    distance_m,
                    acceleration_mps2,
                } => {
                    seen.distance_m = distance_m;
                    seen.acceleration_mps2 = acceleration_mps2;
                }
                Wire::Forces { drive_n, brake_n } => {
                    seen.drive_n = drive_n;
                    seen.brake_n = brake_n;
                }
                Wire::Truth { grade, headway_m } => {
                    (seen.grade, *true_headway_m) = (grade, headway_m);
                }
                // The estimator's.
                Wire::Camera(_) => {}
                Wire::Demand { .. } => return None,
            }
            Some(None)
        });
    }

    /// The newest estimate of slope and headway; nothing where there is none that is new.
    fn estimated(&self) -> Option<Estimate> {
        let reply = invoke(self.estimator?, [estimate::READ, 0, 0, 0, 0]);
        (reply.status == 0).then(|| Estimate::of(reply.value))?
    }

    /// Records the error of the estimate.
    fn compare(&self, ticks: u64) {
        let Some(Estimate { grade, headway_m }) = self.estimate else {
            return;
        };
        trace::signal::<Environment>("grade", ticks, 100.0 * self.seen.grade);
        trace::signal::<Environment>("grade-seen", ticks, 100.0 * grade);
        if let Some(headway_m) = headway_m.filter(|_| self.true_headway_m > 0.0) {
            trace::signal::<Environment>("headway", ticks, self.true_headway_m);
            trace::signal::<Environment>("headway-seen", ticks, headway_m);
        }
    }

    fn report(&mut self, job: &Job, decision: &Decision) {
        let seen = self.seen;
        if decision.mode != Mode::Blind {
            trace::signal::<Environment>("speed", job.release, seen.speed_mps);
            trace::signal::<Environment>("setpoint", job.release, decision.setpoint.speed_mps);
        }
        let force_n = decision.demand.drive_n - decision.demand.brake_n;
        trace::signal::<Environment>("force", job.release, force_n);
        self.compare(job.release);
        let mut message = Telemetry {
            speed_mps: seen.speed_mps,
            setpoint_mps: decision.setpoint.speed_mps,
            acceleration_mps2: seen.acceleration_mps2,
            drive_demand_n: decision.demand.drive_n,
            brake_demand_n: decision.demand.brake_n,
            drive_n: seen.drive_n,
            brake_n: seen.brake_n,
            distance_m: seen.distance_m,
            grade: self.estimate.unwrap_or_default().grade,
            sensor_age_ticks: job.start.saturating_sub(seen.stamp.ticks),
            start_delay_ticks: job.start - job.release,
            jobs: job.number,
            mode: decision.mode as u32,
            plant_epoch: self.plant.map_or(0, |link| link.read().epoch),
            accepted: self.pilot.accepted,
            refused: self.pilot.refused,
            ..Telemetry::default()
        };
        // A full ring means that Linux is away: the loss is traced, and the next one is newer.
        let _traced = self.telemetry.send(&mut message);
    }
}

/// Age in seconds of what was sent at `sent`; what comes from the future is as good as infinitely old.
fn age_s(sent: u64, now: u64) -> f64 {
    now.checked_sub(sent).map_or(f64::INFINITY, clock::seconds)
}
