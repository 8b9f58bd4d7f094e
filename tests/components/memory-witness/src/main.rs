//! Checks that other components do not change its memory or stop its progress
//!
//! At each notification it checks its memory against the pattern that it wrote, and writes a new
//! one. The page that it shares with the supervisor contains the numbers of checks, of wrong words
//! and of notifications.
#![no_std]
#![no_main]
#![expect(
    unsafe_code,
    reason = "looks at its own memory, which others must not change"
)]

use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::kernel::first::RECEIVE;
use bulkhead_abi::kernel::{Operation, Status, WAIT};
use bulkhead_component::call::call;
use bulkhead_component::{First, first};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

bulkhead_component::component!(run);

const PAGES: u64 = 2;
const WORDS: usize = (PAGES * PAGE_SIZE / 8) as usize;

fn run(mut first: First) -> ! {
    let Err(status) = look(&mut first);
    panic!("{status:?}")
}

fn look(first: &mut First) -> Result<core::convert::Infallible, Status> {
    let memory: *const [AtomicU64; WORDS] =
        core::ptr::with_exposed_provenance(first.memory(PAGES)? as usize);
    // SAFETY: mapped above for good; all of it is atomic.
    let memory = unsafe { &*memory };
    let [looks, wrong, notified, ..] = first::shared();
    let write = |round: u64| {
        let places = (round..).zip(memory);
        places.for_each(|(place, word)| word.store(pattern(place), Relaxed));
    };
    write(0);
    for round in 0.. {
        let count = call(RECEIVE, Operation::Receive, [WAIT])?;
        let places = (round..).zip(memory);
        let damaged = places.filter(|(place, word)| word.load(Relaxed) != pattern(*place));
        wrong.store(wrong.load(Relaxed) + damaged.count() as u64, Relaxed);
        notified.store(notified.load(Relaxed) + count, Relaxed);
        write(round + 1);
        looks.store(round + 1, Relaxed);
    }
    Err(Status::Nothing)
}

/// A different pattern for every word and round.
const fn pattern(place: u64) -> u64 {
    place.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
