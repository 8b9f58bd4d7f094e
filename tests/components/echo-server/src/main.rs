//! A server for measurements
//!
//! `[REPLY, value]` returns the value, `[MULTIPLY, a, b]` uses floating point, `[FAULT]` reads an
//! address at which nothing is mapped, `[DIGEST, value]` computes for some microseconds with words
//! of its stack.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "one function faults on purpose")]

use bulkhead_component::{First, clock};

const MULTIPLY: u64 = 1;
const FAULT: u64 = 2;
const DIGEST: u64 = 3;
/// Words of the digest, and rounds.
const WORDS: usize = 48;
const ROUNDS: usize = 40;

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
            // SAFETY: it is not safe: the page is not mapped, and this is the purpose.
            unsafe { nowhere.read_volatile() }
        }
        DIGEST => digest(first),
        _ => token + first,
    }
}

/// Sum of words that are on the stack for a while.
fn digest(value: u64) -> u64 {
    let mut words = [0; WORDS];
    for _ in 0..ROUNDS {
        for (number, word) in (0..).zip(&mut words) {
            *word = value ^ number;
        }
        core::hint::black_box(&mut words);
    }
    words.into_iter().fold(0, u64::wrapping_add)
}
