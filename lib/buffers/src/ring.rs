//! Ring: every message, once, in order
//!
//! One producer, one consumer, fixed-size messages, any capacity. Both cursors count messages since
//! creation and never wrap within the life of a machine; each side keeps its own privately and the
//! peer's in a cache that is refreshed, and validated, only when it says full or empty.
//!
//! *Ordering.* The slot is filled before `tail` is stored (release) and read after `tail` is loaded
//! (acquire); it is read before `head` is stored (release) and refilled after `head` is loaded
//! (acquire). No access needs more.
//!
//! *In place.* Data outside of the ring, a piece for each slot, is read and written where it is with
//! [`Layout::in_place`]: of two slots more than messages fit, one is the producer's while it fills the next
//! message ([`Producer::slot`]), the other one the consumer's until it takes another message
//! ([`Consumer::slot`]): messages `head - 1` to `head + capacity` have slots of their own.
//!
//! *Restart.* Each end continues at its own cursor in shared memory. A push that was cut off before
//! its cursor store never happened; a pop that was cut off gives its message to the next instance.
//!
//! *Nonsense.* The producer's cursor rules: a consumer that finds more than the capacity between the
//! cursors reports [`Error::Corrupt`] and goes to the producer's; a producer that finds it
//! reports it and goes on. Each stores its own cursor again whenever it has to wait, in case the
//! peer had overwritten it, so that two correct ends agree again whatever the words held.

use crate::atomic::{AtomicU64, Ordering};
use crate::copy::{self, words_for};
use crate::error::{AttachError, Error, LayoutError};
use crate::region::{LINE_BYTES, Region, WORD_BYTES};

const PRODUCER_LINE: usize = 0;
const CONSUMER_LINE: usize = 1;
const FIRST_SLOT_LINE: usize = 2;
/// Largest message in bytes.
pub const MAX_MESSAGE_BYTES: usize = 1 << 24;
/// Largest buffer in bytes.
pub const MAX_BYTES: usize = 1 << 40;

/// Slots of [`Layout::in_place`] in addition to the messages that fit.
pub const SPARE: usize = 2;

/// A producer starts below this cursor, and no machine lives long enough to get from here to
const LAST_START: u64 = 1 << 62;
/// this one, so that a consumer takes it for nonsense.
const IMPLAUSIBLE: u64 = 1 << 63;

/// Shape of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    message_bytes: usize,
    capacity: usize,
    /// Slots in addition to the messages that fit.
    spare: usize,
}

impl Layout {
    /// For `capacity` messages of exactly `message_bytes` bytes each.
    ///
    /// # Errors
    /// A zero, a message above [`MAX_MESSAGE_BYTES`] or a buffer above [`MAX_BYTES`].
    pub const fn for_messages(message_bytes: usize, capacity: usize) -> Result<Self, LayoutError> {
        if message_bytes == 0 || capacity == 0 {
            return Err(LayoutError::Zero);
        }
        if message_bytes > MAX_MESSAGE_BYTES || capacity > MAX_BYTES / message_bytes / 2 {
            return Err(LayoutError::TooLarge);
        }
        Ok(Self {
            message_bytes,
            capacity,
            spare: 0,
        })
    }

    /// As [`Layout::for_messages`], with data outside of the ring that both ends use in place.
    ///
    /// # Errors
    /// As [`Layout::for_messages`].
    pub const fn in_place(message_bytes: usize, capacity: usize) -> Result<Self, LayoutError> {
        match Self::for_messages(message_bytes, capacity) {
            Ok(layout) => Ok(Self {
                spare: SPARE,
                ..layout
            }),
            wrong => wrong,
        }
    }

    /// Slots.
    pub const fn slots(&self) -> usize {
        self.capacity + self.spare
    }

    /// Bytes of each message.
    pub const fn message_bytes(&self) -> usize {
        self.message_bytes
    }

    /// Messages that fit.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes of shared memory: two cursor lines and the slots, each of whole words.
    pub const fn bytes(&self) -> usize {
        FIRST_SLOT_LINE * LINE_BYTES + self.slots() * self.slot_words() * WORD_BYTES
    }

    const fn slot_words(&self) -> usize {
        words_for(self.message_bytes)
    }
}

/// The slots and this side's place in them.
struct Slots<'m> {
    words: &'m [AtomicU64],
    slot_words: usize,
    message_bytes: usize,
    /// Number of slots.
    count: u64,
    /// Messages that fit.
    capacity: u64,
    /// First word of the slot at this side's cursor.
    at: usize,
}

impl<'m> Slots<'m> {
    fn new(region: Region<'m>, layout: &Layout) -> Result<Self, AttachError> {
        let slot_words = layout.slot_words();
        let words = region.lines(layout.bytes())?;
        Ok(Self {
            words: words.span(FIRST_SLOT_LINE, slot_words * layout.slots())?,
            slot_words,
            message_bytes: layout.message_bytes,
            count: layout.slots() as u64,
            capacity: layout.capacity as u64,
            at: 0,
        })
    }

    fn go_to(&mut self, cursor: u64) {
        self.at = self.slot(cursor) * self.slot_words;
    }

