//! Instructions that a thread without waits executes in each period, compared with its budget

use crate::threads::{DONE, STEP, THREADS, counter, spawn, ticks};
use bulkhead_abi::kernel::Status;
use bulkhead_component::figure::Figure;
use bulkhead_component::{First, clock, println};
use bulkhead_sched::NEVER;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// C and T of the VCPUs, microseconds: the first is never preempted, the second once in each of its
/// periods.
const LIMITS: [[u64; 2]; 2] = [[500, 2500], [2500, 10_000]];
const NAMES: [&str; 2] = ["budget", "budget-preempted"];
/// Instructions between two reads that show that another thread ran.
const GAP: u64 = 100;

static ROUNDS: AtomicU64 = AtomicU64::new(0);
/// Cycles of one tick of the clock, in hundredths.
static CYCLES: AtomicU64 = AtomicU64::new(0);
/// Instructions that are granted in addition each time a thread runs.
static GRANTED: AtomicU64 = AtomicU64::new(0);
static MEASURED: AtomicU64 = AtomicU64::new(0);

pub(crate) fn measure(first: &mut First, rounds: u64, switch: u64) -> Result<(), Status> {
    ROUNDS.store(rounds, Relaxed);
    let (ticks_before, cycles_before) = (clock::now(), clock::cycles());
    while clock::now() - ticks_before < ticks(1000) {}
    let (ticks, cycles) = (clock::now() - ticks_before, clock::cycles() - cycles_before);
    CYCLES.store(cycles * 100 / ticks, Relaxed);
    // As the runtime does: what the kernel meters besides is granted on top of each budget.
    GRANTED.store(switch, Relaxed);
    let granted = switch * STEP.load(Relaxed) * 100;
    THREADS.set_switch(granted.div_ceil(CYCLES.load(Relaxed).max(1)));
    for limits in LIMITS {
        spawn(first, spin, limits)?;
    }
    THREADS.run(NEVER);
    Ok(())
}

/// Errors of a budget.
#[derive(Default)]
struct Errors {
    over: Figure,
    under: Figure,
    dispatches: Figure,
    /// Instructions that the kernel meters in addition, each time the thread runs.
    metered: Figure,
}

extern "C" fn spin(index: u64) -> ! {
    let number = index as usize - 1;
    let [capacity, period] = LIMITS.get(number).copied().unwrap_or([1; 2]);
    let cycles_of = |us| ticks(us) * CYCLES.load(Relaxed) / 100;
    let budget = counter().steps(cycles_of(capacity));
    // Between two periods it waits longer than any preemption lasts.
    let between = counter().steps(cycles_of(period)) / 4;
    let mut errors = Errors::default();
    let (mut executed, mut dispatches, mut began) = (0, 1, clock::cycles());
    let (mut last, mut periods) = (began, 0);
    loop {
        let now = clock::cycles();
        let gap = counter().steps(now.wrapping_sub(last));
        if gap > GAP {
            executed += counter().steps(last.wrapping_sub(began));
            began = now;
            dispatches += 1;
        }
        last = now;
        if gap <= between {
            continue;
        }
        // The first period began before the measurement.
        if periods > 0 && periods <= ROUNDS.load(Relaxed) {
            errors.over.add(executed.saturating_sub(budget));
            errors.under.add(budget.saturating_sub(executed));
            let runs: u64 = dispatches - 1;
            errors.dispatches.add(runs);
            let granted = budget + GRANTED.load(Relaxed) * runs;
            let missing = granted.saturating_sub(executed);
            errors.metered.add(missing.div_ceil(runs.max(1)));
        }
        periods += 1;
        if periods == ROUNDS.load(Relaxed) + 1 {
            let name = NAMES.get(number).copied().unwrap_or("?");
            println!("budget of {name}: {budget} instructions");
            errors.over.print(format_args!("{name}-over"));
            errors.under.print(format_args!("{name}-under"));
            errors.dispatches.print(format_args!("{name}-dispatches"));
            errors.metered.print(format_args!("{name}-metered"));
            if MEASURED.fetch_add(1, Relaxed) + 1 == LIMITS.len() as u64 {
                println!("{DONE}");
            }
        }
        // This iteration is part of the executed instructions.
        (executed, dispatches, began) = (0, 1, now);
    }
}
