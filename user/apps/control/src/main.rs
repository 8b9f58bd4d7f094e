//! The speed controller of the showcase, 1 kHz
//!
//! Half a millisecond after the vehicle: take the newest sensor values and, if one came, a new
//! trajectory; decide; publish the demand; report every 10 ms. The telemetry's doorbell is left
//! alone, for ringing it enters EL2: Linux looks every 20 ms by itself, and nothing traps in the
//! steady state.
//!
//! Argument word: `fault=control-wild-write`.
#![no_std]
#![no_main]

mod fault;

use bulkhead_drive_model::STEP_S;
use bulkhead_drive_model::message::{Actuators, Sensors, Telemetry, Trajectory};
use bulkhead_drive_model::pilot::{Decision, Mode, Pilot};
use bulkhead_drive_model::vehicle::Parameters;
use bulkhead_rtos::{
    ChannelError, Job, MailReceiver, Period, Publisher, Received, Sender, Subscriber, System,
    clock, println, trace,
};
use core::convert::Infallible;
use core::ops::ControlFlow;

bulkhead_rtos::application!(run);

/// Skipped milliseconds that the controller's integrals take into account.
const MOST_SKIPPED: u64 = 100;
/// Jobs from one telemetry message to the next.
const REPORT_EVERY: u64 = 10;

fn run(system: &System) -> Result<Infallible, ChannelError> {
    let mut control = Control::open(system)?;
    println!("controller ready");
    let mut fault = fault::Fault::of(system);
    let _counted_from_here = system.announce_up();
    let period = Period::from_micros(1000).with_offset_micros(500);
    system.run_periodic("control", period, |job| {
        fault.strike(job);
        control.step(job);
        ControlFlow::Continue(())
    })
}

struct Control {
    pilot: Pilot,
    sensors: Subscriber<Sensors>,
    actuators: Publisher<Actuators>,
    commands: MailReceiver<Trajectory>,
    telemetry: Sender<Telemetry>,
}

impl Control {
    fn open(system: &System) -> Result<Self, ChannelError> {
        Ok(Self {
            pilot: Pilot::new(Parameters::MID_SIZE, clock::frequency()),
            sensors: Subscriber::open(system, "sensors")?,
            actuators: Publisher::open(system, "actuators")?,
            commands: MailReceiver::open(system, "commands")?,
            telemetry: Sender::open(system, "telemetry")?,
        })
    }

    fn step(&mut self, job: &Job) {
        if let Ok(command) = self.commands.receive() {
            self.pilot.command(&command.message, job.release);
        }
        let sensors = self.sensors.newest();
        let age = sensors.map(|sensors| age_s(sensors.stamp.ticks, job.start));
        let sample = sensors
            .zip(age)
            .map(|(sensors, age_s)| (sensors.message.speed_mps, age_s));
        let elapsed_s = STEP_S * (1 + job.skipped.min(MOST_SKIPPED)) as f64;
        let decision = self.pilot.step(sample, job.release, elapsed_s);
        self.actuate(&decision, sensors.as_ref());
        if job.number.is_multiple_of(REPORT_EVERY) {
            self.report(job, &decision, sensors.as_ref());
        }
    }

    fn actuate(&mut self, decision: &Decision, sensors: Option<&Received<Sensors>>) {
        let answered = sensors.map(|sensors| sensors.stamp).unwrap_or_default();
        self.actuators.publish(&mut Actuators {
            drive_n: decision.demand.drive_n,
            brake_n: decision.demand.brake_n,
            setpoint_mps: decision.setpoint.speed_mps,
            sensors_sequence: answered.sequence,
            sensors_ticks: answered.ticks,
            mode: u64::from(decision.mode as u32),
            ..Actuators::default()
        });
    }

    fn report(&mut self, job: &Job, decision: &Decision, sensors: Option<&Received<Sensors>>) {
        let seen = sensors.map(|sensors| sensors.message).unwrap_or_default();
        if decision.mode != Mode::Blind {
            trace::signal("speed", job.release, seen.speed_mps);
            trace::signal("setpoint", job.release, decision.setpoint.speed_mps);
        }
        let force_n = decision.demand.drive_n - decision.demand.brake_n;
        trace::signal("force", job.release, force_n);
        let link = self.sensors.peer_link();
        let mut message = Telemetry {
            speed_mps: seen.speed_mps,
            setpoint_mps: decision.setpoint.speed_mps,
            acceleration_mps2: seen.acceleration_mps2,
            drive_demand_n: decision.demand.drive_n,
            brake_demand_n: decision.demand.brake_n,
            drive_n: seen.drive_n,
            brake_n: seen.brake_n,
            distance_m: seen.distance_m,
            grade: seen.grade,
            sensor_age_ticks: job.start.saturating_sub(seen.stamp.ticks),
            start_delay_ticks: job.start - job.release,
            jobs: job.number,
            mode: decision.mode as u32,
            plant_epoch: link.map_or(0, |link| link.read().epoch),
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
