//! The shared memory, as a bounds-checked slice of atomic words
//!
//! The only unsafe code of the crate turns an address into such a slice. Any other mapping of the
//! memory may write it at any time. Every access here is atomic and of 64 bits,
//! so this is a race between atomics and not undefined behaviour.
#![cfg_attr(
    not(loom),
    expect(
        unsafe_code,
        reason = "an address from outside becomes a slice of atomics"
    )
)]

use crate::atomic::{AtomicU64, Ordering};
use crate::error::AttachError;

/// Bytes of a cache line: what different sides write lies at least this far apart.
pub(crate) const LINE_BYTES: usize = 64;
/// Words of a cache line.
pub(crate) const LINE_WORDS: usize = LINE_BYTES / WORD_BYTES;
/// Bytes of a word.
pub(crate) const WORD_BYTES: usize = 8;
/// A line in shared memory.
pub(crate) type Words = [AtomicU64; LINE_WORDS];
/// A line of a message.
pub(crate) type Bytes = [u8; LINE_BYTES];

/// Memory that this end may read and write.
#[derive(Clone, Copy, Debug)]
pub struct Region<'m> {
    words: &'m [AtomicU64],
}

/// Memory that this end may only read: no access through it ever stores.
#[derive(Clone, Copy, Debug)]
pub struct View<'m> {
    words: &'m [AtomicU64],
}

impl<'m> Region<'m> {
    /// Take words of this address space, for pairs of threads and for tests.
    pub const fn from_words(words: &'m [AtomicU64]) -> Self {
        Self { words }
    }

    /// Take `bytes` bytes of shared memory at `base`; an incomplete last word is left out.
    ///
    /// # Errors
    /// [`AttachError::Misaligned`] unless `base` is a multiple of 64.
    ///
    /// # Safety
    /// The memory is mapped readable and writable, as normal cacheable memory, for all of `'m`, and
    /// this program accesses it during `'m` through `Region`, `View` or other atomics only.
    #[cfg(not(loom))]
    pub unsafe fn from_raw(base: *mut u8, bytes: usize) -> Result<Self, AttachError> {
        // SAFETY: the caller's promise covers what is asked of a read-only view.
        let view = unsafe { View::from_raw(base, bytes) }?;
        Ok(Self { words: view.words })
    }

    /// So many bytes of it, which begin at a cache line; nothing where they are not all in it.
    #[must_use]
    pub fn part(self, line: usize, bytes: usize) -> Option<Self> {
        let from = line.checked_mul(LINE_WORDS)?;
        let to = from.checked_add(bytes.div_ceil(WORD_BYTES))?;
        self.words.get(from..to).map(Self::from_words)
    }

    /// Its bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.words.len() * WORD_BYTES
    }

    /// Its words: any other mapping may write them at any time.
    #[must_use]
    pub const fn words(self) -> &'m [AtomicU64] {
        self.words
    }

    /// Fills the region with zeros, as fresh memory has; another mapping may see a part of them
    /// first.
    pub fn clear(self) {
        self.words
            .iter()
            .for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// Returns the region for an end that only reads.
    pub const fn view(self) -> View<'m> {
        View { words: self.words }
    }

    pub(crate) fn lines(self, needed: usize) -> Result<Lines<'m>, AttachError> {
        self.view().lines(needed)
    }
}

impl<'m> View<'m> {
    /// Take `bytes` bytes of shared memory at `base`; an incomplete last word is left out.
    ///
    /// # Errors
    /// [`AttachError::Misaligned`] unless `base` is a multiple of 64.
    ///
    /// # Safety
    /// The memory is mapped readable, as normal cacheable memory, for all of `'m`, and this program
    /// accesses it during `'m` through `Region`, `View` or other atomics only.
    #[cfg(not(loom))]
    pub unsafe fn from_raw(base: *const u8, bytes: usize) -> Result<Self, AttachError> {
        if !base.addr().is_multiple_of(LINE_BYTES) {
            return Err(AttachError::Misaligned);
        }
        let count = bytes / WORD_BYTES;
        // SAFETY: aligned (checked), mapped for 'm and accessed by atomics only (caller). Atomics
        // have interior mutability, so the peer's stores do not break the shared reference.
        let words = unsafe { core::slice::from_raw_parts(base.cast::<AtomicU64>(), count) };
        Ok(Self { words })
    }

    /// The words, after checking that `needed` bytes are there.
    pub(crate) fn lines(self, needed: usize) -> Result<Lines<'m>, AttachError> {
        let given = self.words.len().saturating_mul(WORD_BYTES);
        if given < needed {
            return Err(AttachError::TooSmall { needed, given });
        }
        Ok(Lines {
            words: self.words,
            needed,
            given,
        })
    }
}

/// Hands out the parts of a region that is known to be large enough.
pub(crate) struct Lines<'m> {
    words: &'m [AtomicU64],
    needed: usize,
    given: usize,
}

impl<'m> Lines<'m> {
    /// Word `word` of cache line `line`.
    pub(crate) fn word(&self, line: usize, word: usize) -> Result<&'m AtomicU64, AttachError> {
        self.words
            .get(line * LINE_WORDS + word)
            .ok_or(self.too_small())
    }

    /// `count` words from the start of cache line `line`.
    pub(crate) fn span(&self, line: usize, count: usize) -> Result<&'m [AtomicU64], AttachError> {
        let from = line * LINE_WORDS;
        self.words.get(from..from + count).ok_or(self.too_small())
    }

    fn too_small(&self) -> AttachError {
        AttachError::TooSmall {
            needed: self.needed,
            given: self.given,
        }
    }
}
