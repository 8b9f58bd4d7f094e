//! Measures the accuracy of budget enforcement, and the cost of a decision
//!
//! Threads that never wait, each on a VCPU of its own, read the cycle counter in a loop. Between a
//! thread's first read and its last before a gap it executed; the time between the last read of one
//! thread and the first of the next is the cost of the switch between VCPUs, including the
//! scheduler's decision. Prints lines `bench NAME N AVERAGE WORST`, the average in hundredths.
#![no_std]
#![no_main]

mod decision;
mod enforcement;
mod equivalence;

use bulkhead_abi::kernel::{Operation, Status, first};
use bulkhead_abi::timing::MAX_CHUNKS;
use bulkhead_component::call::call;
use bulkhead_component::figure::Counter;
use bulkhead_component::first::argument;
use bulkhead_component::{First, clock, console, println};
use bulkhead_sched::budget::Capacity;
use bulkhead_sched::policy::Binding;
use bulkhead_sched::policy::Vcpus;
use bulkhead_slite::Threads;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

bulkhead_component::component!(run);

/// Ends the run.
const DONE: &str = "bench done";
/// Maximum number of VCPUs, with a thread on each.
const MOST: usize = 64;

static THREADS: Threads<Vcpus<MOST, MOST, MAX_CHUNKS>, MOST> = Threads::new(Vcpus::new(false));
/// Cycles of one instruction.
static STEP: AtomicU64 = AtomicU64::new(1);

fn counter() -> Counter {
    Counter::of_step(STEP.load(Relaxed))
}

fn run(mut first: First) -> ! {
    if let Err(status) = measure(&mut first) {
        println!("stopped: {status:?}");
        let _gone = call(first::MONITOR, Operation::Fail, [status as u64]);
    }
    loop {
        clock::wait_for_interrupt();
    }
}

fn measure(first: &mut First) -> Result<(), Status> {
    let info = first.guest_info()?;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    let rounds = argument(&info, "rounds").unwrap_or(1000);
    STEP.store(Counter::calibrated().step(), Relaxed);
    THREADS.prepare(first)?;
    call(first::MONITOR, Operation::Up, [])?;
    match (argument(&info, "decisions"), argument(&info, "vcpus")) {
        (Some(steps), _) => equivalence::measure(steps),
        (None, Some(vcpus)) => decision::measure(first, vcpus, rounds),
        (None, None) => enforcement::measure(first, rounds),
    }
}

/// A thread on a VCPU of its own, `[C, T]` in microseconds.
fn spawn(
    first: &mut First,
    entry: extern "C" fn(u64) -> !,
    limits: [u64; 2],
) -> Result<(), Status> {
    let [capacity, period] = limits.map(ticks);
    let limits = Capacity { capacity, period };
    let vcpu = THREADS.with_policy(|policy, now| policy.add_main(limits, now));
    let vcpu = vcpu.map_err(|_| Status::BadArgument)?;
    THREADS.enforce(first, vcpu)?;
    THREADS.spawn(first, entry, Binding::main(vcpu)).map(drop)
}

fn ticks(us: u64) -> u64 {
    us * clock::frequency() / 1_000_000
}
