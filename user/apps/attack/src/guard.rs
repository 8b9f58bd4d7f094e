//! Memory and image of the witness, compared with what they were
//!
//! A little at a time, so that the comparison itself makes no job long.

use crate::probe;
use bulkhead_rtos::mmu;
use core::sync::atomic::{AtomicU64, Ordering};

/// Words of memory that are looked after.
const WORDS: u64 = 4096;
/// FNV-1a, by words of 64 bits.
const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x100_0000_01b3;

static GUARDED: [AtomicU64; WORDS as usize] = [const { AtomicU64::new(0) }; WORDS as usize];

/// Returns the address of the guarded memory.
pub(crate) fn address() -> u64 {
    GUARDED.as_ptr().addr() as u64
}

/// A comparison that starts over when it is through.
pub(crate) struct Guard {
    /// Checksum of instructions and constants at the start.
    pub(crate) image: u64,
    sum: u64,
    step: u64,
    steps: u64,
    memory_is_damaged: bool,
    image_is_damaged: bool,
}

impl Guard {
    /// Fills the memory and takes the image's sum; all is compared once in `steps` steps.
    pub(crate) fn new(steps: u64) -> Self {
        for (word, index) in GUARDED.iter().zip(0..) {
            word.store(pattern(index), Ordering::Relaxed);
        }
        Self {
            image: image_sum(FNV_START, 0, image_words()),
            sum: FNV_START,
            step: 0,
            steps,
            memory_is_damaged: false,
            image_is_damaged: false,
        }
    }

    /// Compares the next part.
    pub(crate) fn step(&mut self) {
        let part = |all: u64, step: u64| all * step / self.steps;
        let memory = part(WORDS, self.step)..part(WORDS, self.step + 1);
        let [from, to] = [self.step, self.step + 1].map(|step| part(image_words(), step));
        self.memory_is_damaged |= memory
            .into_iter()
            .any(|index| GUARDED[index as usize].load(Ordering::Relaxed) != pattern(index));
        self.sum = image_sum(self.sum, from, to);
        self.step += 1;
        if self.step == self.steps {
            self.image_is_damaged |= self.sum != self.image;
            self.sum = FNV_START;
            self.step = 0;
        }
    }

    /// Returns the result of all comparisons so far, of memory and of the image.
    pub(crate) fn verdicts(&self) -> [&'static str; 2] {
        [self.memory_is_damaged, self.image_is_damaged]
            .map(|damaged| if damaged { "DAMAGED" } else { "intact" })
    }
}

fn pattern(index: u64) -> u64 {
    (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn image_words() -> u64 {
    let [start, end] = mmu::constants();
    (end - start) / 8
}

/// Goes on from `sum` over words of instructions and constants.
fn image_sum(sum: u64, from: u64, to: u64) -> u64 {
    let [start, _] = mmu::constants();
    (from..to).fold(sum, |sum, word| {
        let word = (probe::LOADS[3].go)((start + 8 * word) as usize, 0);
        (sum ^ word).wrapping_mul(FNV_PRIME)
    })
}
