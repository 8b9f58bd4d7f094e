//! Sends messages to a UDP echo port and measures the time to the answers
//!
//! Argument words: `period_us=N`: interval of messages, each extended by a random part of up to a
//! tenth; 0: no messages. `burst=N`, `burst_us=N`: messages of a burst, and interval of bursts.
//! `gap_us=N`: interval of the messages of a burst. `bytes=N` of a message, 16 to 64 (64). Each
//! message contains the tick at which it was sent. Once a second it prints the longest and the
//! average time of the answers in nanoseconds, with bursts apart.
#![no_std]
#![no_main]

use bulkhead_abi::kernel::{Operation, first};
use bulkhead_component::call::call;
use bulkhead_component::clock::ticks;
use bulkhead_component::figure::Figure;
use bulkhead_component::first::argument;
use bulkhead_component::{First, clock, console, println};
use bulkhead_net::{Buffers, Card, Problem, SocketStorage, Udp, peer};
use bulkhead_sched::NEVER;
use bulkhead_sched::harness::Random;
use bulkhead_sched::policy::{FixedPriority, Preemptive, Priority};
use bulkhead_slite::{Mutex, Threads};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU64};

bulkhead_component::component!(run);

const ADDRESS: [u8; 4] = [10, 0, 2, 16];
const PORT: u16 = 4007;
const ECHO: ([u8; 4], u16) = ([10, 0, 2, 15], 7);
/// Maximum bytes of a message, and minimum: its kind, and the time of sending.
const BYTES: usize = 64;
const LEAST: usize = 16;
/// Seed of the intervals.
const SEED: u64 = 0x7;

static THREADS: Threads<FixedPriority<Preemptive, 3>, 3> =
    Threads::new(FixedPriority::new(Preemptive));
static CARD: Mutex<Option<Card>> = Mutex::new(None);
static BUFFERS: Mutex<Buffers> = Mutex::new(Buffers::new());
/// Receive end and interrupt of the card's thread, and the worker thread.
static RECEIVE: AtomicU64 = AtomicU64::new(0);
static LINE: AtomicU64 = AtomicU64::new(0);
static WORKER: AtomicU64 = AtomicU64::new(0);
/// True if the card has raised its interrupt.
static RAISED: AtomicBool = AtomicBool::new(false);
/// Nanoseconds between messages, between bursts, within a burst; messages of a burst.
static PERIOD: AtomicU64 = AtomicU64::new(0);
static BURST: AtomicU64 = AtomicU64::new(0);
static GAP: AtomicU64 = AtomicU64::new(0);
static MESSAGES: AtomicU64 = AtomicU64::new(0);
static LENGTH: AtomicU64 = AtomicU64::new(0);

fn run(mut first: First) -> ! {
    if let Err(problem) = start(&mut first) {
        println!("stopped: {problem:?}");
        let _gone = call(first::MONITOR, Operation::Fail, [1]);
    }
    loop {
        THREADS.run(NEVER);
    }
}

fn start(first: &mut First) -> Result<(), Problem> {
    let page = first.guest()?;
    let info = &page.info;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    let ns = |key| argument(info, key).unwrap_or(0) * 1000;
    PERIOD.store(ns("period_us"), Relaxed);
    BURST.store(ns("burst_us"), Relaxed);
    GAP.store(ns("gap_us"), Relaxed);
    MESSAGES.store(argument(info, "burst").unwrap_or(0), Relaxed);
    let length = argument(info, "bytes").unwrap_or(BYTES as u64);
    LENGTH.store(length.clamp(LEAST as u64, BYTES as u64), Relaxed);
    THREADS.prepare(first)?;
    let [function, ..] = &page.functions;
    let card = bulkhead_net::open(first, function)?;
    let _kept = CARD.with(&THREADS, |place| *place = Some(card));
    let hearing = THREADS.spawn(first, hear, Priority(0))?;
    let worker = THREADS.spawn(first, work, Priority(1))?;
    WORKER.store(worker, Relaxed);
    let [receive, send] = THREADS.receive_end(first, hearing)?;
    RECEIVE.store(receive, Relaxed);
    LINE.store(function.intid.into(), Relaxed);
    call(
        first::INTERRUPT,
        Operation::Listen,
        [function.intid.into(), send],
    )?;
    call(first::MONITOR, Operation::Up, []).map(drop)?;
    Ok(())
}

