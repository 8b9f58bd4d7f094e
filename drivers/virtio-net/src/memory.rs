//! Memory that driver and card share
//!
//! Words that either side may change at any time. Fields of a word that the driver owns are changed by the
//! driver alone: reading the word and writing it again loses nothing.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// A stretch of memory, and what the card calls it.
#[derive(Clone, Copy, Debug)]
pub struct Dma<'a> {
    words: &'a [AtomicU64],
    bus: u64,
}

impl<'a> Dma<'a> {
    /// Memory that the card finds at `bus`, a multiple of the page.
    #[must_use]
    pub const fn new(words: &'a [AtomicU64], bus: u64) -> Self {
        Self { words, bus }
    }

    pub(crate) const fn bytes(self) -> usize {
        self.words.len() * 8
    }

    /// Returns the card's address of the byte at `at`.
    pub(crate) const fn bus(self, at: usize) -> u64 {
        self.bus + at as u64
    }

    pub(crate) fn word(self, at: usize) -> u64 {
        self.words.get(at / 8).map_or(0, |word| word.load(Relaxed))
    }

    pub(crate) fn set_word(self, at: usize, value: u64) {
        if let Some(word) = self.words.get(at / 8) {
            word.store(value, Relaxed);
        }
    }

    pub(crate) fn half(self, at: usize) -> u16 {
        (self.word(at) >> shift(at)) as u16
    }

    pub(crate) fn set_half(self, at: usize, value: u16) {
        let others = self.word(at) & !(0xffff << shift(at));
        self.set_word(at, others | u64::from(value) << shift(at));
    }

    /// Reads bytes.
    pub(crate) fn read(self, at: usize, mut into: &mut [u8]) {
        let mut word = at & !7;
        let mut skip = at % 8;
        while !into.is_empty() {
            let bytes = self.word(word).to_le_bytes();
            let count = into.len().min(8 - skip);
            let (now, later) = into.split_at_mut(count);
            now.copy_from_slice(&bytes[skip..skip + count]);
            (into, word, skip) = (later, word + 8, 0);
        }
    }

    /// Writes bytes.
    pub(crate) fn write(self, at: usize, mut from: &[u8]) {
        let mut word = at & !7;
        let mut skip = at % 8;
        while !from.is_empty() {
            let count = from.len().min(8 - skip);
            let mut bytes = match count {
                8 => [0; 8],
                _ => self.word(word).to_le_bytes(),
            };
            let (now, later) = from.split_at(count);
            bytes[skip..skip + count].copy_from_slice(now);
            self.set_word(word, u64::from_le_bytes(bytes));
            (from, word, skip) = (later, word + 8, 0);
        }
    }
}

/// Of the half word at `at` in its word.
const fn shift(at: usize) -> u32 {
    (at % 8 / 2 * 16) as u32
}
