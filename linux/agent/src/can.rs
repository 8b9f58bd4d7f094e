//! `bulkhead-agent can …`: ends of what happens on a CAN bus, in Linux
//!
//! `answer`: the controller's end of the loop; answers each sensor frame with a demand, as `user/components/can-loop` does,
//! by a proportional rule. `send`: keeps a channel busy. `take`: receives all that comes. Each says twice a second what came and
//! went since it began.

use crate::console::say;
use bulkhead_abi::can::{BITS_PER_S, Frame};
use bulkhead_drive_model::wire::Wire;
use bulkhead_linux::{Can, Error};
use std::time::{Duration, Instant};

const TELLING: Duration = Duration::from_millis(500);
/// Aimed at, m/s, and newtons for each of these that it lacks.
const TARGET_MPS: f64 = 20.0;
const GAIN: f64 = 200.0;
const MOST_N: f64 = 4000.0;

/// Never ends but by an error.
pub(crate) fn answer(interface: &str) -> Result<(), Error> {
    let can = Can::open(interface, BITS_PER_S)?;
    say(format_args!("{interface}: up at {BITS_PER_S} bit/s"));
    let (mut received, mut answered) = (0_u64, 0_u64);
    let mut next = Instant::now() + TELLING;
    loop {
        if let Some(frame) = can.receive(100)? {
            received += 1;
            if let Some(demand) = demand(&frame) {
                can.send(&demand)?;
                answered += 1;
            }
        }
        if Instant::now() >= next {
            next += TELLING;
            say(format_args!(
                "{interface}: received={received} answered={answered}"
            ));
        }
    }
}

/// Sends frames of 8 bytes that take at least so many percent of the bus. Never ends but by an error.
pub(crate) fn send(interface: &str, percent: &str) -> Result<(), Error> {
    let can = Can::open(interface, BITS_PER_S)?;
    can.hear(None)?;
    let frame = Frame::new(0x200, &[0x55; 8]);
    let percent = percent.parse().unwrap_or(1).clamp(1, 100);
    let gap_ns =
        u64::from(frame.least_bits()) * 1_000_000_000 * 100 / u64::from(BITS_PER_S) / percent;
    say(format_args!("{interface}: a frame every {gap_ns} ns"));
    let start = Instant::now();
    let mut next = start + TELLING;
    let (mut sent, mut unsent) = (0_u64, 0_u64);
    for number in 1_u64.. {
        let due = start + Duration::from_nanos(gap_ns * number);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        // A queue that is full for a moment: the frame is left out.
        match can.send(&frame) {
            Ok(()) => sent += 1,
            Err(_) => unsent += 1,
        }
        if Instant::now() >= next {
            next += TELLING;
            say(format_args!("{interface}: sent={sent} unsent={unsent}"));
        }
    }
    Ok(())
}

/// Receives all frames. Never ends but by an error.
pub(crate) fn take(interface: &str) -> Result<(), Error> {
    let can = Can::open(interface, BITS_PER_S)?;
    let mut received = 0_u64;
    let mut next = Instant::now() + TELLING;
    loop {
        received += u64::from(can.receive(1000)?.is_some());
        if Instant::now() >= next {
            next += TELLING;
            say(format_args!("{interface}: taken={received}"));
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
