//! `bulkhead-agent can answer INTERFACE`: the controller's end of the loop over CAN, in Linux
//!
//! Answers each sensor frame with a demand, as `user/components/can-loop` does, by a proportional rule.
//! Says once a second what came and went.

use crate::console::say;
use bulkhead_abi::can::Frame;
use bulkhead_drive_model::wire::Wire;
use bulkhead_linux::{Can, Error};
use std::time::{Duration, Instant};

const BITS_PER_S: u32 = 500_000;
/// Aimed at, m/s, and newtons for each of these that it lacks.
const TARGET_MPS: f64 = 20.0;
const GAIN: f64 = 200.0;
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
    let Some(Wire::Speed { number, speed_mps }) = Wire::of(frame) else {
        return None;
    };
    let force_n = ((TARGET_MPS - speed_mps) * GAIN).clamp(-MOST_N, MOST_N);
    Some(Wire::Demand { number, force_n }.frame())
}