/// Wakes the worker at an interrupt of the card. The line stays raised until the worker has
/// served it.
extern "C" fn hear(_: u64) -> ! {
    loop {
        if THREADS.wait_notified(RECEIVE.load(Relaxed)).is_ok() {
            RAISED.store(true, Relaxed);
            THREADS.wakeup(WORKER.load(Relaxed));
        }
    }
}

/// Time of the next message.
struct Due {
    at: u64,
    period: u64,
}

impl Due {
    fn every(ns: u64) -> Self {
        let period = ticks(ns);
        let at = if period == 0 {
            NEVER
        } else {
            clock::now() + period
        };
        Self { at, period }
    }

    /// Returns whether the time has come, and then sets the next one, up to a tenth of a period
    /// later than regular.
    fn is_due(&mut self, now: u64, random: &mut Random) -> bool {
        let is_due = self.at <= now;
        if is_due {
            self.at = self.at + self.period + random.below(self.period / 10 + 1);
        }
        is_due
    }
}

/// Statistics of one kind of messages.
struct Kind {
    name: &'static str,
    sent: u64,
    answers: Figure,
}

impl Kind {
    const fn new(name: &'static str) -> Self {
        Self {
            name,
            sent: 0,
            answers: Figure::new(),
        }
    }
}

struct Worker<'a> {
    udp: Udp<'a, Card>,
    /// Single messages and messages of bursts.
    kinds: [Kind; 2],
    random: Random,
}

impl Worker<'_> {
    fn send(&mut self, kind: usize) {
        let mut message = [0; BYTES];
        let words = [kind as u64, clock::now()];
        for (place, word) in message.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let (address, port) = ECHO;
        let message = message.get(..length()).unwrap_or_default();
        let sent = self.udp.send(message, peer(address, port));
        self.kinds[kind].sent += u64::from(sent);
    }

    /// Takes the received answers.
    fn take(&mut self) {
        let mut message = [0; BYTES];
        while self.udp.take() {
            while let Some((received, _)) = self.udp.receive(&mut message) {
                if received != length() {
                    continue;
                }
                let mut words = message.chunks_exact(8).map(|bytes| {
                    let bytes = bytes.try_into().unwrap_or([0; 8]);
                    u64::from_le_bytes(bytes)
                });
                let (kind, sent) = (words.next().unwrap_or(0), words.next().unwrap_or(0));
                if let Some(kind) = self.kinds.get_mut(kind as usize) {
                    let passed = clock::now().saturating_sub(sent);
                    let ns = u128::from(passed) * 1_000_000_000 / u128::from(clock::frequency());
                    kind.answers.add(ns as u64);
                }
            }
        }
    }

    fn report(&self) {
        for kind in &self.kinds {
            println!("{} sent={}", kind.name, kind.sent);
            kind.answers.print(kind.name);
        }
    }
}

/// Bytes of a message, from the arguments.
fn length() -> usize {
    LENGTH.load(Relaxed) as usize
}

extern "C" fn work(_: u64) -> ! {
    let card = CARD.with(&THREADS, Option::take).ok().flatten();
    let buffers = BUFFERS.lock(&THREADS, NEVER);
    let (Some(card), Ok(mut buffers)) = (card, buffers) else {
        panic!("no card")
    };
    let mut storage = [SocketStorage::EMPTY];
    let mut worker = Worker {
        udp: Udp::open(card, &mut buffers, ADDRESS, PORT, &mut storage),
        kinds: [Kind::new("single"), Kind::new("burst")],
        random: Random::new(SEED),
    };
    let mut single = Due::every(PERIOD.load(Relaxed));
    let mut burst = Due::every(BURST.load(Relaxed));
    let gap = ticks(GAP.load(Relaxed));
    let (mut active, mut next) = (0, NEVER);
    let mut report = Due::every(1_000_000_000);
    loop {
        if !RAISED.load(Relaxed) {
            let until = single.at.min(burst.at).min(next).min(report.at);
            THREADS.block(until);
        }
        if RAISED.swap(false, Relaxed) {
            worker.udp.wire().acknowledge();
            worker.take();
            // Rejected if no interrupt is held: then the next one will be.
            let _held = call(first::INTERRUPT, Operation::Complete, [LINE.load(Relaxed)]);
        }
        let now = clock::now();
        if single.is_due(now, &mut worker.random) {
            worker.send(0);
        }
        if burst.is_due(now, &mut worker.random) {
            (active, next) = (MESSAGES.load(Relaxed), now);
        }
        if next <= now {
            worker.send(1);
            active -= 1;
            next = if active == 0 { NEVER } else { now + gap };
        }
        if report.is_due(now, &mut worker.random) {
            worker.report();
        }
    }
}
