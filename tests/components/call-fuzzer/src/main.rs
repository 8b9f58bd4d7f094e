//! Calls the kernel with random operations, capabilities and words
//!
//! Most words are plausible. The calls never end; between them it writes random values into the
//! page that its scheduler shares with the kernel. It has the capabilities of a component with a
//! scheduler of its own, and one to invoke a server. The page that it shares with the supervisor
//! contains the number of calls and the seed.
#![no_std]
#![no_main]

use bulkhead_abi::dispatch::MAX_THREADS;
use bulkhead_abi::kernel::{Operation, SLOTS};
use bulkhead_component::dispatch::{dcb, scb};
use bulkhead_component::invocation::{call_or_invoke, invoke};
use bulkhead_component::{First, first};
use core::hint::black_box;
use core::sync::atomic::Ordering::Relaxed;

bulkhead_component::component!(run);

/// Number of operations, including an invalid one.
const OPERATIONS: u64 = Operation::ALL.len() as u64 + 1;
/// Slot of the capability to invoke the server, which random words rarely name.
const SERVER: u64 = SLOTS - 1;

/// xorshift64*.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    }

    fn below(&mut self, end: u64) -> u64 {
        self.roll() % end
    }

    /// A random word, mostly a plausible one.
    fn word(&mut self) -> u64 {
        match self.below(16) {
            0 => self.roll(),
            1 => u64::MAX,
            2 => SLOTS * self.below(6),
            3..=6 => self.below(4),
            _ => self.below(40),
        }
    }
}

fn run(_: First) -> ! {
    let [calls, seed, ..] = first::shared();
    let mut dice = Dice(seed.load(Relaxed) | 1);
    loop {
        calls.store(calls.load(Relaxed) + 1, Relaxed);
        match dice.below(64) {
            0 => scribble(&mut dice),
            1 => {
                let words = [(); 5].map(|()| dice.word());
                black_box(invoke(SERVER, words));
            }
            2 => {
                black_box(black_box(dice.word() as f64) * 1.5);
            }
            _ => {
                let words = [(); 5].map(|()| dice.word());
                black_box(call_or_invoke(dice.word(), dice.below(OPERATIONS), words));
            }
        }
    }
}

/// Writes a random value into a word of the block of its scheduler, of a thread, or of itself.
fn scribble(dice: &mut Dice) {
    let scb = scb();
    let word = dice.word();
    let thread = dcb(dice.below(MAX_THREADS as u64) as usize);
    match dice.below(6) {
        0 => scb.current.store(word, Relaxed),
        1 => scb.epoch.store(word, Relaxed),
        2 => scb.consumed.store(word as u32, Relaxed),
        3 => scb.produced.store(word as u32, Relaxed),
        4 => thread.ip.store(word, Relaxed),
        _ => thread.sp.store(word, Relaxed),
    }
}
