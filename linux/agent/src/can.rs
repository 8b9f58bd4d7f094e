//! `bulkhead-agent can answer INTERFACE`: the controller's end of the loop over CAN, in Linux
//!
//! Answers each sensor frame with a demand, as `user/components/can-loop` does, by a proportional rule.
//! Says once a second what came and went.

use crate::console::say;
use bulkhead_abi::can::Frame;
use bulkhead_linux::{Can, Error};
use std::time::{Duration, Instant};

const BITS_PER_S: u32 = 500_000;
const DEMAND: u16 = 0x080;
const SENSORS: u32 = 0x100;
/// Aimed at, in thousandths of a metre per second, and newtons for each of these that it lacks.
const TARGET: i32 = 20_000;
const GAIN: f64 = 0.2;
const MOST_N: f64 = 4000.0;

/// Never ends but by an error.
pub(crate) fn answer(interface: &str) -> Result<(), Error> {
    let can = Can::open(interface, BITS_PER_S)?;
    say(format_args!("{interface}: up at {BITS_PER_S} bit/s"));
    let (mut received, mut answered) = (0_u64, 0_u64);
    let mut next = Instant::now() + Duration::from_secs(1);
    loop {
        if let Some(frame) = can.receive(100)? {
            received += 1;
            if let Some(demand) = demand(&frame) {
                can.send(&demand)?;
                answered += 1;
            }
        }
        if Instant::now() >= next {
            next += Duration::from_secs(1);
            say(format_args!(
                "{interface}: received={received} answered={answered}"
            ));
        }
    }
}

/// What answers a sensor frame; nothing to any other.
fn demand(frame: &Frame) -> Option<Frame> {
    let is_sensors = frame.id == SENSORS && !frame.extended && frame.length == 8;
    let [a, b, c, d, speed @ ..] = frame.data;
    let speed = i32::from_be_bytes(speed);
    let force = (f64::from(TARGET.saturating_sub(speed)) * GAIN).clamp(-MOST_N, MOST_N) as i32;
    let [e, f, g, h] = force.to_be_bytes();
    is_sensors.then(|| Frame::new(DEMAND, &[a, b, c, d, e, f, g, h]))
}
