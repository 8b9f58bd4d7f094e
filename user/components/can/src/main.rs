//! Drives a CAN controller, a Kvaser PCIcan-S, for the components of its partition
//!
//! Its thread serves the interrupts: it moves received frames from the controller to the queues of
//! the clients, and restarts the controller after bus-off. A client sends on its own thread.
//!
//!
//! Argument word: `bus-off-at=MILLISECONDS`: time at which the controller is put into the
//! state that too many errors cause (reset mode), in order to show that it recovers.
#![no_std]
#![no_main]

use bulkhead_abi::can::Frame;
use bulkhead_abi::component::can;
use bulkhead_abi::kernel::{MAX_COMPONENTS, Status};
use bulkhead_can_port::{Closed, Counters, Port, Queue, SETTINGS, Sent};
use bulkhead_component::{Environment, First, clock, println};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

bulkhead_component::component!(run);
bulkhead_component::serve!(answer, threads: 16, stack: 1024);

/// Queues of received frames, by number of the client.
static QUEUES: [Queue; MAX_COMPONENTS] = [const { Queue::new() }; MAX_COMPONENTS];
/// The controller, once it runs.
static PORT: Port = Port::new();
/// Event counters, in the order of [`can::COUNTS`].
static COUNTS: [AtomicU64; can::COUNTS.len()] = [const { AtomicU64::new(0) }; can::COUNTS.len()];

const SENT: usize = 0;
const RECEIVED: usize = 1;
const DROPPED: usize = 2;
const OVERRUNS: usize = 3;
const MALFORMED: usize = 4;
const BUS_OFFS: usize = 5;

fn run(_: First) -> ! {
    let env = Environment::open();
    let Some(function) = env.function() else {
        panic!("{}: owns no CAN controller", env.name())
    };
    match PORT.open(function) {
        Ok(()) => {}
        Err(Closed::Other(other)) => panic!("{}: not a PCIcan: {other:?}", env.name()),
        Err(Closed::Absent) => panic!("{}: no controller answers", env.name()),
    }
    println!(
        "{}: on the bus at {} bit/s",
        env.name(),
        SETTINGS.bits_per_s
    );
    let mut counters = Counters::default();
    let off_at = env.number("bus-off-at", 0) * clock::frequency() / 1000;
    loop {
        serve(&env, &mut counters);
        if off_at != 0 && counters.bus_offs == 0 && clock::now() >= off_at {
            PORT.leave_bus();
            serve(&env, &mut counters);
        }
        if let Err(status) = env.served() {
            panic!("{}: no interrupts: {status:?}", env.name())
        }
    }
}

/// Takes all received frames, and counts errors.
fn serve(env: &Environment, counters: &mut Counters) {
    let before = *counters;
    PORT.serve(counters, |frame, at| {
        COUNTS[RECEIVED].fetch_add(1, Relaxed);
        let dropped = QUEUES
            .iter()
            .filter(|queue| !queue.put(frame.words(), at))
            .count();
        COUNTS[DROPPED].fetch_add(dropped as u64, Relaxed);
    });
    if *counters == before {
        return;
    }
    COUNTS[OVERRUNS].store(counters.overruns.into(), Relaxed);
    COUNTS[MALFORMED].store(counters.malformed.into(), Relaxed);
    COUNTS[BUS_OFFS].store(counters.bus_offs.into(), Relaxed);
    if counters.bus_offs != before.bus_offs {
        println!("{}: was off the bus, back again", env.name());
    }
    if counters.overruns != before.overruns {
        println!("{}: the controller lost frames", env.name());
    }
}

fn answer(token: u64, [what, first, second, ..]: [u64; 5]) -> u64 {
    let Some(queue) = QUEUES.get(token as u32 as usize) else {
        return 0;
    };
    queue.open();
    match what {
        can::SEND => send([first, second]),
        can::HEAD => queue
            .oldest()
            .map_or(0, |(words, _)| words[0] | can::IS_FRAME),
        can::DATA => queue.oldest().map_or(0, |(words, _)| words[1]),
        can::TAKE => queue.take(),
        can::COUNT => COUNTS
            .get(first as usize)
            .map_or(0, |count| count.load(Relaxed)),
        _ => Status::NoOperation as u64,
    }
}

/// Puts a frame on the bus if the bus is free, on the client's thread.
fn send(words: [u64; 2]) -> u64 {
    let Some(frame) = Frame::of(words) else {
        return can::NO_FRAME;
    };
    match PORT.send(&frame) {
        Sent::Now => {
            COUNTS[SENT].fetch_add(1, Relaxed);
            can::SENT
        }
        Sent::From(tick) => tick,
        Sent::Off => can::OFF,
    }
}
