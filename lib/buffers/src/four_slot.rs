//! Four-slot: the newest message, whole, without waiting
//!
//! Simpson's fully asynchronous mechanism (H. R. Simpson, "Four-slot fully asynchronous
//! communication mechanism", IEE Proc. E 137(1), 1990; named in paper 001 §5.1.3). Two pairs of two
//! slots: the writer avoids the pair that the reader has announced, and within a pair the slot
//! written last.
//!
//! Simpson's `latest` and `slot[2]` are bits of one control word here and change in one store, with
//! the sequence number above them; that merges two of his steps into one and so only removes
//! interleavings.
//!
//! *Why whole.* Let the writer fill slot `s` of pair `p`, so it saw `reading ≠ p`, and let the reader
//! take a slot of `p`: it announced `reading = p`, then looked at the control word. If the writer's
//! look came first, the control word the reader saw names the other slot of `p`, or `s` after its
//! completion, the next reuse of which is preceded by a look that sees `reading = p`.
//! Announce-then-look on both sides needs the total order of sequentially consistent accesses
//! (`announce`, `look`). The payload is ordered by the same words: filled before the control
//! store (release), read after the control load (acquire); read before the next `reading` store
//! (release), refilled after the writer's look at it (acquire).
//!
//! *Why fresh.* The slot taken is the last completed one of the pair that was latest at the first
//! look, at the time of the second: never older than the newest message when the read began.
//!
//! *In place.* Data outside of the buffer, a piece for each slot, has the same guarantees: the writer
//! reserves a slot ([`Writer::reserve`]), which is a write that lasts longer, and the slot of a read
//! ([`Freshness::slot`]) stays the reader's until its next read.
//!
//! *Restart.* Both ends are stateless but for their own word in shared memory: a writer that dies in
//! a write has not published it, a reader that dies leaves one pair avoided.

use crate::atomic::{AtomicU64, Ordering, announce, look};
use crate::copy::{self, words_for};
use crate::error::{AttachError, Error, LayoutError};
use crate::region::{LINE_BYTES, LINE_WORDS, Region};

const WRITER_LINE: usize = 0;
const READER_LINE: usize = 1;
const FIRST_SLOT_LINE: usize = 2;
/// Number of slots.
pub const SLOTS: usize = 4;
/// Largest message in bytes.
pub const MAX_MESSAGE_BYTES: usize = 1 << 24;

/// Shape of a four-slot buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    message_bytes: usize,
}

impl Layout {
    /// For messages of exactly `message_bytes` bytes.
    ///
    /// # Errors
    /// Zero, or more than [`MAX_MESSAGE_BYTES`].
    pub const fn for_messages(message_bytes: usize) -> Result<Self, LayoutError> {
        match message_bytes {
            0 => Err(LayoutError::Zero),
            1..=MAX_MESSAGE_BYTES => Ok(Self { message_bytes }),
            _ => Err(LayoutError::TooLarge),
        }
    }

    /// Bytes of each message.
    pub const fn message_bytes(&self) -> usize {
        self.message_bytes
    }

    /// Bytes of shared memory: two control lines and four slots of whole cache lines.
    pub const fn bytes(&self) -> usize {
        (FIRST_SLOT_LINE + SLOTS * self.slot_lines()) * LINE_BYTES
    }

    const fn slot_lines(&self) -> usize {
        self.message_bytes.div_ceil(LINE_BYTES)
    }
}

/// The control word: bit p = slot of pair p written last, bit 2 = latest pair, above it the
/// sequence.
#[derive(Clone, Copy)]
struct Control(u64);

impl Control {
    const LATEST: u32 = 2;
    const SEQUENCE: u32 = 3;
    /// No machine lives long enough to write so many messages: nonsense.
    const IMPLAUSIBLE: u64 = 1 << 60;

    /// Decodes a writer's word; counts anew after an invalid one, so that the sequence never wraps
    /// to nothing.
    fn found(word: u64) -> Self {
        let found = Self(word);
        if found.sequence() < Self::IMPLAUSIBLE {
            return found;
        }
        Self(word & ((1 << Self::SEQUENCE) - 1))
    }

    fn slot(self, pair: u64) -> u64 {
        self.0 >> pair & 1
    }

    fn latest(self) -> u64 {
        self.0 >> Self::LATEST & 1
    }

    fn sequence(self) -> u64 {
        self.0 >> Self::SEQUENCE
    }

    /// After filling the other slot of `pair`.
    fn published(self, pair: u64) -> Self {
        let slots = (self.0 ^ 1 << pair) & 0b11;
        let sequence = self.sequence().wrapping_add(1) << Self::SEQUENCE;
        Self(sequence | pair << Self::LATEST | slots)
    }
}

/// Index of a slot of a pair, from 0 to 3.
fn index(pair: u64, slot: u64) -> usize {
    usize::from(pair & 1 != 0) * 2 + usize::from(slot & 1 != 0)
}

/// The parts that both ends see.
struct Shared<'m> {
    control: &'m AtomicU64,
    sequences: &'m [AtomicU64],
    reading: &'m AtomicU64,
    slots: &'m [AtomicU64],
    slot_words: usize,
    message_bytes: usize,
}

impl<'m> Shared<'m> {
    fn new(region: Region<'m>, layout: &Layout) -> Result<Self, AttachError> {
        let lines = region.lines(layout.bytes())?;
        let slot_words = layout.slot_lines() * LINE_WORDS;
        let (control, sequences) =
            lines
                .span(WRITER_LINE, 1 + SLOTS)?
                .split_first()
                .ok_or(AttachError::TooSmall {
                    needed: layout.bytes(),
                    given: 0,
                })?;
        Ok(Self {
            control,
            sequences,
            reading: lines.word(READER_LINE, 0)?,
            slots: lines.span(FIRST_SLOT_LINE, SLOTS * slot_words)?,
            slot_words,
            message_bytes: layout.message_bytes,
        })
    }

