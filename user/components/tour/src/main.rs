//! A tour of `SliteOS`: each station prints its results
//!
//! `systems/slite/tour` is the same program in C. The argument word `policy=` selects the policy.
#![no_std]
#![no_main]

use bulkhead_abi::kernel::{Operation, Status, first};
use bulkhead_component::call::call;
use bulkhead_component::first::argument_text;
use bulkhead_component::{First, clock, console, println};
use bulkhead_sched::policy::{Chosen, Task};
use bulkhead_slite::{
    Events, Expiry, Mutex, NEVER, Periodic, Queue, Semaphore, Threads, TimedOut, Timers, Wish,
};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

bulkhead_component::component!(run);

const CAPACITY: usize = 8;
const DRIVER: u64 = 1;
const HIGH: u64 = 2;
const MIDDLE: u64 = 3;
/// Event flag of the peer's doorbell.
const RUNG: u32 = 8;

static THREADS: Threads<Chosen<CAPACITY>, CAPACITY> = Threads::new(Chosen::new());
static QUEUE: Queue<u64, 4> = Queue::new(0);
static MUTEX: Mutex<()> = Mutex::new(());
static OTHER: Mutex<()> = Mutex::new(());
static UNITS: Semaphore = Semaphore::new(0, 2);
static DONE: Semaphore = Semaphore::new(0, 1);
static EVENTS: Events = Events::new();
static TIMERS: Timers<4> = Timers::new();
/// The driver's receive end, and the send capability to it.
static LINE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// Receive end and number of the peer's doorbell.
static BELL: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
static NOTIFIED: AtomicU64 = AtomicU64::new(0);
static EXPIRIES: AtomicU64 = AtomicU64::new(0);

fn run(mut first: First) -> ! {
    if let Err(status) = start(&mut first) {
        panic!("{status:?}");
    }
    THREADS.run(NEVER);
    unreachable!("the driver listens")
}

fn start(first: &mut First) -> Result<(), Status> {
    let info = first.guest_info()?;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    THREADS.prepare(first)?;
    if let Some(name) = argument_text(&info, "policy") {
        let quantum = clock::frequency() / 1000;
        if !THREADS.with_policy(|policy, _| policy.choose(name, quantum)) {
            return Err(Status::BadArgument);
        }
    }
    THREADS.spawn(first, driver, task(1))?;
    THREADS.spawn(first, high, task(2))?;
    THREADS.spawn(first, middle, task(3))?;
    THREADS.spawn(first, low, task(4))?;
    THREADS.spawn(first, timers, task(1))?;
    let sides = THREADS.receive_end(first, DRIVER)?;
    for (place, side) in LINE.iter().zip(sides) {
        place.store(side, Relaxed);
    }
    let channel = info.channels.first().ok_or(Status::Nothing)?;
    let server = THREADS.spawn(first, serve_interrupts, task(1))?;
    let [receive, send] = THREADS.receive_end(first, server)?;
    let listen = [channel.doorbell_in.into(), send];
    call(first::INTERRUPT, Operation::Listen, listen)?;
    for (place, word) in BELL.iter().zip([receive, channel.doorbell_out.into()]) {
        place.store(word, Relaxed);
    }
    call(first::MONITOR, Operation::Up, [])?;
    Ok(())
}

/// Parameters of a thread with that priority for any policy.
fn task(priority: u8) -> Task {
    let millisecond = clock::frequency() / 1000;
    Task {
        priority,
        deadline: u64::from(priority) * millisecond,
        budget: millisecond,
        period: 4 * millisecond,
    }
}

fn after_ms(ms: u64) -> u64 {
    clock::now() + ms * clock::frequency() / 1000
}

/// Interrupt thread: the peer's doorbell runs it immediately; it sets the event.
extern "C" fn serve_interrupts(_: u64) -> ! {
    loop {
        let _merged = THREADS.wait_notified(BELL[0].load(Relaxed));
        EVENTS.set(&THREADS, RUNG);
    }
}

/// Driver thread: handles notifications of another thread.
extern "C" fn driver(_: u64) -> ! {
    loop {
        let count = THREADS.wait_notified(LINE[0].load(Relaxed)).unwrap_or(0);
        NOTIFIED.fetch_add(count, Relaxed);
        EVENTS.set(&THREADS, 1);
    }
}

extern "C" fn timers(_: u64) -> ! {
    TIMERS.serve(&THREADS)
}

