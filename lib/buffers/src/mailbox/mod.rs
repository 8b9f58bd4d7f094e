//! Mailbox: one slot, half duplex, transactions
//!
//! The channel of paper 001 §4.2: one slot of configurable capacity, used by one direction at a
//! time; a message longer than the slot goes as several parts of one transaction, the first flagged
//! *start* and the last *end*. One side has the *floor*, the right to send, so no collision occurs:
//! [`Side::First`] has it at first, and a part flagged *over* passes it on. One-way use never sets
//! *over*.
//!
//! Both directions count their parts together: the newer of the two sides' posts is the one that
//! matters. Which side has the floor, and whether the slot is free, follows from the two posts and
//! the two acknowledgements alone. No side remembers a state that the other could contradict.
//!
//! *Ordering.* The slot is filled before the post is stored (release) and read after it is loaded
//! (acquire); it is read before `taken` is stored (release) and refilled after `taken` is loaded
//! (acquire). No access needs more.
//!
//! *Restart.* An end continues from its own two words in shared memory. A part that was not posted
//! never happened; one that was not acknowledged is received by the next instance. An end that
//! finds itself with the floor after a restart sends, if only an empty transaction with *over*, or
//! the peer waits; a *start* where the last transaction has had no *end* tells the receiver to drop
//! the torso.
//!
//! *Nonsense.* A part that does not follow the last one known is reported as [`Error::Corrupt`] and
//! passed over; the end goes on counting from there. Numbers are compared modulo their range, and
//! each end stores its own words again whenever it has to wait, so that two correct ends agree
//! again whatever the words held, provided that an end refused with [`Error::Floor`] receives, and
//! one that finds itself with the floor uses it or passes it.

mod transaction;

use crate::atomic::{AtomicU64, Ordering};
use crate::copy::{self, words_for};
use crate::error::{AttachError, Error, LayoutError};
use crate::region::{LINE_BYTES, Region, WORD_BYTES};

pub use transaction::{Incoming, Outgoing, Transaction};

const FIRST_LINE: usize = 0;
const SECOND_LINE: usize = 1;
const SLOT_LINE: usize = 2;
const POSTED: usize = 0;
const LENGTH: usize = 1;
const TAKEN: usize = 2;
/// Largest slot in bytes.
pub const MAX_SLOT_BYTES: usize = 1 << 24;

/// Shape of a mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    slot_bytes: usize,
}

impl Layout {
    /// For parts of at most `slot_bytes` bytes.
    ///
    /// # Errors
    /// Zero, or more than [`MAX_SLOT_BYTES`].
    pub const fn for_slot(slot_bytes: usize) -> Result<Self, LayoutError> {
        match slot_bytes {
            0 => Err(LayoutError::Zero),
            1..=MAX_SLOT_BYTES => Ok(Self { slot_bytes }),
            _ => Err(LayoutError::TooLarge),
        }
    }

    /// Bytes of the slot.
    pub const fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// Bytes of shared memory: a control line for each side, and the slot.
    pub const fn bytes(&self) -> usize {
        SLOT_LINE * LINE_BYTES + words_for(self.slot_bytes) * WORD_BYTES
    }
}

/// End of the mailbox; the description names the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Has the floor to begin with: the sender, or the client.
    First,
    /// The receiver, or the server.
    Second,
}

/// Place of a part in its transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// The first part.
    pub start: bool,
    /// The last part.
    pub end: bool,
    /// The floor passes to the receiver of this part.
    pub over: bool,
}

/// A part that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its length in bytes.
    pub length: usize,
    /// Its place in the transaction.
    pub flags: Flags,
}

/// Post of a side: the number of its last part in bits 63–3, the flags in bits 2–0.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Post(u64);

impl Post {
    const START: u64 = 1;
    const END: u64 = 2;
    const OVER: u64 = 4;
    const FLAGS: u64 = 7;
    const NEXT: u64 = 8;

    /// Decodes an end's last post. If the second side has none yet, the first has the floor.
    fn left_by(side: Side, word: u64) -> Self {
        match (side, word) {
            (Side::Second, 0) => Self(Self::OVER),
            _ => Self(word),
        }
    }

