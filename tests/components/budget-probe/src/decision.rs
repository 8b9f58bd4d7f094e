//! Cost of a switch from a VCPU with an exhausted budget to the next, by the number of VCPUs

use crate::threads::{DONE, MOST, THREADS, counter, spawn, ticks};
use bulkhead_abi::kernel::Status;
use bulkhead_component::figure::Figure;
use bulkhead_component::{First, clock, println};
use bulkhead_sched::NEVER;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// C of each VCPU, microseconds. All are ready at the same time, and use half of the core together:
/// in each period one follows the other, and the first follows idleness.
const CAPACITY: u64 = 200;
const FIRST: u64 = 1;
/// Instructions between two reads that show that another thread ran.
const GAP: u64 = 100;
/// Periods before the measurement.
const SETTLING: u64 = 3;

static ROUNDS: AtomicU64 = AtomicU64::new(0);
static VCPUS: AtomicU64 = AtomicU64::new(0);
static START: AtomicU64 = AtomicU64::new(0);
/// Last value of the cycle counter that each thread read.
static LAST: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];
static SWITCHES: AtomicU64 = AtomicU64::new(0);
static SUM: AtomicU64 = AtomicU64::new(0);
static WORST: AtomicU64 = AtomicU64::new(0);

pub(crate) fn measure(first: &mut First, vcpus: u64, rounds: u64) -> Result<(), Status> {
    ROUNDS.store(rounds, Relaxed);
    VCPUS.store(vcpus, Relaxed);
    for _ in 0..vcpus {
        spawn(first, spin, [CAPACITY, 2 * CAPACITY * vcpus])?;
    }
    // By then the budget that starting used is replenished.
    let start = clock::now() + 3 * ticks(2 * CAPACITY * vcpus);
    START.store(start, Relaxed);
    THREADS.run(NEVER);
    Ok(())
}

extern "C" fn spin(index: u64) -> ! {
    THREADS.block(START.load(Relaxed));
    let place = index as usize - 1;
    let mut last = clock::cycles();
    loop {
        let now = clock::cycles();
        let gap = counter().steps(now.wrapping_sub(last));
        if gap > GAP && index != FIRST {
            count(counter().between(LAST[place - 1].load(Relaxed), now));
        }
        last = clock::cycles();
        LAST[place].store(last, Relaxed);
    }
}

fn count(cost: u64) {
    let number = SWITCHES.fetch_add(1, Relaxed);
    let Some(counted) = number.checked_sub(SETTLING * VCPUS.load(Relaxed)) else {
        return;
    };
    let sum = SUM.fetch_add(cost, Relaxed) + cost;
    let worst = WORST.fetch_max(cost, Relaxed).max(cost);
    if counted + 1 == ROUNDS.load(Relaxed) {
        Figure::of(counted + 1, sum, worst).print("decision");
        println!("{DONE}");
    }
}
