//! Messages between stages
//!
//! The description declares the size of a message. The words of [`Message`] are the first 16 bytes; a longer message lies as a whole, its
//! first bytes among them, beside the slot of its buffer ([`Content`]), where writer and reader use it in place.

use bulkhead_buffers::Region;
use core::ops::Deref;
use core::sync::atomic::Ordering::Relaxed;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Maximum number of first stages of a pipe, each of which numbers its messages.
pub const HEADS: usize = 4;

/// Time and number of a message at its first stage.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Entry {
    /// From 1; 0: the message contains nothing of that first stage.
    pub number: u64,
    /// Tick; with number 0, the tick of a fallback.
    pub at: u64,
}

/// Bytes of a message that its words have.
pub const WORD_BYTES: usize = 16;

/// Bytes of a message that lie beside its buffer's slot: all of them, or none of a message that its words have.
#[must_use]
pub const fn content_bytes(bytes: u32) -> usize {
    match bytes as usize {
        0..=WORD_BYTES => 0,
        bytes => bytes,
    }
}

/// A message: two words of data, and the first messages from which it was made.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Message {
    /// Tick at which it was written into the buffer.
    pub put: u64,
    /// By first stage.
    pub entries: [Entry; HEADS],
    /// Its first 16 bytes.
    pub data: [u64; 2],
}

/// The bytes of a long message, in memory that a writer and a reader share. A reader that holds it sees no change unless its writer is
/// faulty or hostile.
#[derive(Clone, Copy, Debug)]
pub struct Content {
    memory: Region<'static>,
    bytes: u32,
}

impl Content {
    /// The first `bytes` bytes of a region; `None` if it is shorter.
    #[must_use]
    pub fn new(memory: Region<'static>, bytes: usize) -> Option<Self> {
        let memory = memory.part(0, bytes)?;
        let bytes = u32::try_from(bytes).ok()?;
        Some(Self { memory, bytes })
    }

    /// Its bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes as usize
    }

    /// The memory, in whole words.
    #[must_use]
    pub const fn memory(&self) -> Region<'static> {
        self.memory
    }

    /// Address of its first byte, a multiple of 64.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.memory.words().as_ptr().expose_provenance() as u64
    }

    /// The word of that index; 0 behind the end.
    #[must_use]
    pub fn word(&self, index: usize) -> u64 {
        self.memory
            .words()
            .get(index)
            .map_or(0, |word| word.load(Relaxed))
    }

    /// Writes the word of that index; none behind the end.
    pub fn set_word(&self, index: usize, value: u64) {
        if let Some(word) = self.memory.words().get(index) {
            word.store(value, Relaxed);
        }
    }

    /// Copies its first bytes.
    pub fn read(&self, bytes: &mut [u8]) {
        self.memory.read(bytes);
    }

    /// Writes its first bytes.
    pub fn write(&self, bytes: &[u8]) {
        let bytes = bytes.get(..self.bytes()).unwrap_or(bytes);
        self.memory.write(bytes);
    }

    /// Copies as many bytes of another one as both have, rounded to words.
    pub fn copy_from(&self, other: &Self) {
        self.memory.copy_from(other.memory);
    }

    /// Its first 16 bytes.
    #[must_use]
    pub fn words(&self) -> [u64; 2] {
        [0, 1].map(|index| self.word(index))
    }
}

/// A message that was taken out of a buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Received {
    /// The message.
    pub message: Message,
    /// Its bytes, of a long message.
    pub content: Option<Content>,
    /// Number of messages taken there until then: the content is the reader's until the next one.
    pub(crate) number: u64,
}

impl Deref for Received {
    type Target = Message;

    fn deref(&self) -> &Message {
        &self.message
    }
}

impl Received {
    /// A message with its content, outside of a buffer.
    #[must_use]
    pub const fn new(message: Message, content: Option<Content>) -> Self {
        Self {
            message,
            content,
            number: 0,
        }
    }
}

/// Bytes of a message in a buffer.
pub const BYTES: usize = size_of::<Message>();

impl Message {
    /// The end of a task: no first message.
    pub const END: Self = Self {
        put: 0,
        entries: [Entry { number: 0, at: 0 }; HEADS],
        data: [0; 2],
    };

    /// The end of a task, sent by a first stage at a tick: once it has left the pipe, every message
    /// sent before that tick has left or is lost.
    #[must_use]
    pub const fn end(at: u64) -> Self {
        let mut end = Self::END;
        end.data[0] = at;
        end
    }

    /// The tick at which a first stage sent this end of a task.
    #[must_use]
    pub const fn ended_at(&self) -> u64 {
        self.data[0]
    }

    /// The message of a stage that ran its fallback at a tick: no first message either.
    #[must_use]
    pub fn instead(at: u64) -> Self {
        Self {
            entries: [Entry { number: 0, at }; HEADS],
            ..Self::default()
        }
    }

    /// Returns whether it is an end of task.
    #[must_use]
    pub fn is_end(&self) -> bool {
        self.entries
            .iter()
            .all(|entry| [entry.number, entry.at] == [0; 2])
    }

    /// Adds the entries of another message; the newest of each first stage stays.
    pub fn comes_from(&mut self, other: &Self) {
        for (entry_here, entry) in self.entries.iter_mut().zip(&other.entries) {
            if (entry.number, entry.at) > (entry_here.number, entry_here.at) {
                *entry_here = *entry;
            }
        }
    }
}