    /// The part after this one.
    fn next(self, flags: Flags) -> Self {
        let flags = [
            (flags.start, Self::START),
            (flags.end, Self::END),
            (flags.over, Self::OVER),
        ]
        .iter()
        .fold(0, |word, (set, bit)| if *set { word | bit } else { word });
        Self(self.number().wrapping_add(Self::NEXT) | flags)
    }

    /// The part before this one, as one that leaves the floor to the first side.
    fn before(self, side: Side) -> Self {
        let flags = if side == Side::Second { Self::OVER } else { 0 };
        Self(self.number().wrapping_sub(Self::NEXT) | flags)
    }

    /// The number, in place.
    fn number(self) -> u64 {
        self.0 & !Self::FLAGS
    }

    /// By how much this part is later than `other`, modulo all numbers.
    fn lead(self, other: Self) -> i64 {
        self.number().wrapping_sub(other.number()).cast_signed()
    }

    fn flags(self) -> Flags {
        Flags {
            start: self.0 & Self::START != 0,
            end: self.0 & Self::END != 0,
            over: self.0 & Self::OVER != 0,
        }
    }
}

/// Sender of the last part, seen from one end.
enum Last {
    Nobody,
    Mine,
    Theirs,
}

/// The control line of one side: what it posted, its length, and the number it last took from the
/// other.
struct Line<'m> {
    posted: &'m AtomicU64,
    length: &'m AtomicU64,
    taken: &'m AtomicU64,
}

/// One end of a mailbox.
pub struct Mailbox<'m> {
    mine: Line<'m>,
    theirs: Line<'m>,
    slot: &'m [AtomicU64],
    slot_bytes: usize,
    side: Side,
    posted: Post,
    taken: Post,
}

