//! Word by word: for model checkers, and for processors that have no file of their own

use crate::atomic::Ordering;
use crate::region::{Bytes, WORD_BYTES, Words};

/// Store a line.
#[inline(always)]
pub(crate) fn store(words: &Words, line: &Bytes) {
    let (whole, _) = line.as_chunks::<WORD_BYTES>();
    for (word, bytes) in words.iter().zip(whole) {
        word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
    }
}

/// Load a line.
#[inline(always)]
pub(crate) fn load(words: &Words, line: &mut Bytes) {
    let (whole, _) = line.as_chunks_mut::<WORD_BYTES>();
    for (word, bytes) in words.iter().zip(whole) {
        *bytes = word.load(Ordering::Relaxed).to_ne_bytes();
    }
}
