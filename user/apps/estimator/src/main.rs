//! Estimates slope and headway from what is on the bus: the `MLProcess` of the showcase, a component
//!
//! A stage between CAN controller and speed controller, in a separate component that is less critical than the speed controller. Its thread has a budget from
//! the description. Once in ten milliseconds it takes the received frames and evaluates the network. The speed controller reads the newest estimate by an
//! invocation that accesses one word. If the estimator is late, out of budget or stopped, the controller works without an estimate.
#![no_std]
#![no_main]

use bulkhead_component::can::Line;
use bulkhead_component::{Environment, clock, println};
use bulkhead_drive_model::estimate::{NOTHING, PERIOD_S, READ, Senses};
use bulkhead_drive_model::wire::Wire;
use bulkhead_guest::{Period, run_periodic};
use core::convert::Infallible;
use core::ops::ControlFlow;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

bulkhead_component::application!(run);
bulkhead_component::serve!(answer, threads: 16, stack: 1024);

/// Periods after which an estimate is old.
const OLD: u64 = 5;
const PERIOD_US: u64 = (PERIOD_S * 1e6) as u64;
/// After the controller's jobs.
const OFFSET_US: u64 = 750;

/// The newest estimate, and the tick at which it was made.
static NEWEST: [AtomicU64; 2] = [AtomicU64::new(NOTHING), AtomicU64::new(0)];

fn run(env: &Environment) -> Result<Infallible, &'static str> {
    let mut line = Line::open(env).map_err(|_| "no CAN")?;
    let mut senses = Senses::default();
    println!("estimator ready");
    let _counted_from_here = env.ready();
    let period = Period::from_micros(PERIOD_US).with_offset_micros(OFFSET_US);
    run_periodic(env, "estimate", period, |job| {
        line.take(|received| {
            let wire = Wire::of(&received.frame)?;
            senses.take(&wire).then_some(None)
        });
        NEWEST[0].store(senses.estimate().bits(), Relaxed);
        NEWEST[1].store(job.start, Relaxed);
        ControlFlow::Continue(())
    })
}

fn answer(_: u64, [what, ..]: [u64; 5]) -> u64 {
    let [bits, at] = NEWEST.each_ref().map(|word| word.load(Relaxed));
    let age = clock::now().saturating_sub(at);
    match what {
        READ if age <= OLD * clock::ticks(1000 * PERIOD_US) => bits,
        _ => NOTHING,
    }
}
