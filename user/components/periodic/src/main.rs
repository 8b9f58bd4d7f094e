//! A subsystem of periodic threads
//!
//! Two threads under rate-monotonic priorities, scheduled within the component. What they did stands
//! in the page shared with who started them: for each the jobs done and the longest response, in
//! ticks from the release.
#![no_std]
#![no_main]

use bulkhead_component::{First, clock, first};
use bulkhead_sched::policy::{FixedPriority, Preemptive, Priority};
use bulkhead_slite::Threads;
use core::sync::atomic::Ordering::Relaxed;

bulkhead_component::component!(run);

const CAPACITY: usize = 4;
static THREADS: Threads<FixedPriority<Preemptive, CAPACITY>, CAPACITY> =
    Threads::new(FixedPriority::new(Preemptive));

/// Period and execution time of thread 1 and 2, microseconds.
const TASKS: [[u64; 2]; 2] = [[1000, 50], [4000, 200]];

fn run(mut first: First) -> ! {
    let Ok(()) = start(&mut first) else {
        panic!("no threads")
    };
    let Err(status) = THREADS.run_nested();
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
    let micro = clock::frequency() / 1_000_000;
    let [period, work] = TASKS
        .get(number)
        .map_or([0; 2], |task| task.map(|us| us * micro));
    let [jobs, worst] = [0, 1].map(|word| &first::shared()[2 * number + word]);
    // Releases are multiples of the period, as the parent's notifications are; the first one is not
    // the period in which the subsystem itself started.
    let mut release = clock::now().next_multiple_of(period) + period;
    loop {
        THREADS.block(release);
        let mut done = 0;
        while done < work {
            // Time that others run does not count: a step is short.
            let step = clock::now();
            done += (clock::now() - step).clamp(1, 4);
        }
        let response = clock::now() - release;
        worst.store(worst.load(Relaxed).max(response), Relaxed);
        jobs.store(jobs.load(Relaxed) + 1, Relaxed);
        release += period;
    }
}
