//! Queues and mutexes within one component, without the kernel

use bulkhead_abi::kernel::Status;
use bulkhead_component::figure::{Counter, Figure};
use bulkhead_component::{First, clock, println};
use bulkhead_sched::NEVER;
use bulkhead_sched::policy::{FixedPriority, Preemptive, Priority};
use bulkhead_slite::{Mutex, Queue, Threads};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

const CAPACITY: usize = 8;
static THREADS: Threads<FixedPriority<Preemptive, CAPACITY>, CAPACITY> =
    Threads::new(FixedPriority::new(Preemptive));

/// 32 bytes; the message contains the time at which it was sent.
type Message = [u64; 4];
static QUEUE: Queue<Message, 4> = Queue::new([0; 4]);
/// A queue at which no thread waits.
static LOCAL: Queue<Message, 4> = Queue::new([0; 4]);
static MUTEX: Mutex<u64> = Mutex::new(0);

static ROUNDS: AtomicU64 = AtomicU64::new(0);
static STEP: AtomicU64 = AtomicU64::new(1);

fn counter() -> Counter {
    Counter::of_step(STEP.load(Relaxed))
}

pub(crate) fn measure(first: &mut First, counter: Counter, rounds: u64) -> Result<(), Status> {
    ROUNDS.store(rounds, Relaxed);
    STEP.store(counter.step(), Relaxed);
    THREADS.prepare(first)?;
    THREADS.spawn(first, consume, Priority(1))?;
    THREADS.spawn(first, produce, Priority(2))?;
    THREADS.run(NEVER);
    Ok(())
}

/// Receives messages of a thread with a lower priority.
extern "C" fn consume(_: u64) -> ! {
    let mut figure = Figure::new();
    for round in 0..ROUNDS.load(Relaxed) + 2 {
        let [began, ..] = QUEUE.receive(&THREADS);
        let instructions = counter().between(began, clock::cycles());
        if round > 1 {
            // Earlier, the two threads have not left each other in user mode yet.
            figure.add(instructions);
        }
    }
    figure.print("queue-low-high");
    contend()
}

extern "C" fn produce(_: u64) -> ! {
    for _ in 0..ROUNDS.load(Relaxed) + 2 {
        let _never_full = QUEUE.send(&THREADS, &[clock::cycles(), 1, 2, 3]);
    }
    let mut figure = Figure::new();
    for _ in 0..ROUNDS.load(Relaxed) {
        let start = clock::cycles();
        let _never_full = LOCAL.send(&THREADS, &[start, 1, 2, 3]);
        let [sent, ..] = LOCAL.receive(&THREADS);
        let instructions = counter().since(start);
        figure.add(instructions + u64::from(sent != start));
    }
    figure.print("queue-local");
    let mut figure = Figure::new();
    for _ in 0..ROUNDS.load(Relaxed) {
        let start = clock::cycles();
        let _free = MUTEX.with(&THREADS, |value| *value += 1);
        figure.add(counter().since(start));
    }
    figure.print("mutex");
    contend_low()
}

/// The thread with higher priority: woken while the other one holds the mutex, it locks it.
fn contend() -> ! {
    let mut figure = Figure::new();
    for round in 0..ROUNDS.load(Relaxed) + 2 {
        THREADS.block(NEVER);
        let start = clock::cycles();
        let _taken = MUTEX.with(&THREADS, |value| *value += 1);
        let instructions = counter().since(start);
        if round > 1 {
            figure.add(instructions);
        }
    }
    figure.print("mutex-contended");
    loop {
        THREADS.block(NEVER);
    }
}

fn contend_low() -> ! {
    const CONSUMER: u64 = 1;
    for _ in 0..ROUNDS.load(Relaxed) + 2 {
        let _free = MUTEX.with(&THREADS, |value| {
            THREADS.wakeup(CONSUMER);
            *value += 1;
        });
    }
    println!(
        "mutex taken {} times",
        MUTEX.with(&THREADS, |value| *value).unwrap_or(0)
    );
    loop {
        THREADS.block(NEVER);
    }
}