impl<'m> Mailbox<'m> {
    /// Join as `side`, at creation or after a restart.
    ///
    /// # Errors
    /// The region is too small for the layout.
    pub fn attach(region: Region<'m>, layout: &Layout, side: Side) -> Result<Self, AttachError> {
        let lines = region.lines(layout.bytes())?;
        let line = |at| -> Result<Line<'m>, AttachError> {
            Ok(Line {
                posted: lines.word(at, POSTED)?,
                length: lines.word(at, LENGTH)?,
                taken: lines.word(at, TAKEN)?,
            })
        };
        let (mine, theirs) = match side {
            Side::First => (line(FIRST_LINE)?, line(SECOND_LINE)?),
            Side::Second => (line(SECOND_LINE)?, line(FIRST_LINE)?),
        };
        let slot = lines.span(SLOT_LINE, words_for(layout.slot_bytes))?;
        let posted = Post::left_by(side, mine.posted.load(Ordering::Relaxed));
        let taken = Post(mine.taken.load(Ordering::Relaxed));
        let slot_bytes = layout.slot_bytes;
        let mut mailbox = Self {
            mine,
            theirs,
            slot,
            slot_bytes,
            side,
            posted,
            taken,
        };
        if taken.lead(posted) > 0 {
            mailbox.follow(taken);
        }
        Ok(mailbox)
    }

    /// Returns true if this end may send, now or as soon as the slot is free.
    pub fn holds_floor(&self) -> bool {
        self.floor(self.peer_post())
    }

    /// Bytes of the slot.
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// Number of the last part that this end sent, among the parts of both directions, from 1.
    pub fn sequence(&self) -> u64 {
        self.posted.number() / Post::NEXT
    }

    /// Put one part into the slot.
    ///
    /// # Errors
    /// [`Error::Length`] when it is longer than the slot, [`Error::Floor`] when it is the peer's
    /// turn, [`Error::Full`] when the last part has not been taken.
    pub fn try_send(&mut self, bytes: &[u8], flags: Flags) -> Result<(), Error> {
        if bytes.len() > self.slot_bytes {
            return Err(Error::Length);
        }
        let last = self.clear_to_send().inspect_err(|_| self.restore())?;
        copy::store(self.slot, bytes);
        self.mine
            .length
            .store(bytes.len() as u64, Ordering::Relaxed);
        self.posted = last.next(flags);
        self.mine.posted.store(self.posted.0, Ordering::Release);
        Ok(())
    }

    /// The last part, if this end has the floor and the slot is free.
    fn clear_to_send(&self) -> Result<Post, Error> {
        let peer = self.peer_post();
        if !self.floor(peer) {
            return Err(Error::Floor);
        }
        match self.last(peer) {
            Last::Mine if !self.acknowledged() => Err(Error::Full),
            Last::Theirs => Ok(peer),
            Last::Mine | Last::Nobody => Ok(self.posted),
        }
    }

    /// Take the part in the slot; `bytes` should have room for a whole slot.
    ///
    /// # Errors
    /// [`Error::Empty`]; [`Error::Length`] when `bytes` is too short (the part stays);
    /// [`Error::Corrupt`] when the peer's post is nonsense (it is passed over).
    pub fn try_receive(&mut self, bytes: &mut [u8]) -> Result<Part, Error> {
        let (peer, part) = self.arrived()?;
        let message = bytes.get_mut(..part.length).ok_or(Error::Length)?;
        copy::load(self.slot, message);
        self.take(peer);
        Ok(part)
    }

    /// Take the part in the slot without copying it.
    ///
    /// # Errors
    /// As [`Mailbox::try_receive`], but for the length.
    pub fn discard(&mut self) -> Result<Part, Error> {
        let (peer, part) = self.arrived()?;
        self.take(peer);
        Ok(part)
    }

    /// The peer's post, if it is new and makes sense.
    fn arrived(&mut self) -> Result<(Post, Part), Error> {
        self.restore();
        let peer = self.peer_post();
        if !matches!(self.last(peer), Last::Theirs) || self.has_taken(peer) {
            return Err(Error::Empty);
        }
        let length = self.theirs.length.load(Ordering::Relaxed);
        if length > self.slot_bytes as u64 || !self.expects(peer) {
            self.follow(peer);
            return Err(Error::Corrupt);
        }
        Ok((
            peer,
            Part {
                length: length as usize,
                flags: peer.flags(),
            },
        ))
    }

    /// Returns true if `peer` follows the last part known to this end, its own or the peer's.
    fn expects(&self, peer: Post) -> bool {
        let last = if self.taken.lead(self.posted) > 0 {
            self.taken
        } else {
            self.posted
        };
        peer.lead(last) == Post::NEXT.cast_signed()
    }

    fn has_taken(&self, peer: Post) -> bool {
        self.taken.number() == peer.number()
    }

    fn take(&mut self, peer: Post) {
        self.taken = Post(peer.number());
        self.mine.taken.store(self.taken.0, Ordering::Release);
    }

    /// Pass over `peer`, and count on from there. This end's own last part is history by then; it
    /// is moved up, so that what is compared always lies close together.
    fn follow(&mut self, peer: Post) {
        self.posted = peer.before(self.side);
        self.mine.posted.store(self.posted.0, Ordering::Release);
        self.take(peer);
    }

    fn peer_post(&self) -> Post {
        Post(self.theirs.posted.load(Ordering::Acquire))
    }

    /// Returns true if the peer has taken this end's last part.
    fn acknowledged(&self) -> bool {
        self.theirs.taken.load(Ordering::Acquire) == self.posted.number()
    }

    /// The later post. Both ends subtract in the same order, so that they agree even on nonsense.
    fn last(&self, peer: Post) -> Last {
        let lead = match self.side {
            Side::First => self.posted.lead(peer),
            Side::Second => peer.lead(self.posted),
        };
        match (lead.signum(), self.side) {
            (0, _) => Last::Nobody,
            (1, Side::First) | (-1, Side::Second) => Last::Mine,
            _ => Last::Theirs,
        }
    }

    fn floor(&self, peer: Post) -> bool {
        match self.last(peer) {
            Last::Nobody => self.side == Side::First,
            Last::Mine => !self.posted.flags().over,
            Last::Theirs => peer.flags().over && self.has_taken(peer),
        }
    }

    /// Put this end's own words right, should the peer have overwritten them: done whenever this
    /// end would wait, since the peer may be waiting for just that.
    fn restore(&self) {
        for (word, expected) in [
            (self.mine.posted, self.posted),
            (self.mine.taken, self.taken),
        ] {
            if word.load(Ordering::Relaxed) != expected.0 {
                word.store(expected.0, Ordering::Release);
            }
        }
    }
}
