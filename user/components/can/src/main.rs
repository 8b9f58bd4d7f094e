//! Drives a CAN controller, a Kvaser PCIcan-S, for the components of its partition
//!
//! Its thread serves the interrupts: it takes the frames out of the controller and puts them into the
//! queues of the clients, and brings the controller back when it has left the bus. Who sends does so on
//! his own thread. The wire is paced here: a frame is sent only when those before it, one's own and
//! those of others, have had their time at the speed of the bus, even if the controller takes them
//! faster, as an emulated one does, whose peers would then lose them.
//!
//! Argument word: `bus-off-at=MILLISECONDS`, when the controller is put into the state in which too
//! many errors would leave it (reset mode), to show that it comes back.
#![no_std]
#![no_main]

mod board;
mod queue;

use board::Board;
use bulkhead_abi::can::Frame;
use bulkhead_abi::component::can;
use bulkhead_abi::kernel::{MAX_COMPONENTS, Status};
use bulkhead_component::{First, Own, clock, println};
use bulkhead_sja1000::{Counters, Refused, Settings, Sja1000};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU64};
use queue::Queue;

bulkhead_component::component!(run);
bulkhead_component::serve!(answer, threads: 16, stack: 1024);

const SETTINGS: Settings = Settings::PCICAN_KBIT_500;

/// By number of the client.
static QUEUES: [Queue; MAX_COMPONENTS] = [const { Queue::new() }; MAX_COMPONENTS];
/// The controller's registers, once it runs.
static BOARD: Board = Board::new();
/// Somebody writes the transmit buffer.
static SENDING: AtomicBool = AtomicBool::new(false);
/// Tick from which on the bus is free.
static FREE: AtomicU64 = AtomicU64::new(0);
/// In the order of [`can::COUNTS`].
static COUNTS: [AtomicU64; can::COUNTS.len()] = [const { AtomicU64::new(0) }; can::COUNTS.len()];

const SENT: usize = 0;
const RECEIVED: usize = 1;
const DROPPED: usize = 2;
const OVERRUNS: usize = 3;
const MALFORMED: usize = 4;
const BUS_OFFS: usize = 5;

fn run(_: First) -> ! {
    let own = Own::open();
    let Some(function) = own.function() else {
        panic!("{}: owns no CAN controller", own.name())
    };
    let device = match board::open(function) {
        Ok(device) => device,
        Err(other) => panic!("{}: not a PCIcan: {other:?}", own.name()),
    };
    BOARD.connect(&device);
    let Ok(controller) = Sja1000::start(&BOARD, SETTINGS) else {
        panic!("{}: no controller answers", own.name())
    };
    board::let_interrupts_through(&device);
    BOARD.ready.store(true, Release);
    println!(
        "{}: on the bus at {} bit/s",
        own.name(),
        SETTINGS.bits_per_s
    );
    let mut known = Counters::default();
    let off_at = own.number("bus-off-at", 0) * clock::frequency() / 1000;
    loop {
        serve(&own, &controller, &mut known);
        if off_at != 0 && known.bus_offs == 0 && clock::now() >= off_at {
            controller.leave_bus();
            serve(&own, &controller, &mut known);
        }
        if let Err(status) = own.served() {
            panic!("{}: no interrupts: {status:?}", own.name())
        }
    }
}

/// Takes all out that came, and notes what went wrong.
fn serve(own: &Own, controller: &Sja1000<&Board>, known: &mut Counters) {
    let before = *known;
    controller.attend(known);
    while let Some(frame) = controller.receive(known) {
        let now = clock::now();
        occupy(now, &frame);
        COUNTS[RECEIVED].fetch_add(1, Relaxed);
        let dropped = QUEUES
            .iter()
            .filter(|queue| !queue.put(&frame, now))
            .count();
        COUNTS[DROPPED].fetch_add(dropped as u64, Relaxed);
    }
    if *known == before {
        return;
    }
    COUNTS[OVERRUNS].store(known.overruns.into(), Relaxed);
    COUNTS[MALFORMED].store(known.malformed.into(), Relaxed);
    COUNTS[BUS_OFFS].store(known.bus_offs.into(), Relaxed);
    if known.bus_offs != before.bus_offs {
        println!("{}: was off the bus, back again", own.name());
    }
    if known.overruns != before.overruns {
        println!("{}: the controller lost frames", own.name());
    }
}

/// The bus is busy with a frame that starts now, or when those before it have ended.
fn occupy(now: u64, frame: &Frame) {
    let bits = u64::from(frame.most_bits());
    let ticks = (bits * clock::frequency()).div_ceil(u64::from(SETTINGS.bits_per_s));
    let until = |free: u64| Some(free.max(now) + ticks);
    let _always_some = FREE.fetch_update(Relaxed, Relaxed, until);
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

/// Puts a frame on the bus if that is free, on the client's thread.
fn send(words: [u64; 2]) -> u64 {
    let Some(frame) = Frame::of(words) else {
        return can::NO_FRAME;
    };
    let now = clock::now();
    let free = FREE.load(Relaxed);
    if !BOARD.ready.load(Acquire) || free > now {
        return free.max(now + 1);
    }
    if SENDING.swap(true, Acquire) {
        // A less important client is about to: it needs the processor.
        return now + 1;
    }
    let sent = Sja1000::running(&BOARD, SETTINGS).send(&frame);
    SENDING.store(false, Release);
    match sent {
        Ok(()) => {
            occupy(now, &frame);
            COUNTS[SENT].fetch_add(1, Relaxed);
            can::SENT
        }
        Err(Refused::Busy) => now + clock::frequency() / 10_000,
        Err(Refused::Off) => can::OFF,
    }
}
