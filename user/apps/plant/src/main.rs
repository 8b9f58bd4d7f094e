//! The vehicle of the showcase: longitudinal dynamics at 1 kHz, a component
//!
//! At each whole millisecond of the common counter: take the newest demand that came over CAN, integrate one
//! millisecond, send what the sensors would show: the speed each time, the rest every 10 ms. A demand repeats the number
//! of the speed that it answers, so that the round trip is known. Restarted, it goes on from the state it had noted
//! last, for a vehicle does not stop because its simulation did; where that is not plausible (the
//! reader can write there too) it starts at rest.
//!
//! Argument words: `road=hills` (default) or `road=level`; `lead=clear` (default), `lead=slow` or `lead=none`: the vehicle ahead; `fault=plant-hang`
//! (`fault.rs` has its time).
#![no_std]
#![no_main]

mod fault;

use bulkhead_component::can::Line;
use bulkhead_component::{Environment, clock, println};
use bulkhead_drive_model::STEP_S;
use bulkhead_drive_model::actuator::Actuator;
use bulkhead_drive_model::instruments::{Instruments, TURNS};
use bulkhead_drive_model::lead::{Lead, Manner};
use bulkhead_drive_model::message::Sensors;
use bulkhead_drive_model::road::Road;
use bulkhead_drive_model::vehicle::{Demand, Parameters, State, Vehicle};
use bulkhead_drive_model::wire::{self, Wire};
use bulkhead_guest::{ChannelError, Job, Period, Publisher, run_periodic, trace};
use core::convert::Infallible;
use core::ops::ControlFlow;

bulkhead_component::application!(run);

/// Skipped milliseconds that are made up for; after more the vehicle has stood still for a while.
const MOST_SKIPPED: u64 = 100;
/// Number of sent speeds with a stored time of sending. A demand that answers an older speed is not
/// measured.
const REMEMBERED: usize = 64;
/// Seeds of the traffic ahead and of the instruments' noise.
const SEEDS: [u64; 2] = [5, 9];

fn run(env: &Environment) -> Result<Infallible, ChannelError> {
    let mut plant = Plant::open(env)?;
    let millis = |value: f64| (value * 1000.0) as u64;
    println!(
        "vehicle at {} mm, {} mm/s",
        millis(plant.state.distance_m),
        millis(plant.state.speed_mps)
    );
    let fault = fault::Fault::of(env);
    let _counted_from_here = env.ready();
    run_periodic(env, "plant", Period::from_micros(1000), |job| {
        fault.strike(job);
        plant.step(env, job);
        ControlFlow::Continue(())
    })
}

struct Plant {
    vehicle: Vehicle<'static>,
    state: State,
    actuator: Actuator,
    lead: Lead,
    instruments: Instruments,
    /// Publishes its state.
    notes: Publisher<Sensors, Environment>,
    line: Line,
    /// Number of the next speed, and when the last ones were sent.
    number: u32,
    sent_at: [u64; REMEMBERED],
}

impl Plant {
    fn open(env: &Environment) -> Result<Self, ChannelError> {
        let road = match env.argument("road") {
            Some("level") => Road::LEVEL,
            _ => Road::HILLS,
        };
        let manner = match env.argument("lead") {
            Some("none") => Manner::Absent,
            Some("slow") => Manner::Slow,
            _ => Manner::Clear,
        };
        let vehicle = Vehicle {
            parameters: Parameters::MID_SIZE,
            road,
        };
        let Ok(line) = Line::open(env) else {
            panic!("{}: no CAN", env.name())
        };
        let notes = Publisher::<Sensors, Environment>::open(env, "state")?;
        let state = notes.last().map(|last| state_of(&last));
        let state = state.filter(|state| state.is_plausible(&vehicle.parameters));
        Ok(Self {
            vehicle,
            state: state.unwrap_or_default(),
            actuator: Actuator::default(),
            lead: Lead::new(manner, SEEDS[0]),
            instruments: Instruments::new(SEEDS[1]),
            notes,
            line,
            number: 1,
            sent_at: [0; REMEMBERED],
        })
    }

    fn step(&mut self, env: &Environment, job: &Job) {
        let demand = self.listen();
        let demand = self.actuator.demand(demand, STEP_S);
        for _ in 0..=job.skipped.min(MOST_SKIPPED) {
            self.state = self.vehicle.step(&self.state, &demand, STEP_S);
            self.lead.step(self.state.speed_mps, STEP_S);
        }
        self.publish(env, job);
        if job.number.is_multiple_of(TURNS) {
            trace::signal::<Environment>("vehicle-speed", job.release, self.state.speed_mps);
            trace::signal::<Environment>("distance", job.release, self.state.distance_m);
        }
    }

    /// The newest demand that came.
    fn listen(&mut self) -> Option<Demand> {
        let (mut demand, sent_at) = (None, &mut self.sent_at);
        self.line.take(|received| {
            let Some(Wire::Demand { number, force_n }) = Wire::of(&received.frame) else {
                return None;
            };
            demand = Some(wire::demand(force_n));
            // Answered once: a controller that has nothing newer repeats itself.
            let sent = core::mem::take(&mut sent_at[number as usize % REMEMBERED]);
            if sent != 0 && received.at >= sent {
                trace::delivered::<Environment>("round-trip", number, [sent, received.at]);
            }
            Some(None)
        });
        demand
    }

    fn publish(&mut self, env: &Environment, job: &Job) {
        let mut message = Sensors {
            speed_mps: self.state.speed_mps,
            distance_m: self.state.distance_m,
            acceleration_mps2: self.vehicle.acceleration_mps2(&self.state),
            drive_n: self.state.drive_n,
            brake_n: self.state.brake_n,
            grade: self.vehicle.road.grade(self.state.distance_m),
            ..Sensors::default()
        };
        self.notes.publish(&mut message);
        let speed = Wire::Speed {
            number: self.number,
            speed_mps: message.speed_mps,
        };
        let slower = self
            .instruments
            .slower(job.number, &self.vehicle, &self.state, &self.lead);
        let until = job.release + clock::frequency() / 1000;
        let sent = self.line.send(env, &speed.frame(), until);
        self.sent_at[self.number as usize % REMEMBERED] = sent.unwrap_or(0);
        self.number = self.number.wrapping_add(1);
        if let Some(slower) = slower {
            let _counted = self.line.send(env, &slower.frame(), until);
        }
    }
}

fn state_of(sensors: &Sensors) -> State {
    State {
        distance_m: sensors.distance_m,
        speed_mps: sensors.speed_mps,
        drive_n: sensors.drive_n,
        brake_n: sensors.brake_n,
    }
}
