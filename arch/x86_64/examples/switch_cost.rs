//! Prints the cost of one user-level switch, all checks included, in TSC cycles
//!
//! Best and median of batches of 10,000 round trips between two threads.
#![expect(unsafe_code, reason = "drives the switch and reads the TSC")]

use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;

use bulkhead_hosted::Core;

thread_local! {
    static CORE: Cell<*const Core> = const { Cell::new(std::ptr::null()) };
}

const BATCH: u64 = 10_000;
const PARTNER: usize = 1;

fn core() -> &'static Core {
    // SAFETY: set before any thread runs, kept to the end.
    unsafe { &*CORE.get() }
}

#[inline(always)]
fn switch(core: &Core, own: usize, next: usize) {
    let epoch = core.scb().epoch.load(Relaxed);
    // SAFETY: `own` runs; `next` is the other thread.
    unsafe { core.switch(own, next, epoch) };
}

extern "C" fn partner(own: u64) -> ! {
    let core = core();
    loop {
        switch(core, own as usize, 0);
    }
}

fn tsc() -> u64 {
    // SAFETY: reads a counter.
    unsafe { std::arch::x86_64::_rdtsc() }
}

fn main() {
    let core_box = Core::new().expect("a core");
    CORE.set(&raw const *core_box);
    let core = core();
    core.spawn(PARTNER, partner).expect("a stack");
    let mut batches: Vec<u64> = (0..1_000)
        .map(|_| {
            let start = tsc();
            for _ in 0..BATCH {
                switch(core, 0, PARTNER);
            }
            tsc() - start
        })
        .collect();
    batches.sort_unstable();
    let per_switch = |cycles: u64| cycles as f64 / (2 * BATCH) as f64;
    println!(
        "user-level switch: best {:.1}, median {:.1}, worst batch {:.1} TSC cycles",
        per_switch(batches[0]),
        per_switch(batches[batches.len() / 2]),
        per_switch(batches[batches.len() - 1])
    );
}
