//! Preempts user-mode switches at every instruction
//!
//! Threads switch among each other in user mode without pause. The kernel preempts them at
//! instants that sweep over the switch, and the scheduler then continues any of them. This is the
//! experiment of `models/dispatch.pml` on the real instructions. Each thread keeps its own values
//! in integer and FP registers, on its stack and in memory, and counts changes.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "user-level switches between its own threads")]

use bulkhead_abi::kernel::{Operation, SAME_TIME, Status, first};
use bulkhead_component::call::call;
use bulkhead_component::dispatch::{Switched, Target, consume_events, dcb, scb, switch};
use bulkhead_component::first::argument;
use bulkhead_component::{First, clock, console, println};
use core::convert::Infallible;
use core::hint::black_box;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

bulkhead_component::component!(run);

/// Threads, of index 1, 2, …
const THREADS: usize = 3;
/// Longest stretch between two preemptions, ticks: the sweep.
const SWEEP: u64 = 97;
/// Minimum ticks of the path out of the kernel.
const WAY_OUT: u64 = 70;

static SLOTS: [AtomicU64; THREADS] = [const { AtomicU64::new(0) }; THREADS];
/// Completed switches of each thread, by its own count.
static ROUNDS: [AtomicU64; THREADS] = [const { AtomicU64::new(0) }; THREADS];
static REFUSED: AtomicU64 = AtomicU64::new(0);
static WRONG: AtomicU64 = AtomicU64::new(0);

fn run(mut first: First) -> ! {
    let Err(status) = sweep(&mut first);
    println!("stopped: {status:?}");
    let _gone = call(first::MONITOR, Operation::Fail, [status as u64]);
    loop {
        clock::wait_for_interrupt();
    }
}

fn sweep(first: &mut First) -> Result<Infallible, Status> {
    let info = first.guest_info()?;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    let preemptions = argument(&info, "preemptions").unwrap_or(20_000);
    for (index, slot) in (1..).zip(&SLOTS) {
        slot.store(first.thread(juggle, index, first::TIME)?, Relaxed);
    }
    call(first::MONITOR, Operation::Up, [])?;
    let mut again = 0;
    for preemption in 0..preemptions {
        // Any of them, not necessarily the one that was preempted.
        let slot = SLOTS[(preemption * 7 / 3) as usize % THREADS].load(Relaxed);
        consume_events(scb());
        let epoch = scb().epoch.load(Relaxed);
        let timeout = clock::now() + WAY_OUT + preemption % SWEEP;
        let mut value = black_box(preemption as f64);
        match call(slot, Operation::Dispatch, [SAME_TIME, timeout, epoch]) {
            Ok(_) => {}
            Err(Status::Stale) => again += 1,
            Err(status) => return Err(status),
        }
        value = black_box(value) + 1.0;
        if value != preemption as f64 + 1.0 {
            WRONG.fetch_add(1, Relaxed);
        }
    }
    let rounds: u64 = ROUNDS.iter().map(|rounds| rounds.load(Relaxed)).sum();
    let least = ROUNDS.iter().map(|rounds| rounds.load(Relaxed)).min();
    println!(
        "preempted {} times, switched {rounds} times, at least {} each, {} refused, wrong={}",
        preemptions - again,
        least.unwrap_or(0),
        REFUSED.load(Relaxed),
        WRONG.load(Relaxed)
    );
    loop {
        clock::wait_for_interrupt();
    }
}

/// Switches to the next thread, over and over.
extern "C" fn juggle(index: u64) -> ! {
    let number = index as usize - 1;
    let next = (number + 1) % THREADS;
    let target = Target {
        dcb: dcb(next + 1),
        index: next as u64 + 1,
        thread: SLOTS[next].load(Relaxed),
    };
    let mut count = 0_u64;
    let mut sum = index as f64;
    let mut product = -(index as f64);
    loop {
        let epoch = scb().epoch.load(Relaxed);
        // SAFETY: this is thread `index`, the other one is another.
        let switched = unsafe { switch(dcb(index as usize), target, scb(), epoch) };
        if switched == Switched::Refused {
            // An activation came in between; its event is pending until it is read.
            consume_events(scb());
            REFUSED.fetch_add(1, Relaxed);
        }
        let kept = ROUNDS[number].load(Relaxed) == count;
        count += 1;
        sum += 1.0;
        product -= 1.0;
        let exact = sum == (index + count) as f64 && product == -sum;
        if !(kept && exact) {
            WRONG.fetch_add(1, Relaxed);
        }
        ROUNDS[number].store(count, Relaxed);
    }
}
