//! A CAN controller

use crate::device::ReceivedFrame;
use crate::runtime::{CORE, Failure};
use bulkhead_abi::can::Frame;
use bulkhead_abi::guest::Function;
use bulkhead_abi::pipe::ANY;
use bulkhead_can_port::{Counters, Port, SETTINGS, Sent};
use bulkhead_component::{clock, println};
use bulkhead_slite::Mutex;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

static PORT: Port = Port::new();
/// Held while a frame is sent. A stage that is preempted while it writes to the controller inherits
/// the budget of the stage that waits for the lock.
static SENDER: Mutex<()> = Mutex::new(());
/// Overruns, malformed frames, times off the bus.
static WRONG: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

/// Opens the controller that a function is.
pub(crate) fn open(function: &Function) -> Result<(), Failure> {
    let opened = PORT.open(function);
    opened.map_err(|_| Failure::named("can", "no controller answers"))?;
    println!("can: on the bus at {} bit/s", SETTINGS.bits_per_s);
    Ok(())
}

/// Returns the handler of the controller's interrupts. It passes each received frame to `hand_on`.
pub(crate) fn server(mut hand_on: impl FnMut(&ReceivedFrame)) -> impl FnMut() {
    let mut counters = Counters::default();
    move || {
        PORT.serve(&mut counters, |frame, at| {
            let standard = !frame.extended;
            hand_on(&ReceivedFrame {
                identifier: standard.then_some(frame.id as u16),
                words: frame.words(),
                at,
            });
        });
        let counts = [counters.overruns, counters.malformed, counters.bus_offs];
        for (place, count) in WRONG.iter().zip(counts) {
            place.store(count.into(), Relaxed);
        }
    }
}

/// Prints the error counters of the controller if one has changed.
pub(crate) fn tell() {
    let [overruns, malformed, bus_offs] = WRONG.each_ref().map(|count| count.load(Relaxed));
    if overruns + malformed + bus_offs > 0 {
        println!("can: overruns={overruns} malformed={malformed} bus-offs={bus_offs}");
    }
}

/// Sends a frame with the identifier, or with the stage's own if none is given. Returns `false` if
/// the bus stayed busy, or the controller off the bus, for `patience` ticks.
pub(crate) fn write(words: [u64; 2], identifier: u16, patience: u64) -> bool {
    let frame = match identifier {
        ANY => Frame::of(words),
        given => Some(Frame::new(given, &words[1].to_le_bytes())),
    };
    let Some(frame) = frame else {
        return false;
    };
    let until = clock::now() + patience;
    loop {
        match SENDER.with(&CORE.threads, |()| PORT.send(&frame)) {
            Ok(Sent::Now) => return true,
            Ok(Sent::From(tick)) if tick <= until => CORE.threads.sleep_until(tick),
            Ok(Sent::From(_) | Sent::Off) | Err(_) => return false,
        }
    }
}
