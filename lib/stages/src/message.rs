//! What travels between stages

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// First stages of a pipe, each of which numbers its messages.
pub const HEADS: usize = 4;

/// When a message entered, and the how manieth it was there.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Entry {
    /// From 1; 0: nothing of that first stage is in here.
    pub number: u64,
    /// Tick; with number 0 when a stage fell back.
    pub at: u64,
}

/// A message: two words of data, and what they come from.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Message {
    /// Tick at which it was put into the buffer.
    pub put: u64,
    /// By first stage.
    pub entries: [Entry; HEADS],
    /// The data.
    pub data: [u64; 2],
}

/// Bytes of a message in a buffer.
pub const BYTES: usize = size_of::<Message>();

impl Message {
    /// The end of a task: it comes from no first stage's message.
    pub const END: Self = Self {
        put: 0,
        entries: [Entry { number: 0, at: 0 }; HEADS],
        data: [0; 2],
    };

    /// The same, put in by a first stage at a tick: what is told of a pipe that ended then is certain once this came out of it.
    #[must_use]
    pub const fn end(at: u64) -> Self {
        let mut end = Self::END;
        end.data[0] = at;
        end
    }

    /// The tick at which a first stage put in this end of a task.
    #[must_use]
    pub const fn ended_at(&self) -> u64 {
        self.data[0]
    }

    /// What a stage sends that has fallen back at a tick: it comes from no first stage's message either.
    #[must_use]
    pub fn instead(at: u64) -> Self {
        Self {
            entries: [Entry { number: 0, at }; HEADS],
            ..Self::default()
        }
    }

    /// Whether it is an end of task.
    #[must_use]
    pub fn is_end(&self) -> bool {
        self.entries
            .iter()
            .all(|entry| [entry.number, entry.at] == [0; 2])
    }

    /// Takes over the entries of another one; the newest of each first stage stays.
    pub fn comes_from(&mut self, other: &Self) {
        for (own, entry) in self.entries.iter_mut().zip(&other.entries) {
            if (entry.number, entry.at) > (own.number, own.at) {
                *own = *entry;
            }
        }
    }
}