fn expired(_: u64, _: u64) {
    if EXPIRIES.fetch_add(1, Relaxed) % 3 == 2 {
        let _given_already = DONE.give(&THREADS);
    }
}

/// The thread with the highest priority: consumes, contends, and is served first.
extern "C" fn high(_: u64) -> ! {
    let sum: u64 = (0..3).map(|_| QUEUE.receive(&THREADS)).sum();
    let late = QUEUE.receive_until(&THREADS, after_ms(1));
    println!("queue: sum {sum}, then {late:?}");
    THREADS.block(NEVER);
    let taken = MUTEX.with(&THREADS, |()| println!("mutex: high has it"));
    assert_eq!(taken, Ok(()));
    UNITS.take(&THREADS);
    println!("semaphore: high");
    THREADS.exit()
}

extern "C" fn middle(_: u64) -> ! {
    THREADS.block(NEVER);
    println!("mutex: middle runs after it");
    UNITS.take(&THREADS);
    println!("semaphore: middle");
    // Holds the mutex that the low thread requests, and requests the one that the low thread holds.
    let held = OTHER.lock(&THREADS, NEVER);
    THREADS.block(NEVER);
    let refused = MUTEX.lock(&THREADS, NEVER).map(drop);
    println!("deadlock: {refused:?}");
    drop(held);
    THREADS.exit()
}

extern "C" fn low(_: u64) -> ! {
    for number in 1..=3 {
        let _never_full = QUEUE.send(&THREADS, &number);
    }
    THREADS.sleep_until(after_ms(3));
    contend();
    notify();
    expire();
    repeat();
    ring();
    println!("the tour ends");
    THREADS.exit()
}

fn contend() {
    let guard = MUTEX.lock(&THREADS, NEVER);
    THREADS.wakeup(HIGH);
    THREADS.wakeup(MIDDLE);
    println!("mutex: low still has it");
    drop(guard);
    println!("semaphore: late {:?}", DONE.wait(&THREADS, after_ms(1)));
    for _ in 0..2 {
        let _never_full = UNITS.give(&THREADS);
    }
    let guard = MUTEX.lock(&THREADS, NEVER);
    THREADS.wakeup(MIDDLE);
    // The middle thread holds the other mutex and now waits for this one: it inherits the priority,
    // and the thread that closes the circle gets an error.
    let closed = OTHER.lock(&THREADS, NEVER).map(drop);
    println!("deadlock: low {closed:?}");
    drop(guard);
}

fn notify() {
    let _sent = call(LINE[1].load(Relaxed), Operation::Send, []);
    let found = EVENTS.wait(&THREADS, Wish::all(1), NEVER);
    let late = EVENTS.wait(&THREADS, Wish::any(6), after_ms(1));
    assert_eq!(late, Err(TimedOut));
    println!(
        "events: {} notified, found {found:?}, then {late:?}",
        NOTIFIED.load(Relaxed)
    );
}

fn expire() {
    let millisecond = clock::frequency() / 1000;
    for (timer, period) in [(0, millisecond), (1, 0)] {
        let expiry = Expiry {
            period,
            action: expired,
            argument: 0,
        };
        TIMERS.start(&THREADS, timer, after_ms(1), expiry);
    }
    DONE.take(&THREADS);
    println!(
        "timers: {} expiries, stopped {} {}",
        EXPIRIES.load(Relaxed),
        TIMERS.stop(&THREADS, 0),
        TIMERS.stop(&THREADS, 1)
    );
}

/// Rings the peer until it has rung back, and once more, because it may have started later.
fn ring() {
    let ring = || {
        let _within_limit = call(first::MONITOR, Operation::Ring, [BELL[1].load(Relaxed)]);
    };
    let heard = (0..100).find_map(|_| {
        ring();
        EVENTS.wait(&THREADS, Wish::all(RUNG), after_ms(1)).ok()
    });
    ring();
    println!("interrupts: heard {heard:?}");
}

fn repeat() {
    let millisecond = clock::frequency() / 1000;
    let mut task = Periodic::new(after_ms(1), millisecond);
    let late_by = |task: &mut Periodic| {
        let release = task.wait(&THREADS);
        clock::now() - release
    };
    let worst = (0..10).map(|_| late_by(&mut task)).max();
    let end = after_ms(3);
    while clock::now() < end {}
    task.wait(&THREADS);
    println!(
        "periodic: in time {}, overruns {}",
        worst < Some(millisecond / 20),
        task.overruns()
    );
}
