//! `bulkhead-agent can …`: programs at the Linux end of a CAN bus
//!
//! `answer` is the controller of the loop: it answers each sensor frame with a demand, as
//! `user/components/can-loop` does, by a proportional rule. `send` keeps a channel busy. `take`
//! receives all frames. Each prints its totals twice a second.

use crate::console::say;
use bulkhead_abi::can::{BITS_PER_S, Frame};
use bulkhead_drive_model::wire::Wire;
use bulkhead_linux::{Can, Error};
use std::time::{Duration, Instant};

const TELLING: Duration = Duration::from_millis(500);
/// Set speed in m/s, and force in newtons per m/s below it.
const TARGET_MPS: f64 = 20.0;
const GAIN: f64 = 200.0;
const MOST_N: f64 = 4000.0;

/// Returns only with an error.
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

/// Sends frames of 8 bytes that take at least this percentage of the bus. Returns only with an
/// error.
pub(crate) fn send(interface: &str, percent: &str) -> Result<(), Error> {
    let can = Can::open(interface, BITS_PER_S)?;
    can.hear(None)?;
    let frame = Frame::new(0x200, &[0x55; 8]);
    let percent = percent.parse().unwrap_or(1).clamp(1, 100);
    let gap_ns =
        u64::from(frame.least_bits()) * 1_000_000_000 * 100 / u64::from(BITS_PER_S) / percent;
    let gap = Duration::from_nanos(gap_ns);
    say(format_args!("{interface}: a frame every {gap:?}"));
    let start = Instant::now();
    let mut next = start + TELLING;
    let (mut sent, mut unsent) = (0_u64, 0_u64);
    for number in 1_u64.. {
        let due = start + Duration::from_nanos(gap_ns * number);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        // If the queue is full, the frame is left out.
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

/// Receives all frames. Returns only with an error.
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

/// The answer to a sensor frame; none to any other frame.
fn demand(frame: &Frame) -> Option<Frame> {
    let Some(Wire::Speed { number, speed_mps }) = Wire::of(frame) else {
        return None;
    };
    let force_n = ((TARGET_MPS - speed_mps) * GAIN).clamp(-MOST_N, MOST_N);
    Some(Wire::Demand { number, force_n }.frame())
}
