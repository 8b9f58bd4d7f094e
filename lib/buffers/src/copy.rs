//! Copies between private bytes and shared words
//!
//! Whole lines by [`line`], the rest word by word with relaxed atomics: a racing peer yields
//! nonsense, never undefined behaviour. The order against the control words is theirs to make;
//! bytes lie in memory as in the message.

use crate::atomic::{AtomicU64, Ordering};
use crate::line;
use crate::region::{LINE_BYTES, LINE_WORDS, Region, WORD_BYTES};

impl Region<'_> {
    /// Copies as many bytes from its beginning as fit, by whole words.
    pub fn read(self, bytes: &mut [u8]) {
        let most = self.bytes();
        let bytes = match bytes.split_at_mut_checked(most) {
            Some((first, _)) => first,
            None => bytes,
        };
        load(self.words(), bytes);
    }

    /// Writes as many bytes from its beginning on as fit; the rest of an incomplete last word becomes zero.
    pub fn write(self, bytes: &[u8]) {
        let bytes = bytes.get(..self.bytes()).unwrap_or(bytes);
        store(self.words(), bytes);
    }

    /// Copies words of another region, as many as both have.
    pub fn copy_from(self, other: Self) {
        for (to, from) in self.words().iter().zip(other.words()) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}

/// Words that hold `bytes` bytes.
pub(crate) const fn words_for(bytes: usize) -> usize {
    bytes.div_ceil(WORD_BYTES)
}

/// Store a message; the rest of an incomplete last word becomes zero. Nothing if its lines do not
/// fit.
#[inline]
pub(crate) fn store(words: &[AtomicU64], message: &[u8]) {
    let (lines, rest) = message.as_chunks::<LINE_BYTES>();
    let Some((whole, words)) = words.split_at_checked(lines.len() * LINE_WORDS) else {
        return;
    };
    for (words, bytes) in whole.as_chunks::<LINE_WORDS>().0.iter().zip(lines) {
        line::store(words, bytes);
    }
    if !rest.is_empty() {
        store_rest(words, rest);
    }
}

/// Load a message of `message.len()` bytes. Nothing if there are not as many lines.
#[inline]
pub(crate) fn load(words: &[AtomicU64], message: &mut [u8]) {
    let (lines, rest) = message.as_chunks_mut::<LINE_BYTES>();
    let Some((whole, words)) = words.split_at_checked(lines.len() * LINE_WORDS) else {
        return;
    };
    for (words, bytes) in whole.as_chunks::<LINE_WORDS>().0.iter().zip(lines) {
        line::load(words, bytes);
    }
    if !rest.is_empty() {
        load_rest(words, rest);
    }
}

/// Less than a line; apart, so that whole lines need no room for it.
#[inline(never)]
fn store_rest(words: &[AtomicU64], message: &[u8]) {
    let (whole, rest) = message.as_chunks::<WORD_BYTES>();
    for (word, bytes) in words.iter().zip(whole) {
        word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
    }
    if let Some(word) = words.get(whole.len())
        && !rest.is_empty()
    {
        let mut bytes = [0; WORD_BYTES];
        bytes
            .iter_mut()
            .zip(rest)
            .for_each(|(to, from)| *to = *from);
        word.store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
    }
}

#[inline(never)]
fn load_rest(words: &[AtomicU64], message: &mut [u8]) {
    let (whole, rest) = message.as_chunks_mut::<WORD_BYTES>();
    for (word, bytes) in words.iter().zip(whole.iter_mut()) {
        *bytes = word.load(Ordering::Relaxed).to_ne_bytes();
    }
    if let Some(word) = words.get(whole.len())
        && !rest.is_empty()
    {
        let bytes = word.load(Ordering::Relaxed).to_ne_bytes();
        rest.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    extern crate std;
    use std::vec::Vec;

    #[test]
    fn every_length_comes_back_and_touches_only_its_words() {
        for length in 0..=3 * LINE_BYTES {
            let words: Vec<AtomicU64> = (0..64).map(|_| AtomicU64::new(u64::MAX)).collect();
            let message: Vec<u8> = (0..length).map(|at| at as u8 ^ 0x5a).collect();
            store(&words, &message);
            let mut copy = std::vec![0; length];
            load(&words, &mut copy);
            assert_eq!(copy, message);
            let after = &words[words_for(length)..];
            assert!(
                after
                    .iter()
                    .all(|word| word.load(Ordering::Relaxed) == u64::MAX)
            );
        }
    }

    #[test]
    fn a_message_longer_than_its_words_stops_at_their_end() {
        for count in 0..20 {
            let words: Vec<AtomicU64> = (0..count).map(|_| AtomicU64::new(0)).collect();
            store(&words, &[7; 300]);
            let mut copy = [0; 300];
            load(&words, &mut copy);
            let copied = copy.iter().filter(|byte| **byte == 7).count();
            assert!(copied <= count * WORD_BYTES);
        }
    }
}
