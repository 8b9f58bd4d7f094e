//! Cost of a switch between two threads of one VCPU with a budget that the kernel enforces
//!
//! Each yields to the other: the decision and the switch, in user mode. Prints the grants that the kernel made meanwhile,
//! too: none, because the budget in force does not change.

use crate::threads::{DONE, THREADS, counter, ticks};
use bulkhead_abi::kernel::Status;
use bulkhead_component::dispatch::scb;
use bulkhead_component::figure::Figure;
use bulkhead_component::{First, clock, println};
use bulkhead_sched::NEVER;
use bulkhead_sched::budget::Capacity;
use bulkhead_sched::policy::Binding;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// C and T of the VCPU, microseconds: the measurement ends within one budget.
const LIMITS: [u64; 2] = [1_000_000, 2_000_000];
/// Switches before the measurement: the two threads have not left in user mode yet.
const SETTLING: u64 = 2;

static ROUNDS: AtomicU64 = AtomicU64::new(0);
static BEGAN: AtomicU64 = AtomicU64::new(0);

pub(crate) fn measure(first: &mut First, rounds: u64) -> Result<(), Status> {
    ROUNDS.store(rounds, Relaxed);
    let [capacity, period] = LIMITS.map(ticks);
    let limits = Capacity { capacity, period };
    let vcpu = THREADS.with_policy(|policy, now| policy.add_main(limits, now));
    let vcpu = vcpu.map_err(|_| Status::BadArgument)?;
    THREADS.enforce(first, vcpu)?;
    THREADS.spawn(first, receive, Binding::main(vcpu))?;
    THREADS.spawn(first, send, Binding::main(vcpu))?;
    THREADS.run(NEVER);
    Ok(())
}

extern "C" fn send(_: u64) -> ! {
    loop {
        BEGAN.store(clock::cycles(), Relaxed);
        THREADS.yield_now();
    }
}

extern "C" fn receive(_: u64) -> ! {
    let mut figure = Figure::new();
    let mut grants = 0;
    for round in 0..ROUNDS.load(Relaxed) + SETTLING {
        THREADS.yield_now();
        let instructions = counter().between(BEGAN.load(Relaxed), clock::cycles());
        if round == SETTLING - 1 {
            grants = scb().grants.load(Relaxed);
        }
        if round >= SETTLING {
            figure.add(instructions);
        }
    }
    let grants = scb().grants.load(Relaxed) - grants;
    figure.print("switch");
    Figure::of(1, grants, grants).print("grants");
    println!("{DONE}");
    loop {
        THREADS.block(NEVER);
    }
}
