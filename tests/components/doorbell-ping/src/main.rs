//! Measures doorbells between components of two partitions
//!
//! The writer's end of the channel rings once in a millisecond, the other end answers. Both use
//! only the doorbells of the description.
#![no_std]
#![no_main]

use bulkhead_abi::guest::{ChannelEnd, Role};
use bulkhead_abi::kernel::Status;
use bulkhead_component::{Environment, clock, cores, println};
use bulkhead_guest::Home;
use core::convert::Infallible;
use core::fmt;

bulkhead_component::application!(run);

/// Number of rounds, and rounds per line of output.
const ROUNDS: u64 = 300;
const REPORT_EVERY: u64 = 100;

/// Reason for which it stopped.
struct Stopped(Status);

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl From<Status> for Stopped {
    fn from(status: Status) -> Self {
        Self(status)
    }
}

fn run(env: &Environment) -> Result<Infallible, Stopped> {
    let end = env.channels().first().ok_or(Status::Nothing)?;
    let asks = end.role == Role::Writer as u32;
    println!("bell: core={} asks={asks}", cores::rank());
    env.ready()?;
    // It cannot ring a doorbell that is not its own.
    let other = ChannelEnd {
        doorbell_out: end.doorbell_out ^ 1,
        ..*end
    };
    println!("bell: another doorbell: {:?}", env.ring(&other));
    if asks {
        ask(env, end)
    } else {
        answer(env, end)
    }
}

fn ask(env: &Environment, end: &ChannelEnd) -> Result<Infallible, Stopped> {
    let millisecond = clock::frequency() / 1000;
    while !env.peer_link(end).is_some_and(|link| link.is_up()) {
        env.sleep_until(clock::now() + millisecond);
    }
    let (mut release, mut merged, mut worst) = (clock::now(), 0, 0);
    for round in 1..=ROUNDS {
        release += millisecond;
        env.sleep_until(release);
        let began = clock::now();
        env.ring(end)?;
        merged += env.served()? - 1;
        worst = worst.max(clock::micros(clock::now() - began));
        if round.is_multiple_of(REPORT_EVERY) {
            println!("bell: rounds={round} merged={merged} worst_us={worst}");
        }
    }
    loop {
        env.sleep_until(u64::MAX);
    }
}

fn answer(env: &Environment, end: &ChannelEnd) -> Result<Infallible, Stopped> {
    loop {
        env.served()?;
        env.ring(end)?;
    }
}
