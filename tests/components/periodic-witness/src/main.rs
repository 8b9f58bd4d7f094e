//! A periodic application that checks that other components do not change its memory or delay it
//!
//! Each millisecond it checks its memory against the pattern that it wrote; each tenth of a
//! second it prints the result.
#![no_std]
#![no_main]

use bulkhead_component::{Environment, println};
use bulkhead_guest::{ChannelError, Period, run_periodic};
use core::convert::Infallible;
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicU64, Ordering};

bulkhead_component::application!(run);

/// Jobs per line of output.
const REPORT_EVERY: u64 = 100;
const WORDS: usize = 256;
static MEMORY: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

fn run(env: &Environment) -> Result<Infallible, ChannelError> {
    for (word, number) in MEMORY.iter().zip(0..) {
        word.store(content(number), Ordering::Relaxed);
    }
    let name = env.name();
    println!("{name}: start {}", env.link().read().epoch);
    let _counted_from_here = env.ready();
    run_periodic(env, "witness", Period::from_micros(1000), |job| {
        let words = MEMORY.iter().zip(0..);
        let damaged = words
            .filter(|(word, number)| word.load(Ordering::Relaxed) != content(*number))
            .count();
        if job.number.is_multiple_of(REPORT_EVERY) {
            println!("{name}: jobs={} damaged={damaged}", job.number);
        }
        ControlFlow::Continue(())
    })
}

const fn content(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
