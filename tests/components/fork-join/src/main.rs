//! Fork and join over all cores of a partition, by parking and unparking
//!
//! Each core has a scheduler of its own and a worker thread. The first core's thread gives each
//! worker a part of a sum, waits until the last one has finished, and checks the result. The
//! argument word `overflow=1` adds a thread that overflows its stack: the page below is not mapped,
//! and the stacks of the other threads lie above, so that they are not affected. With `fails=1` the
//! partition fails in the end.
#![no_std]
#![no_main]

use bulkhead_abi::kernel::{Operation, Status, first};
use bulkhead_component::call::call;
use bulkhead_component::first::argument;
use bulkhead_component::{First, clock, console, cores, println};
use bulkhead_sched::policy::{FixedPriority, Preemptive, Priority};
use bulkhead_slite::{CoreThreads, NEVER, Parker, start_core};
use core::hint::black_box;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

bulkhead_component::component!(run);

const CORES: usize = 4;
const CAPACITY: usize = 4;
/// Memory for the threads of a core.
const PAGES: u64 = 32;
/// Terms of the sum that one core adds up in a round.
const TERMS: u64 = 1000;

type Policy = FixedPriority<Preemptive, CAPACITY>;

static THREADS: [CoreThreads<Policy, CAPACITY>; CORES] =
    [const { CoreThreads::new(FixedPriority::new(Preemptive)) }; CORES];
/// Parkers of the workers, and of the thread that distributes the work.
static WORKERS: [Parker; CORES] = [const { Parker::new() }; CORES];
static MASTER: Parker = Parker::new();
/// Workers that can be unparked; the round; workers that have not finished; the sum; parts that
/// each core computed.
static READY: AtomicU64 = AtomicU64::new(0);
static ROUND: AtomicU64 = AtomicU64::new(0);
static BUSY: AtomicU64 = AtomicU64::new(0);
static SUM: AtomicU64 = AtomicU64::new(0);
static DONE: [AtomicU64; CORES] = [const { AtomicU64::new(0) }; CORES];
static SETTINGS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

fn run(mut first: First) -> ! {
    if let Err(status) = start(&mut first) {
        fail(status)
    }
    THREADS[0].run(NEVER);
    fail(Status::Nothing)
}

fn fail(status: Status) -> ! {
    println!("stopped: {status:?}");
    let _gone = call(first::MONITOR, Operation::Fail, [status as u64]);
    loop {
        clock::wait_for_interrupt();
    }
}

fn start(first: &mut First) -> Result<(), Status> {
    let info = first.guest_info()?;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    let count = u64::from(info.cores).min(CORES as u64);
    SETTINGS[0].store(count, Relaxed);
    SETTINGS[1].store(argument(&info, "rounds").unwrap_or(100), Relaxed);
    SETTINGS[2].store(argument(&info, "fails").unwrap_or(0), Relaxed);
    populate(first)?;
    let index = THREADS[0].spawn(first, master, Priority(2))?;
    MASTER.attach(&THREADS[0], first, index)?;
    if argument(&info, "overflow").is_some() {
        THREADS[0].spawn(first, overflow, Priority(0))?;
    }
    for rank in 1..count {
        start_core(first, rank, PAGES, further)?;
    }
    Ok(())
}

/// First thread of a further core.
fn further(mut first: First) -> ! {
    if let Err(status) = populate(&mut first) {
        fail(status)
    }
    THREADS[cores::rank() as usize].run(NEVER);
    fail(Status::Nothing)
}

/// The worker of the calling core.
fn populate(first: &mut First) -> Result<(), Status> {
    let rank = cores::rank() as usize;
    THREADS[rank].prepare(first)?;
    let index = THREADS[rank].spawn(first, work, Priority(1))?;
    WORKERS[rank].attach(&THREADS[rank], first, index)?;
    READY.fetch_add(1, Release);
    Ok(())
}

extern "C" fn work(_: u64) -> ! {
    let rank = cores::rank() as usize;
    loop {
        if let Err(status) = WORKERS[rank].park(&THREADS[rank]) {
            fail(status)
        }
        let from = (ROUND.load(Acquire) * CORES as u64 + rank as u64) * TERMS;
        SUM.fetch_add((from..from + TERMS).sum(), Relaxed);
        DONE[rank].fetch_add(1, Relaxed);
        if BUSY.fetch_sub(1, AcqRel) == 1 && MASTER.unpark().is_err() {
            fail(Status::NoCapability)
        }
    }
}

extern "C" fn overflow(_: u64) -> ! {
    fn deeper(depth: u64) -> u64 {
        let frame = black_box([depth; 16]);
        match black_box(depth) {
            u64::MAX => 0,
            depth => deeper(depth + 1) + black_box(frame)[0],
        }
    }
    black_box(deeper(0));
    fail(Status::Ok)
}

extern "C" fn master(_: u64) -> ! {
    let [count, rounds] = [0, 1].map(|place| SETTINGS[place].load(Relaxed));
    while READY.load(Acquire) != count {
        THREADS[0].sleep_until(clock::now() + clock::frequency() / 1000);
    }
    let _up = call(first::MONITOR, Operation::Up, []);
    let mut wrong = 0;
    for round in 0..rounds {
        SUM.store(0, Relaxed);
        BUSY.store(count, Relaxed);
        ROUND.store(round, Release);
        for worker in WORKERS.iter().take(count as usize) {
            if let Err(status) = worker.unpark() {
                fail(status)
            }
        }
        if let Err(status) = MASTER.park(&THREADS[0]) {
            fail(status)
        }
        let ranks = 0..count;
        let pieces = ranks.map(|rank| (round * CORES as u64 + rank) * TERMS);
        let expected: u64 = pieces.map(|from| (from..from + TERMS).sum::<u64>()).sum();
        wrong += u64::from(SUM.load(Relaxed) != expected || BUSY.load(Acquire) != 0);
    }
    let [first, second, ..] = DONE.each_ref().map(|done| done.load(Relaxed));
    println!("workers: cores={count} rounds={rounds} wrong={wrong} pieces={first},{second}");
    if SETTINGS[2].load(Relaxed) != 0 {
        let _gone = call(first::MONITOR, Operation::Fail, [1]);
    }
    THREADS[0].exit()
}
