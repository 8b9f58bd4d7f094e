//! A recorder of bytes, for consoles
//!
//! A word that is only partly written is stored again when more bytes come; the bytes already there
//! are stored unchanged, so a reader of the word sees them whole at any time.

use super::Read;
use super::log::{Appender, COMMITTED, CONTROL_LINE, FIRST_DATA_LINE, Follower, RESERVED};
use crate::atomic::{AtomicU64, Ordering};
use crate::error::{AttachError, Error, LayoutError};
use crate::region::{LINE_BYTES, Lines, Region, View, WORD_BYTES};

/// Largest buffer in bytes.
pub const MAX_BYTES: usize = 1 << 40;
/// At most this part of the buffer is given up at a time, so that a long write leaves readers the
/// rest.
const PORTION: usize = 4;

/// Shape of a recorder of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    capacity: usize,
}

impl Layout {
    /// For the last `capacity` bytes, rounded up to a multiple of 8.
    ///
    /// # Errors
    /// Zero, or more than [`MAX_BYTES`].
    pub const fn for_bytes(capacity: usize) -> Result<Self, LayoutError> {
        match capacity {
            0 => Err(LayoutError::Zero),
            1..=MAX_BYTES => Ok(Self {
                capacity: capacity.next_multiple_of(WORD_BYTES),
            }),
            _ => Err(LayoutError::TooLarge),
        }
    }

    /// Bytes kept.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes of shared memory: the control line and the bytes.
    pub const fn bytes(&self) -> usize {
        FIRST_DATA_LINE * LINE_BYTES + self.capacity
    }
}

/// The places of the bytes, as a circle of words.
struct Circle<'m> {
    words: &'m [AtomicU64],
    capacity: u64,
}

impl<'m> Circle<'m> {
    fn new(lines: &Lines<'m>, layout: &Layout) -> Result<Self, AttachError> {
        let words = lines.span(FIRST_DATA_LINE, layout.capacity / WORD_BYTES)?;
        Ok(Self {
            words,
            capacity: layout.capacity as u64,
        })
    }

    /// Words from that of `position` on, round and round, and the offset of `position` in the
    /// first.
    fn from(&self, position: u64) -> (impl Iterator<Item = &'m AtomicU64>, usize) {
        let at = (position % self.capacity) as usize;
        let (before, after) = self
            .words
            .split_at_checked(at / WORD_BYTES)
            .unwrap_or_default();
        (
            after.iter().chain(before.iter().chain(after).cycle()),
            at % WORD_BYTES,
        )
    }

    fn store(&self, position: u64, mut bytes: &[u8]) {
        let (words, mut offset) = self.from(position);
        for word in words {
            let mut held = word.load(Ordering::Relaxed).to_ne_bytes();
            let (part, rest) = bytes.split_at(bytes.len().min(WORD_BYTES - offset));
            held.iter_mut()
                .skip(offset)
                .zip(part)
                .for_each(|(to, from)| *to = *from);
            word.store(u64::from_ne_bytes(held), Ordering::Relaxed);
            bytes = rest;
            offset = 0;
            if bytes.is_empty() {
                return;
            }
        }
    }

    fn load(&self, position: u64, mut bytes: &mut [u8]) {
        let (words, mut offset) = self.from(position);
        for word in words {
            if bytes.is_empty() {
                return;
            }
            let held = word.load(Ordering::Relaxed).to_ne_bytes();
            let (part, rest) = bytes.split_at_mut(bytes.len().min(WORD_BYTES - offset));
            part.iter_mut()
                .zip(held.iter().skip(offset))
                .for_each(|(to, from)| *to = *from);
            bytes = rest;
            offset = 0;
        }
    }
}

/// The writing end.
pub struct Writer<'m> {
    circle: Circle<'m>,
    log: Appender<'m>,
}

impl<'m> Writer<'m> {
    /// Join as writer, at creation or after a restart; what was written before stays.
    ///
    /// # Errors
    /// The region is too small for the layout.
    pub fn attach(region: Region<'m>, layout: &Layout) -> Result<Self, AttachError> {
        let lines = region.lines(layout.bytes())?;
        let reserved = lines.word(CONTROL_LINE, RESERVED)?;
        let committed = lines.word(CONTROL_LINE, COMMITTED)?;
        let log = Appender::attach(reserved, committed, layout.capacity as u64);
        Ok(Self {
            circle: Circle::new(&lines, layout)?,
            log,
        })
    }

    /// Append bytes, overwriting the oldest when full. Bounded: no wait.
    pub fn write(&mut self, bytes: &[u8]) {
        for portion in bytes.chunks(self.circle.words.len() * WORD_BYTES / PORTION) {
            self.log.reserve(portion.len() as u64);
            self.circle.store(self.log.committed(), portion);
            self.log.commit(portion.len() as u64);
        }
    }

    /// Bytes written since the buffer was created, over all restarts.
    pub fn written(&self) -> u64 {
        self.log.committed()
    }
}

impl core::fmt::Write for Writer<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.write(text.as_bytes());
        Ok(())
    }
}

/// A reading end, of which there may be any number.
pub struct Reader<'m> {
    circle: Circle<'m>,
    log: Follower<'m>,
}

impl<'m> Reader<'m> {
    /// Join as a reader, at the oldest byte that is there.
    ///
    /// # Errors
    /// The view is too small for the layout.
    pub fn attach(view: View<'m>, layout: &Layout) -> Result<Self, AttachError> {
        let lines = view.lines(layout.bytes())?;
        let reserved = lines.word(CONTROL_LINE, RESERVED)?;
        let committed = lines.word(CONTROL_LINE, COMMITTED)?;
        let log = Follower::attach(reserved, committed, layout.capacity as u64);
        Ok(Self {
            circle: Circle::new(&lines, layout)?,
            log,
        })
    }

    /// Copy the next bytes, as many as are there and fit.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when the writer went back.
    pub fn read(&mut self, bytes: &mut [u8]) -> Result<Read, Error> {
        let stretch = self.log.stretch(bytes.len())?;
        let copied = bytes.get_mut(..stretch.count).ok_or(Error::Length)?;
        self.circle.load(stretch.from, copied);
        let intact = self.log.verify(&stretch);
        copied.copy_within(intact.dropped.., 0);
        Ok(Read {
            count: intact.count,
            lost: intact.lost,
        })
    }

    /// Number of the next byte to be read, counted from 0 at creation.
    pub fn position(&self) -> u64 {
        self.log.cursor()
    }

    /// Go on at `position`, as given by [`Reader::position`] of an earlier instance.
    pub fn seek(&mut self, position: u64) {
        self.log.seek(position);
    }
}
