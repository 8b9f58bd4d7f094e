//! Budget that the runtime uses for a job, as the kernel meters it
//!
//! Jobs without code of their own, one per period, while another thread computes. A sporadic budget lists what each job
//! used as a chunk that comes back later: the last one is the previous job's, from its release to its next wait.

use crate::threads::{DONE, STEP, THREADS, spawn, ticks};
use bulkhead_abi::kernel::Status;
use bulkhead_component::figure::Figure;
use bulkhead_component::{First, clock, println};
use bulkhead_sched::NEVER;
use bulkhead_sched::policy::{ServerId, VcpuBudget};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// C and T of the VCPUs of the jobs and of the other thread, microseconds.
const LIMITS: [[u64; 2]; 2] = [[5000, 10_000], [10_000, 25_000]];
/// From release to release, microseconds: what the last four jobs used is not back yet, and no two chunks are merged.
const PERIOD: u64 = 2500;
/// Jobs before the measurement.
const SETTLING: u64 = 4;

static ROUNDS: AtomicU64 = AtomicU64::new(0);
/// Cycles of a tick of the clock, in hundredths.
static CYCLES: AtomicU64 = AtomicU64::new(0);

pub(crate) fn measure(first: &mut First, rounds: u64) -> Result<(), Status> {
    ROUNDS.store(rounds, Relaxed);
    let (ticks_before, cycles_before) = (clock::now(), clock::cycles());
    while clock::now() - ticks_before < ticks(1000) {}
    let (ticks, cycles) = (clock::now() - ticks_before, clock::cycles() - cycles_before);
    CYCLES.store(cycles * 100 / ticks, Relaxed);
    let [of_jobs, of_other] = LIMITS;
    spawn(first, work, of_jobs)?;
    spawn(first, compute, of_other)?;
    THREADS.run(NEVER);
    Ok(())
}

extern "C" fn compute(_: u64) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

extern "C" fn work(_: u64) -> ! {
    let mut figure = Figure::new();
    let mut release = clock::now() + ticks(PERIOD);
    for number in 0..ROUNDS.load(Relaxed) + SETTLING {
        THREADS.block(release);
        release += ticks(PERIOD);
        if number >= SETTLING {
            figure.add(used_by_last_job());
        }
    }
    figure.print("job");
    println!("{DONE}");
    loop {
        THREADS.block(NEVER);
    }
}

/// Instructions; zero if the budget lists no job.
fn used_by_last_job() -> u64 {
    let used = THREADS.with_policy(|policy, _| match policy.servers().budget(ServerId(0)) {
        Some(VcpuBudget::Main(budget)) => budget.chunks().last().map_or(0, |chunk| chunk.amount),
        _ => 0,
    });
    let step = STEP.load(Relaxed).max(1);
    (used * CYCLES.load(Relaxed)).div_ceil(100 * step)
}
