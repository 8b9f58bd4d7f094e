//! Measures notifications between threads of two cores
//!
//! On each core a thread waits at its receive end; a thread with a lower priority sleeps. The first
//! core's thread notifies the other's and waits for the answer. A round trip is two notifications
//! across cores with everything that belongs to them: call, interrupt, both switches, both waits.
//! The cycle counter of an instruction-counted machine counts the instructions of both cores and
//! stands still while both sleep, so the figure is the *sum of both cores' instructions*, not a
//! latency.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "a scheduler's block is found by its address")]

use bulkhead_abi::dispatch::Scb;
use bulkhead_abi::kernel::{ALL, Operation, Status, WAIT, first};
use bulkhead_component::call::call;
use bulkhead_component::dispatch::{scb, through_kernel};
use bulkhead_component::first::argument;
use bulkhead_component::{First, clock, console, println};
use core::convert::Infallible;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

bulkhead_component::component!(run);

/// Indices of the threads, under the root scheduler of either core, and the priorities of their
/// time.
const WAITER: [u64; 2] = [1, 10];
const SLEEPER: [u64; 2] = [2, 20];
/// Rounds before both threads meet in the steady state.
const WARM_UP: u64 = 2;

/// Slots of one core's threads, and pages for their time. Written before they run.
struct Side {
    scb: AtomicU64,
    scheduler: AtomicU64,
    time: AtomicU64,
    waiter: AtomicU64,
    sleeper: AtomicU64,
    times: [[AtomicU64; 2]; 2],
    receive: AtomicU64,
    /// Send capability to the other side.
    peer: AtomicU64,
    ready: AtomicU64,
}

impl Side {
    const fn new() -> Self {
        Self {
            scb: AtomicU64::new(0),
            scheduler: AtomicU64::new(0),
            time: AtomicU64::new(0),
            waiter: AtomicU64::new(0),
            sleeper: AtomicU64::new(0),
            times: [const { [const { AtomicU64::new(0) }; 2] }; 2],
            receive: AtomicU64::new(0),
            peer: AtomicU64::new(0),
            ready: AtomicU64::new(0),
        }
    }

    /// Creates its threads. Returns the send capability to the waiting one.
    fn furnish(
        &self,
        first: &mut First,
        waiter: extern "C" fn(u64) -> !,
        [scheduler, time]: [u64; 2],
        scb: &Scb,
    ) -> Result<u64, Status> {
        let waiter = first.unbound_thread(waiter)?;
        let sleeper = first.unbound_thread(sleep)?;
        let [receive, sender] = [first.slot(), first.slot()];
        call(waiter, Operation::Receiver, [receive])?;
        call(waiter, Operation::Sender, [sender])?;
        for [page, slot] in &self.times {
            page.store(first.page(), Relaxed);
            slot.store(first.slot(), Relaxed);
        }
        for (word, value) in [
            (
                &self.scb,
                core::ptr::from_ref(scb).expose_provenance() as u64,
            ),
            (&self.scheduler, scheduler),
            (&self.time, time),
            (&self.waiter, waiter),
            (&self.sleeper, sleeper),
            (&self.receive, receive),
        ] {
            word.store(value, Relaxed);
        }
        Ok(sender)
    }

    fn epoch(&self) -> u64 {
        let scb: *const Scb = core::ptr::with_exposed_provenance(self.scb.load(Relaxed) as usize);
        // SAFETY: mapped for good; all of it is atomic.
        unsafe { &*scb }.epoch.load(Relaxed)
    }

