//! A recorder of records of fixed size

use super::Read;
use super::log::{Appender, COMMITTED, CONTROL_LINE, FIRST_DATA_LINE, Follower, RESERVED};
use crate::atomic::AtomicU64;
use crate::copy::{self, words_for};
use crate::error::{AttachError, Error, LayoutError};
use crate::region::{LINE_BYTES, Lines, Region, View, WORD_BYTES};

/// Largest record in bytes.
pub const MAX_RECORD_BYTES: usize = 1 << 24;
/// Largest buffer in bytes.
pub const MAX_BYTES: usize = 1 << 40;

/// Shape of a recorder of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    record_bytes: usize,
    capacity: usize,
}

impl Layout {
    /// For the last `capacity` records of exactly `record_bytes` bytes each.
    ///
    /// # Errors
    /// A zero, a record above [`MAX_RECORD_BYTES`] or a buffer above [`MAX_BYTES`].
    pub const fn for_records(record_bytes: usize, capacity: usize) -> Result<Self, LayoutError> {
        if record_bytes == 0 || capacity == 0 {
            return Err(LayoutError::Zero);
        }
        if record_bytes > MAX_RECORD_BYTES || capacity > MAX_BYTES / record_bytes / 2 {
            return Err(LayoutError::TooLarge);
        }
        Ok(Self {
            record_bytes,
            capacity,
        })
    }

    /// Bytes of each record.
    pub const fn record_bytes(&self) -> usize {
        self.record_bytes
    }

    /// Records kept.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes of shared memory: the control line and the records, each of whole words.
    pub const fn bytes(&self) -> usize {
        FIRST_DATA_LINE * LINE_BYTES + self.words() * WORD_BYTES
    }

    const fn words(&self) -> usize {
        self.capacity * words_for(self.record_bytes)
    }
}

/// The places of the records.
struct Slots<'m> {
    words: &'m [AtomicU64],
    slot_words: usize,
    record_bytes: usize,
    capacity: u64,
}

impl<'m> Slots<'m> {
    fn new(lines: &Lines<'m>, layout: &Layout) -> Result<Self, AttachError> {
        Ok(Self {
            words: lines.span(FIRST_DATA_LINE, layout.words())?,
            slot_words: words_for(layout.record_bytes),
            record_bytes: layout.record_bytes,
            capacity: layout.capacity as u64,
        })
    }

    fn at(&self, position: u64) -> Result<&'m [AtomicU64], Error> {
        let from = (position % self.capacity) as usize * self.slot_words;
        self.words
            .get(from..from + self.slot_words)
            .ok_or(Error::Corrupt)
    }
}

/// The writing end.
pub struct Writer<'m> {
    slots: Slots<'m>,
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
            slots: Slots::new(&lines, layout)?,
            log,
        })
    }

    /// Append one record, overwriting the oldest when full. Bounded: no wait.
    ///
    /// # Errors
    /// [`Error::Length`] unless `record` has the layout's length.
    pub fn write(&mut self, record: &[u8]) -> Result<(), Error> {
        if record.len() != self.slots.record_bytes {
            return Err(Error::Length);
        }
        let slot = self.slots.at(self.log.committed())?;
        self.log.reserve(1);
        copy::store(slot, record);
        self.log.commit(1);
        Ok(())
    }

    /// Records written since the buffer was created, over all restarts.
    pub fn written(&self) -> u64 {
        self.log.committed()
    }
}

/// A reading end, of which there may be any number.
pub struct Reader<'m> {
    slots: Slots<'m>,
    log: Follower<'m>,
}

impl<'m> Reader<'m> {
    /// Join as a reader, at the oldest record that is there.
    ///
    /// # Errors
    /// The view is too small for the layout.
    pub fn attach(view: View<'m>, layout: &Layout) -> Result<Self, AttachError> {
        let lines = view.lines(layout.bytes())?;
        let reserved = lines.word(CONTROL_LINE, RESERVED)?;
        let committed = lines.word(CONTROL_LINE, COMMITTED)?;
        let log = Follower::attach(reserved, committed, layout.capacity as u64);
        Ok(Self {
            slots: Slots::new(&lines, layout)?,
            log,
        })
    }

    /// Copy the next records, one after the other, as many as are there and fit.
    ///
    /// # Errors
    /// [`Error::Length`] unless `records` is a multiple of the length, [`Error::Corrupt`] when the
    /// writer went back.
    pub fn read(&mut self, records: &mut [u8]) -> Result<Read, Error> {
        let size = self.slots.record_bytes;
        if !records.len().is_multiple_of(size) {
            return Err(Error::Length);
        }
        let stretch = self.log.stretch(records.len() / size)?;
        for (position, record) in (stretch.from..)
            .zip(records.chunks_exact_mut(size))
            .take(stretch.count)
        {
            copy::load(self.slots.at(position)?, record);
        }
        let intact = self.log.verify(&stretch);
        records.copy_within(intact.dropped * size..stretch.count * size, 0);
        Ok(Read {
            count: intact.count,
            lost: intact.lost,
        })
    }

    /// Number of the next record to be read, counted from 0 at creation.
    pub fn position(&self) -> u64 {
        self.log.cursor()
    }

    /// Go on at `position`, as given by [`Reader::position`] of an earlier instance.
    pub fn seek(&mut self, position: u64) {
        self.log.seek(position);
    }
}
