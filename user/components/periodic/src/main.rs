//! A subsystem of periodic threads
//!
//! Two threads under rate-monotonic priorities, scheduled within the component. The page shared
//! with the parent contains their results: for each the number of jobs and the longest response, in
//! ticks from the release.
#![no_std]
#![no_main]

use bulkhead_component::{First, clock, first};
use bulkhead_sched::policy::{FixedPriority, Preemptive, Priority};
use bulkhead_slite::{Threads, run_nested};
use core::hint::black_box;
use core::sync::atomic::Ordering::Relaxed;

bulkhead_component::component!(run);

const CAPACITY: usize = 4;
static THREADS: Threads<FixedPriority<Preemptive, CAPACITY>, CAPACITY> =
    Threads::new(FixedPriority::new(Preemptive));

/// Period in microseconds and execution time in steps of a few instructions, of thread 1 and 2.
const TASKS: [[u64; 2]; 2] = [[1000, 3000], [4000, 12_000]];

fn run(mut first: First) -> ! {
    let Ok(()) = start(&mut first) else {
        panic!("no threads")
    };
    let Err(status) = run_nested(&THREADS);
    panic!("{status:?}")
}

fn start(first: &mut First) -> Result<(), bulkhead_abi::kernel::Status> {
    THREADS.prepare(first)?;
    THREADS.spawn(first, task, Priority(1))?;
    THREADS.spawn(first, task, Priority(2))?;
    Ok(())
}

/// Thread 1 or 2: a job each period.
extern "C" fn task(index: u64) -> ! {
    let number = index as usize - 1;
    let [period_us, steps] = TASKS.get(number).copied().unwrap_or([1; 2]);
    let period = period_us * clock::frequency() / 1_000_000;
    let [jobs, worst] = [0, 1].map(|word| &first::shared()[2 * number + word]);
    // Releases are multiples of the period, like the parent's notifications; the period in which
    // the subsystem itself started does not count.
    let mut release = clock::now().next_multiple_of(period) + period;
    loop {
        THREADS.sleep_until(release);
        for step in 0..steps {
            black_box(step);
        }
        let response = clock::now() - release;
        worst.store(worst.load(Relaxed).max(response), Relaxed);
        jobs.store(jobs.load(Relaxed) + 1, Relaxed);
        release += period;
    }
}