    /// Index of the slot of a message.
    const fn slot(&self, cursor: u64) -> usize {
        (cursor % self.count) as usize
    }

    /// The words from the cursor on, and a step to the next slot. `at` is this side's own and
    /// always in range; a copy takes what the message needs, which is one slot.
    #[inline]
    fn take(&mut self) -> Result<&'m [AtomicU64], Error> {
        let slot = self.words.get(self.at..).ok_or(Error::Corrupt)?;
        let next = self.at + self.slot_words;
        self.at = if next == self.words.len() { 0 } else { next };
        Ok(slot)
    }
}

/// Cursor words: the producer's and the consumer's.
fn cursors<'m>(
    region: Region<'m>,
    layout: &Layout,
) -> Result<(&'m AtomicU64, &'m AtomicU64), AttachError> {
    let lines = region.lines(layout.bytes())?;
    Ok((lines.word(PRODUCER_LINE, 0)?, lines.word(CONSUMER_LINE, 0)?))
}

/// A cursor found in shared memory. One that could wrap would lose its place there when the
/// capacity is no power of two; such can only be nonsense, and both sides then start from 0.
fn plausible(cursor: u64, bound: u64) -> u64 {
    if cursor < bound { cursor } else { 0 }
}

/// Put this side's word right, should the peer have overwritten it: done whenever this side would
/// wait, since the peer may be waiting for just that.
fn restore(word: &AtomicU64, cursor: u64) {
    if word.load(Ordering::Relaxed) != cursor {
        word.store(cursor, Ordering::Release);
    }
}

/// The sending end.
pub struct Producer<'m> {
    slots: Slots<'m>,
    tail_word: &'m AtomicU64,
    head_word: &'m AtomicU64,
    refused_word: &'m AtomicU64,
    tail: u64,
    refused: u64,
    /// Cursor at which the ring is full as far as is known: the consumer's plus the capacity.
    limit: u64,
}

impl<'m> Producer<'m> {
    /// Join as producer, at creation or after a restart; what was pushed before stays.
    ///
    /// # Errors
    /// The region is too small for the layout.
    pub fn attach(region: Region<'m>, layout: &Layout) -> Result<Self, AttachError> {
        let (tail_word, head_word) = cursors(region, layout)?;
        let mut slots = Slots::new(region, layout)?;
        let tail = plausible(tail_word.load(Ordering::Relaxed), LAST_START);
        tail_word.store(tail, Ordering::Release);
        slots.go_to(tail);
        let refused_word = region.lines(layout.bytes())?.word(PRODUCER_LINE, 1)?;
        Ok(Self {
            slots,
            tail_word,
            head_word,
            refused_word,
            tail,
            refused: plausible(refused_word.load(Ordering::Relaxed), LAST_START),
            limit: tail,
        })
    }

    /// Counts a message that its sender drops because the ring is full, in a word that the host reads. A sender that tries again
    /// counts nothing.
    pub fn count_refused(&mut self) {
        self.refused = self.refused.wrapping_add(1);
        self.refused_word.store(self.refused, Ordering::Relaxed);
    }

    /// Put in one message.
    ///
    /// # Errors
    /// [`Error::Full`], [`Error::Length`] unless `message` has the layout's length,
    /// [`Error::Corrupt`] while the consumer's cursor is nonsense.
    #[inline]
    pub fn try_push(&mut self, message: &[u8]) -> Result<(), Error> {
        if message.len() != self.slots.message_bytes {
            return Err(Error::Length);
        }
        let tail = self.tail;
        if tail == self.limit && self.refresh()? == 0 {
            return Err(Error::Full);
        }
        copy::store(self.slots.take()?, message);
        self.publish(tail.wrapping_add(1));
        Ok(())
    }

    /// Put in as many of the messages, which lie one after the other, as there is room for, and
    /// publish them together; gives their number.
    ///
    /// # Errors
    /// As [`Producer::try_push`]; [`Error::Length`] unless `messages` is a multiple of the length.
    pub fn try_push_batch(&mut self, messages: &[u8]) -> Result<usize, Error> {
        if !messages.len().is_multiple_of(self.slots.message_bytes) {
            return Err(Error::Length);
        }
        let count = messages.len() / self.slots.message_bytes;
        let count = self.room(count)?;
        for message in messages.chunks_exact(self.slots.message_bytes).take(count) {
            copy::store(self.slots.take()?, message);
        }
        self.publish(self.tail.wrapping_add(count as u64));
        Ok(count)
    }

    /// Index of the slot of the next message. Data outside of the ring can be written there before the message is
    /// pushed if the layout is [`Layout::in_place`].
    pub const fn slot(&self) -> usize {
        self.slots.slot(self.tail)
    }

    /// Messages pushed since the buffer was created, over all restarts.
    pub fn pushed(&self) -> u64 {
        self.tail
    }

