//! A buffer between two stages: four-slot or ring, one writer and one reader

use crate::message::{BYTES, Message};
use bulkhead_abi::pipe::{Pipe, Stage};
use bulkhead_buffers::{Error, Region, four_slot, ring};
use zerocopy::{FromZeros, IntoBytes};

/// Capacity of a ring between a last stage in Linux and the bridge.
pub const OUTWARD_PLACES: u32 = 64;

/// Capacity of a ring between a last stage and its gatherer.
pub const GATHERED_PLACES: u32 = 16;

/// Kind of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only the newest message counts: four slots.
    Newest,
    /// Every message counts: a ring of this capacity.
    Each(u32),
}

/// The reading end.
pub enum Input {
    /// Four slots.
    Newest(four_slot::Reader<'static>),
    /// A ring.
    Each(ring::Consumer<'static>),
}

/// The writing end.
pub enum Output {
    /// Four slots.
    Newest(four_slot::Writer<'static>),
    /// A ring.
    Each(ring::Producer<'static>),
}

impl Kind {
    /// The kind of the buffers before a stage of a pipe.
    #[must_use]
    pub const fn before(pipe: &Pipe, reader: &Stage) -> Self {
        match pipe.fifo {
            0 => Self::Newest,
            _ => Self::Each(reader.buffer),
        }
    }

    /// Bytes of such a buffer; `None` if the capacity is not valid.
    #[must_use]
    pub fn bytes(self) -> Option<usize> {
        match self {
            Self::Newest => Some(four_slots()?.bytes()),
            Self::Each(places) => Some(ring_of(places)?.bytes()),
        }
    }
}

fn four_slots() -> Option<four_slot::Layout> {
    four_slot::Layout::for_messages(BYTES).ok()
}

fn ring_of(places: u32) -> Option<ring::Layout> {
    ring::Layout::for_messages(BYTES, places.max(1) as usize).ok()
}

/// Creates a buffer in memory from `take`, which returns so many zeroed bytes or nothing.
pub fn make(
    kind: Kind,
    take: impl FnOnce(usize) -> Option<Region<'static>>,
) -> Option<(Input, Output)> {
    let region = take(kind.bytes()?)?;
    Some((Input::attach(kind, region)?, Output::attach(kind, region)?))
}

impl Input {
    /// Attaches to a buffer that the other end may use already; `None` if the memory is too small.
    #[must_use]
    pub fn attach(kind: Kind, region: Region<'static>) -> Option<Self> {
        Some(match kind {
            Kind::Newest => Self::Newest(four_slot::Reader::attach(region, &four_slots()?).ok()?),
            Kind::Each(places) => {
                Self::Each(ring::Consumer::attach(region, &ring_of(places)?).ok()?)
            }
        })
    }

    /// Takes a message that was not read before.
    pub fn fresh(&mut self) -> Option<Message> {
        let mut message = Message::new_zeroed();
        (self.read(&mut message) > 0).then_some(message)
    }

    /// Takes it, with the number of messages written since the one before it: itself,
    /// and those that it overwrote.
    pub fn fresh_of(&mut self) -> Option<(Message, u64)> {
        let mut message = Message::new_zeroed();
        let written = self.read(&mut message);
        (written > 0).then_some((message, written))
    }

    /// Number of messages written since the last read one, if there is a new one.
    #[inline(always)]
    fn read(&mut self, message: &mut Message) -> u64 {
        match self {
            Self::Newest(reader) => reader
                .read(message.as_mut_bytes())
                .map_or(0, |read| read.advanced),
            Self::Each(consumer) => consumer.try_pop(message.as_mut_bytes()).is_ok().into(),
        }
    }
}

impl Output {
    /// Attaches to a buffer, as [`Input::attach`].
    #[must_use]
    pub fn attach(kind: Kind, region: Region<'static>) -> Option<Self> {
        Some(match kind {
            Kind::Newest => Self::Newest(four_slot::Writer::attach(region, &four_slots()?).ok()?),
            Kind::Each(places) => {
                Self::Each(ring::Producer::attach(region, &ring_of(places)?).ok()?)
            }
        })
    }

    /// Writes a message. Returns whether there was room.
    pub fn put(&mut self, message: &Message) -> bool {
        match self {
            Self::Newest(writer) => writer.write(message.as_bytes()).is_ok(),
            Self::Each(producer) => {
                !matches!(producer.try_push(message.as_bytes()), Err(Error::Full))
            }
        }
    }
}
