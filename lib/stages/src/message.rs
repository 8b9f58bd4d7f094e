//! Messages between stages

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

/// A message: two words of data, and the first messages from which it was made.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Message {
    /// Tick at which it was written into the buffer.
    pub put: u64,
    /// By first stage.
    pub entries: [Entry; HEADS],
    /// The data.
    pub data: [u64; 2],
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