    /// `wanted`, or what there is room for if that is less; full is an error unless none is wanted.
    fn room(&mut self, count: usize) -> Result<usize, Error> {
        let mut free = self.limit.wrapping_sub(self.tail);
        if free < count as u64 {
            free = self.refresh()?;
        }
        match count.min(usize::try_from(free).unwrap_or(usize::MAX)) {
            0 if count > 0 => Err(Error::Full),
            count => Ok(count),
        }
    }

    #[inline]
    fn publish(&mut self, tail: u64) {
        self.tail = tail;
        self.tail_word.store(tail, Ordering::Release);
    }

    /// Look at the consumer's cursor and give the room there is, in messages.
    #[inline]
    fn refresh(&mut self) -> Result<u64, Error> {
        let head = self.head_word.load(Ordering::Acquire);
        let used = self.tail.wrapping_sub(head);
        let Some(free) = self.slots.capacity.checked_sub(used) else {
            restore(self.tail_word, self.tail);
            return Err(Error::Corrupt);
        };
        if free == 0 {
            restore(self.tail_word, self.tail);
        }
        self.limit = head.wrapping_add(self.slots.capacity);
        Ok(free)
    }
}

/// The receiving end.
pub struct Consumer<'m> {
    slots: Slots<'m>,
    tail_word: &'m AtomicU64,
    head_word: &'m AtomicU64,
    head: u64,
    /// The producer's cursor as far as is known.
    tail: u64,
}

impl<'m> Consumer<'m> {
    /// Join as consumer, at creation or after a restart, at the first message not taken before.
    ///
    /// # Errors
    /// The region is too small for the layout.
    pub fn attach(region: Region<'m>, layout: &Layout) -> Result<Self, AttachError> {
        let (tail_word, head_word) = cursors(region, layout)?;
        let mut slots = Slots::new(region, layout)?;
        let head = plausible(head_word.load(Ordering::Relaxed), IMPLAUSIBLE);
        head_word.store(head, Ordering::Release);
        slots.go_to(head);
        Ok(Self {
            slots,
            tail_word,
            head_word,
            head,
            tail: head,
        })
    }

    /// Take out the oldest message.
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::Length`] unless `message` has the layout's length,
    /// [`Error::Corrupt`] when the producer's cursor was nonsense (unread messages are given up).
    #[inline]
    pub fn try_pop(&mut self, message: &mut [u8]) -> Result<(), Error> {
        if message.len() != self.slots.message_bytes {
            return Err(Error::Length);
        }
        let head = self.head;
        if head == self.tail && self.refresh()? == 0 {
            return Err(Error::Empty);
        }
        copy::load(self.slots.take()?, message);
        self.release(head.wrapping_add(1));
        Ok(())
    }

    /// Take out as many messages as are there and fit into `messages`, one after the other, and
    /// give their slots back together; gives their number.
    ///
    /// # Errors
    /// As [`Consumer::try_pop`]; [`Error::Length`] unless `messages` is a multiple of the length.
    pub fn try_pop_batch(&mut self, messages: &mut [u8]) -> Result<usize, Error> {
        if !messages.len().is_multiple_of(self.slots.message_bytes) {
            return Err(Error::Length);
        }
        let count = messages.len() / self.slots.message_bytes;
        let count = self.available(count)?;
        for message in messages
            .chunks_exact_mut(self.slots.message_bytes)
            .take(count)
        {
            copy::load(self.slots.take()?, message);
        }
        self.release(self.head.wrapping_add(count as u64));
        Ok(count)
    }

    /// Index of the slot of the message that was popped last. Data outside of the ring stays there until the next pop
    /// if the layout is [`Layout::in_place`].
    pub const fn slot(&self) -> usize {
        self.slots.slot(self.head.wrapping_sub(1))
    }

    /// Messages popped since the buffer was created, over all restarts.
    pub fn popped(&self) -> u64 {
        self.head
    }

    /// `wanted`, or what is there if that is less; empty is an error unless none is wanted.
    fn available(&mut self, count: usize) -> Result<usize, Error> {
        let mut there = self.tail.wrapping_sub(self.head);
        if there < count as u64 {
            there = self.refresh()?;
        }
        match count.min(usize::try_from(there).unwrap_or(usize::MAX)) {
            0 if count > 0 => Err(Error::Empty),
            count => Ok(count),
        }
    }

    #[inline]
    fn release(&mut self, head: u64) {
        self.head = head;
        self.head_word.store(head, Ordering::Release);
    }

    /// Look at the producer's cursor and give the number of messages there.
    #[inline]
    fn refresh(&mut self) -> Result<u64, Error> {
        let tail = self.tail_word.load(Ordering::Acquire);
        let there = tail.wrapping_sub(self.head);
        if there > self.slots.capacity || tail >= IMPLAUSIBLE {
            self.adopt(plausible(tail, IMPLAUSIBLE));
            return Err(Error::Corrupt);
        }
        self.tail = tail;
        if there == 0 {
            restore(self.head_word, self.head);
        }
        Ok(there)
    }

    /// Give up what is unread and stand at the producer's cursor.
    #[cold]
    fn adopt(&mut self, tail: u64) {
        self.head = tail;
        self.tail = tail;
        self.slots.go_to(tail);
        self.head_word.store(tail, Ordering::Release);
    }
}
