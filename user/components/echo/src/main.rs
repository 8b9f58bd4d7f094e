//! Answers what it is told: the server of measurements
//!
//! `[REPLY, value]` answers the value, `[MULTIPLY, a, b]` uses floating point, `[FAULT]` reads where
//! nothing is mapped.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "one function faults on purpose")]

use bulkhead_component::{First, clock};

const MULTIPLY: u64 = 1;
const FAULT: u64 = 2;

bulkhead_component::component!(run);
bulkhead_component::serve!(answer, threads: 16, stack: 1024);

/// No thread starts here.
fn run(_: First) -> ! {
    loop {
        clock::wait_for_interrupt();
    }
}

fn answer(token: u64, [what, first, second, ..]: [u64; 5]) -> u64 {
    match what {
        MULTIPLY => (first as f64 * second as f64) as u64,
        FAULT => {
            let nowhere: *const u64 = core::ptr::with_exposed_provenance(0x10_0000);
            // SAFETY: it is not: the page is not mapped, and that is what is asked for.
            unsafe { nowhere.read_volatile() }
        }
        _ => token + first,
    }
}