    /// Runs the core's threads, each on time of its own: first the waiting one, until it waits.
    fn run(&self, before_waiting: impl FnOnce()) -> Result<Infallible, Status> {
        let [waiter, sleeper] = [&self.waiter, &self.sleeper].map(|slot| slot.load(Relaxed));
        let threads = [(waiter, WAITER), (sleeper, SLEEPER)];
        for ((thread, [index, priority]), [page, time]) in threads.into_iter().zip(&self.times) {
            let [page, time] = [page, time].map(|word| word.load(Relaxed));
            let words = [page, time, self.time.load(Relaxed), ALL, priority];
            call(first::MEMORY, Operation::MakeTime, words)?;
            let words = [self.scheduler.load(Relaxed), index, time];
            call(thread, Operation::Bind, words)?;
        }
        before_waiting();
        let [[_, waiters], [_, sleepers]] = &self.times;
        through_kernel(waiter, waiters.load(Relaxed), self.epoch())?;
        self.ready.store(1, Release);
        loop {
            // Rejected if the waiting thread was notified in between.
            let _again = through_kernel(sleeper, sleepers.load(Relaxed), self.epoch());
        }
    }

    fn notify(&self) {
        let _sent = call(self.peer.load(Relaxed), Operation::Send, []);
    }

    fn wait(&self) -> u64 {
        call(self.receive.load(Relaxed), Operation::Receive, [WAIT]).unwrap_or(0)
    }
}

static FIRST: Side = Side::new();
static OTHER: Side = Side::new();
static ROUNDS: AtomicU64 = AtomicU64::new(0);

fn run(mut first: First) -> ! {
    let Err(status) = begin(&mut first);
    fail(status)
}

fn fail(status: Status) -> ! {
    println!("stopped: {status:?}");
    let _gone = call(first::MONITOR, Operation::Fail, [status as u64]);
    sleep(0)
}

fn begin(first: &mut First) -> Result<Infallible, Status> {
    let info = first.guest_info()?;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    ROUNDS.store(argument(&info, "rounds").unwrap_or(1000), Relaxed);
    call(first::MONITOR, Operation::Up, [])?;
    let root = first.prepare_core(1)?;
    let objects = [first::SCHEDULER, first::TIME];
    let asks = FIRST.furnish(first, ask, objects, scb())?;
    let answers = OTHER.furnish(first, answer, [root.scheduler, root.time], root.scb)?;
    FIRST.peer.store(answers, Relaxed);
    OTHER.peer.store(asks, Relaxed);
    first.start_core(1, further, 0)?;
    FIRST.run(|| {
        while OTHER.ready.load(Acquire) == 0 {
            core::hint::spin_loop();
        }
    })
}

/// The root thread of the other core.
extern "C" fn further(_: u64) -> ! {
    let Err(status) = OTHER.run(|| ());
    fail(status)
}

extern "C" fn sleep(_: u64) -> ! {
    loop {
        clock::wait_for_interrupt();
    }
}

extern "C" fn answer(_: u64) -> ! {
    loop {
        OTHER.wait();
        OTHER.notify();
    }
}

/// Pings again and again, once the other threads sleep.
extern "C" fn ask(_: u64) -> ! {
    let rounds = ROUNDS.load(Relaxed);
    let step = (0..16)
        .map(|_| {
            let start = clock::cycles();
            clock::cycles().wrapping_sub(start)
        })
        .min()
        .unwrap_or(1)
        .max(1);
    let [mut sum, mut worst, mut lost] = [0; 3];
    for round in 0..WARM_UP + rounds {
        // If the emulator switched cores while the other core was between its answer and its wait,
        // that path would be counted in this round instead of the last.
        clock::let_others_run();
        let start = clock::cycles();
        FIRST.notify();
        let count = FIRST.wait();
        // Without the read of the counter; half of it is one way.
        let instructions = ((clock::cycles() - start) / step).saturating_sub(1) / 2;
        lost += u64::from(count != 1);
        if round >= WARM_UP {
            sum += instructions;
            worst = worst.max(instructions);
        }
    }
    println!("wrong counts: {lost}");
    println!(
        "bench notify-across {rounds} {} {worst}",
        sum * 100 / rounds.max(1)
    );
    println!("bench done");
    sleep(0)
}