    /// Sequence word and payload of one slot; the masked arguments are always in range.
    fn slot(&self, pair: u64, slot: u64) -> Option<(&'m AtomicU64, &'m [AtomicU64])> {
        let index = index(pair, slot);
        let from = index * self.slot_words;
        let words = self.slots.get(from..from + words_for(self.message_bytes))?;
        Some((self.sequences.get(index)?, words))
    }
}

/// The writing end.
pub struct Writer<'m> {
    shared: Shared<'m>,
    control: Control,
    /// Pair of the reserved slot.
    reserved: Option<u64>,
}

impl<'m> Writer<'m> {
    /// Join as writer, at creation or after a restart; the sequence goes on where it stood.
    ///
    /// # Errors
    /// The region is too small for the layout.
    pub fn attach(region: Region<'m>, layout: &Layout) -> Result<Self, AttachError> {
        let shared = Shared::new(region, layout)?;
        let control = Control::found(shared.control.load(Ordering::Relaxed));
        Ok(Self {
            shared,
            control,
            reserved: None,
        })
    }

    /// Reserves the slot of the next message, from 0 to 3, until that is written.
    pub fn reserve(&mut self) -> usize {
        let pair = self.reserved.unwrap_or_else(|| self.other_pair());
        self.reserved = Some(pair);
        index(pair, self.control.published(pair).slot(pair))
    }

    /// The pair that the reader has not announced.
    fn other_pair(&self) -> u64 {
        look(self.shared.reading) & 1 ^ 1
    }

    /// Make `message` the newest one and give its sequence number, from 1. Bounded: no loop, no
    /// wait.
    ///
    /// # Errors
    /// [`Error::Length`] unless `message` has the layout's length.
    #[inline]
    pub fn write(&mut self, message: &[u8]) -> Result<u64, Error> {
        if message.len() != self.shared.message_bytes {
            return Err(Error::Length);
        }
        let pair = self.reserved.take().unwrap_or_else(|| self.other_pair());
        let next = self.control.published(pair);
        let (sequence, words) = self
            .shared
            .slot(pair, next.slot(pair))
            .ok_or(Error::Corrupt)?;
        sequence.store(next.sequence(), Ordering::Relaxed);
        copy::store(words, message);
        announce(self.shared.control, next.0);
        self.control = next;
        Ok(next.sequence())
    }

    /// Messages written since the buffer was created, over all restarts.
    pub fn sequence(&self) -> u64 {
        self.control.sequence()
    }

    /// Copy what was written last, perhaps before a restart, and give its sequence number. Only
    /// this end fills slots, so no claim is needed; a hostile peer may have spoilt the content.
    ///
    /// # Errors
    /// As [`Reader::read`].
    pub fn newest(&self, message: &mut [u8]) -> Result<u64, Error> {
        if message.len() != self.shared.message_bytes {
            return Err(Error::Length);
        }
        if self.control.sequence() == 0 {
            return Err(Error::Empty);
        }
        let pair = self.control.latest();
        let (_, words) = self
            .shared
            .slot(pair, self.control.slot(pair))
            .ok_or(Error::Corrupt)?;
        copy::load(words, message);
        Ok(self.control.sequence())
    }
}

/// Which message a read got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// Number of the message, counted from 1 by the writer.
    pub sequence: u64,
    /// Messages since the last read: 0 = the same again, 1 = the next, n = n − 1 went by unread.
    pub advanced: u64,
    /// The slot it is in, from 0 to 3.
    pub slot: usize,
}

/// The reading end.
pub struct Reader<'m> {
    shared: Shared<'m>,
    last: u64,
}

impl<'m> Reader<'m> {
    /// Join as reader, at creation or after a restart.
    ///
    /// # Errors
    /// The region is too small for the layout.
    pub fn attach(region: Region<'m>, layout: &Layout) -> Result<Self, AttachError> {
        let shared = Shared::new(region, layout)?;
        announce(shared.reading, shared.reading.load(Ordering::Relaxed) & 1);
        Ok(Self { shared, last: 0 })
    }

    /// Copy the newest message. Bounded: no loop, no wait.
    ///
    /// # Errors
    /// [`Error::Empty`] when nothing was ever written, [`Error::Length`] unless `message` has the
    /// layout's length.
    #[inline]
    pub fn read(&mut self, message: &mut [u8]) -> Result<Freshness, Error> {
        if message.len() != self.shared.message_bytes {
            return Err(Error::Length);
        }
        let first = Control(look(self.shared.control));
        if first.sequence() == 0 {
            return Err(Error::Empty);
        }
        let pair = first.latest();
        let control = self.claim(pair, first);
        let slot = control.slot(pair);
        let (sequence, words) = self.shared.slot(pair, slot).ok_or(Error::Corrupt)?;
        let sequence = sequence.load(Ordering::Relaxed);
        copy::load(words, message);
        let advanced = sequence.wrapping_sub(self.last);
        self.last = sequence;
        Ok(Freshness {
            sequence,
            advanced,
            slot: index(pair, slot),
        })
    }

    /// Announce `pair` and look again. When it stands announced already, the first look came after.
    fn claim(&self, pair: u64, first: Control) -> Control {
        if self.shared.reading.load(Ordering::Relaxed) == pair {
            return first;
        }
        announce(self.shared.reading, pair);
        Control(look(self.shared.control))
    }
}
