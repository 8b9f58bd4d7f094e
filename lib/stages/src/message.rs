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
    /// Tick.
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
    /// Takes over the entries of another one; the newest of each first stage stays.
    pub fn comes_from(&mut self, other: &Self) {
        for (own, entry) in self.entries.iter_mut().zip(&other.entries) {
            if entry.number > own.number {
                *own = *entry;
            }
        }
    }
}
