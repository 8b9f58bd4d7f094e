//! A CAN controller

use crate::device::ReceivedFrame;
use crate::{CORE, Failure};
use bulkhead_abi::can::Frame;
use bulkhead_abi::guest::Function;
use bulkhead_abi::pipe::ANY;
use bulkhead_can_port::{Counters, Port, SETTINGS, Sent};
use bulkhead_component::{clock, println};
use bulkhead_slite::Mutex;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

static PORT: Port = Port::new();
/// Who sends: a stage that is cut while it writes the controller goes on at the expense of who waits for it.
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

/// What serves its interrupts, and hands on what comes.
pub(crate) fn server(mut hand_on: impl FnMut(&ReceivedFrame)) -> impl FnMut() {
    let mut known = Counters::default();
    move || {
        PORT.serve(&mut known, |frame, at| {
            let standard = !frame.extended;
            hand_on(&ReceivedFrame {
                identifier: standard.then_some(frame.id as u16),
                words: frame.words(),
                at,
            });
        });
        let counts = [known.overruns, known.malformed, known.bus_offs];
        for (place, count) in WRONG.iter().zip(counts) {
            place.store(count.into(), Relaxed);
        }
    }
}

/// Says what went wrong, if anything did.
pub(crate) fn tell() {
    let [overruns, malformed, bus_offs] = WRONG.each_ref().map(|count| count.load(Relaxed));
    if overruns + malformed + bus_offs > 0 {
        println!("can: overruns={overruns} malformed={malformed} bus-offs={bus_offs}");
    }
}

/// Sends a frame, of the identifier if one is given; `false` where the bus was not free, or the controller not on it, for
/// so many ticks.
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
