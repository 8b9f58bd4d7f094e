//! The two positions, and what they say about any stretch of units

use crate::atomic::{AtomicU64, Ordering, fence};
use crate::error::Error;

/// Control words, in the writer's line.
pub(super) const RESERVED: usize = 0;
pub(super) const COMMITTED: usize = 1;
pub(super) const CONTROL_LINE: usize = 0;
pub(super) const FIRST_DATA_LINE: usize = 1;
/// Positions from here on are nonsense: no machine lives that long.
const IMPLAUSIBLE: u64 = 1 << 62;

/// The writer's side.
pub(super) struct Appender<'m> {
    reserved_word: &'m AtomicU64,
    committed_word: &'m AtomicU64,
    capacity: u64,
    reserved: u64,
    committed: u64,
}

impl<'m> Appender<'m> {
    pub(super) fn attach(
        reserved_word: &'m AtomicU64,
        committed_word: &'m AtomicU64,
        capacity: u64,
    ) -> Self {
        let committed = plausible(committed_word.load(Ordering::Relaxed));
        let ahead = reserved_word
            .load(Ordering::Relaxed)
            .wrapping_sub(committed);
        let reserved = committed + ahead.min(capacity);
        let appender = Self {
            reserved_word,
            committed_word,
            capacity,
            reserved,
            committed,
        };
        appender.reserved_word.store(reserved, Ordering::Relaxed);
        appender.committed_word.store(committed, Ordering::Release);
        appender
    }

    pub(super) fn committed(&self) -> u64 {
        self.committed
    }

    /// Give up what the next `count` units, at most the capacity, will overwrite.
    pub(super) fn reserve(&mut self, count: u64) {
        let until = self.committed + count.min(self.capacity);
        if until > self.reserved {
            self.reserved = until;
            self.reserved_word.store(until, Ordering::Relaxed);
        }
        fence(Ordering::Release);
    }

    /// Show the next `count` units.
    pub(super) fn commit(&mut self, count: u64) {
        self.committed += count;
        self.committed_word.store(self.committed, Ordering::Release);
    }
}

fn plausible(position: u64) -> u64 {
    if position < IMPLAUSIBLE { position } else { 0 }
}

/// Units to copy: from a position on, so many.
pub(super) struct Stretch {
    pub(super) from: u64,
    pub(super) count: usize,
}

/// Valid rest of a copied stretch.
pub(super) struct Intact {
    /// Units to drop at its front.
    pub(super) dropped: usize,
    /// Units that remain.
    pub(super) count: usize,
    /// All that this reader lost: before the stretch and at its front.
    pub(super) lost: u64,
}

/// A reader's side.
pub(super) struct Follower<'m> {
    reserved_word: &'m AtomicU64,
    committed_word: &'m AtomicU64,
    capacity: u64,
    cursor: u64,
}

impl<'m> Follower<'m> {
    pub(super) fn attach(
        reserved_word: &'m AtomicU64,
        committed_word: &'m AtomicU64,
        capacity: u64,
    ) -> Self {
        let mut follower = Self {
            reserved_word,
            committed_word,
            capacity,
            cursor: 0,
        };
        follower.cursor = follower.oldest(follower.committed());
        follower
    }

    pub(super) fn cursor(&self) -> u64 {
        self.cursor
    }

    pub(super) fn seek(&mut self, position: u64) {
        self.cursor = position;
    }

    /// Returns the next stretch to copy, at most `room` units.
    pub(super) fn stretch(&mut self, room: usize) -> Result<Stretch, Error> {
        let committed = self.committed();
        if self.cursor > committed {
            self.cursor = self.oldest(committed);
            return Err(Error::Corrupt);
        }
        let from = self.cursor.max(self.oldest(committed));
        let there = usize::try_from(committed - from).unwrap_or(usize::MAX);
        Ok(Stretch {
            from,
            count: there.min(room),
        })
    }

    /// After copying `stretch`: what of it is intact. Moves the cursor behind it.
    pub(super) fn verify(&mut self, stretch: &Stretch) -> Intact {
        fence(Ordering::Acquire);
        let reserved = self.reserved_word.load(Ordering::Relaxed);
        let end = stretch.from + stretch.count as u64;
        let first = self.oldest(reserved).clamp(stretch.from, end);
        let lost = first - self.cursor;
        self.cursor = end;
        let dropped = (first - stretch.from) as usize;
        Intact {
            dropped,
            count: stretch.count - dropped,
            lost,
        }
    }

    fn committed(&self) -> u64 {
        let committed = self.committed_word.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        plausible(committed)
    }

    fn oldest(&self, position: u64) -> u64 {
        position.saturating_sub(self.capacity)
    }
}
