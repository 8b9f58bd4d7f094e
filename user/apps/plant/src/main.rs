//! The vehicle of the showcase: longitudinal dynamics at 1 kHz, a component
//!
//! At each whole millisecond of the common counter: take the newest demand, integrate one
//! millisecond, publish what the sensors would show. Restarted, it goes on from the state it had
//! published last, for a vehicle does not stop because its simulation did; where that is not
//! plausible (the reader can write there too) it starts at rest.
//!
//! Argument words: `road=level` (default) or `road=hills`; `fault=plant-hang`
//! (see `fault.rs` for when).
#![no_std]
#![no_main]

mod fault;

use bulkhead_component::{Own, clock, println};
use bulkhead_drive_model::STEP_S;
use bulkhead_drive_model::actuator::{Actuator, TIMEOUT_S};
use bulkhead_drive_model::message::{Actuators, Sensors};
use bulkhead_drive_model::road::Road;
use bulkhead_drive_model::vehicle::{Demand, Parameters, State, Vehicle};
use bulkhead_guest::{
    ChannelError, Job, Period, Publisher, Received, Subscriber, run_periodic, trace,
};
use core::convert::Infallible;
use core::ops::ControlFlow;

bulkhead_component::application!(run);

/// Skipped milliseconds that are made up for; after more the vehicle has stood still for a while.
const MOST_SKIPPED: u64 = 100;
/// Jobs from one traced sample of the state to the next.
const TRACED_EVERY: u64 = 10;

fn run(own: &Own) -> Result<Infallible, ChannelError> {
    let mut plant = Plant::open(own)?;
    let millis = |value: f64| (value * 1000.0) as u64;
    println!(
        "vehicle at {} mm, {} mm/s",
        millis(plant.state.distance_m),
        millis(plant.state.speed_mps)
    );
    let fault = fault::Fault::of(own);
    let _counted_from_here = own.ready();
    run_periodic(own, "plant", Period::from_micros(1000), |job| {
        fault.strike(job);
        plant.step(job);
        ControlFlow::Continue(())
    })
}

struct Plant {
    vehicle: Vehicle<'static>,
    state: State,
    actuator: Actuator,
    sensors: Publisher<Sensors, Own>,
    actuators: Subscriber<Actuators, Own>,
}

impl Plant {
    fn open(own: &Own) -> Result<Self, ChannelError> {
        let road = match own.argument("road") {
            Some("hills") => Road::HILLS,
            _ => Road::LEVEL,
        };
        let vehicle = Vehicle {
            parameters: Parameters::MID_SIZE,
            road,
        };
        let sensors = Publisher::<Sensors, Own>::open(own, "sensors")?;
        let actuators = Subscriber::open(own, "actuators")?;
        let state = sensors.last().map(|last| state_of(&last));
        let state = state.filter(|state| state.is_plausible(&vehicle.parameters));
        Ok(Self {
            vehicle,
            state: state.unwrap_or_default(),
            actuator: Actuator::default(),
            sensors,
            actuators,
        })
    }

    fn step(&mut self, job: &Job) {
        let asked = self
            .actuators
            .newest()
            .filter(is_recent)
            .map(|actuators| Demand {
                drive_n: actuators.message.drive_n,
                brake_n: actuators.message.brake_n,
            });
        let demand = self.actuator.demand(asked, STEP_S);
        for _ in 0..=job.skipped.min(MOST_SKIPPED) {
            self.state = self.vehicle.step(&self.state, &demand, STEP_S);
        }
        self.publish();
        if job.number.is_multiple_of(TRACED_EVERY) {
            trace::signal::<Own>("vehicle-speed", job.release, self.state.speed_mps);
            trace::signal::<Own>("distance", job.release, self.state.distance_m);
        }
    }

    fn publish(&mut self) {
        let mut message = Sensors {
            speed_mps: self.state.speed_mps,
            distance_m: self.state.distance_m,
            acceleration_mps2: self.vehicle.acceleration_mps2(&self.state),
            drive_n: self.state.drive_n,
            brake_n: self.state.brake_n,
            grade: self.vehicle.road.grade(self.state.distance_m),
            ..Sensors::default()
        };
        self.sensors.publish(&mut message);
    }
}

/// Whether a demand came just now; after a restart the first one found may be old.
fn is_recent(received: &Received<Actuators>) -> bool {
    let age = clock::now().checked_sub(received.stamp.ticks);
    received.fresh && age.is_some_and(|age| clock::seconds(age) <= TIMEOUT_S)
}

fn state_of(sensors: &Sensors) -> State {
    State {
        distance_m: sensors.distance_m,
        speed_mps: sensors.speed_mps,
        drive_n: sensors.drive_n,
        brake_n: sensors.brake_n,
    }
}
