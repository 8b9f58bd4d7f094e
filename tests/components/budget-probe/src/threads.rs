//! The scheduler under measurement and its threads

use bulkhead_abi::kernel::Status;
use bulkhead_abi::timing::MAX_CHUNKS;
use bulkhead_component::figure::Counter;
use bulkhead_component::{First, clock};
use bulkhead_sched::budget::Capacity;
use bulkhead_sched::policy::Binding;
use bulkhead_sched::policy::Vcpus;
use bulkhead_slite::Threads;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Ends the run.
pub(super) const DONE: &str = "bench done";

/// Maximum number of VCPUs, with a thread on each.
pub(super) const MOST: usize = 64;

pub(super) static THREADS: Threads<Vcpus<MOST, MOST, MAX_CHUNKS>, MOST> =
    Threads::new(Vcpus::new(false));

/// Cycles of one instruction.
pub(super) static STEP: AtomicU64 = AtomicU64::new(1);

pub(super) fn counter() -> Counter {
    Counter::of_step(STEP.load(Relaxed))
}

/// A thread on a VCPU of its own, `[C, T]` in microseconds.
pub(super) fn spawn(
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

pub(super) fn ticks(us: u64) -> u64 {
    us * clock::frequency() / 1_000_000
}
