//! What it costs to go from a VCPU whose budget ends to the next, by the number of VCPUs

use crate::{THREADS, counter, spawn, ticks};
use bulkhead_abi::kernel::Status;
use bulkhead_component::figure::Figure;
use bulkhead_component::{First, clock};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// C of each VCPU, microseconds; all together take the whole core, so that it never idles.
const CAPACITY: u64 = 200;
/// Turns of all VCPUs before anything counts.
const SETTLING: u64 = 3;

static ROUNDS: AtomicU64 = AtomicU64::new(0);
static VCPUS: AtomicU64 = AtomicU64::new(0);
static START: AtomicU64 = AtomicU64::new(0);
/// Who read the cycle counter last, and what.
static OWNER: AtomicU64 = AtomicU64::new(0);
static LAST: AtomicU64 = AtomicU64::new(0);
static SWITCHES: AtomicU64 = AtomicU64::new(0);
static SUM: AtomicU64 = AtomicU64::new(0);
static WORST: AtomicU64 = AtomicU64::new(0);

pub(crate) fn measure(first: &mut First, vcpus: u64, rounds: u64) -> Result<(), Status> {
    ROUNDS.store(rounds, Relaxed);
    VCPUS.store(vcpus, Relaxed);
    for _ in 0..vcpus {
        spawn(first, spin, [CAPACITY, CAPACITY * vcpus])?;
    }
    START.store(clock::now() + ticks(10_000), Relaxed);
    let counted = || SWITCHES.load(Relaxed).saturating_sub(SETTLING * vcpus);
    while counted() < rounds {
        THREADS.run(clock::now() + ticks(100_000));
    }
    Figure::of(counted(), SUM.load(Relaxed), WORST.load(Relaxed)).print("decision");
    Ok(())
}

extern "C" fn spin(index: u64) -> ! {
    // Budgets come back one after the other, as those of different periods do.
    THREADS.block(START.load(Relaxed) + (index - 1) * ticks(CAPACITY));
    loop {
        let now = clock::cycles();
        if OWNER.swap(index, Relaxed) != index {
            let cost = counter().between(LAST.load(Relaxed), now);
            let number = SWITCHES.fetch_add(1, Relaxed);
            if number >= SETTLING * VCPUS.load(Relaxed) {
                SUM.fetch_add(cost, Relaxed);
                WORST.fetch_max(cost, Relaxed);
            }
        }
        LAST.store(clock::cycles(), Relaxed);
    }
}
