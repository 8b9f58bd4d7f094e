//! A buffer between two stages: four-slot or ring, one writer and one reader

use crate::message::{BYTES, Message};
use bulkhead_buffers::{Error, Region, four_slot, ring};
use zerocopy::{FromZeros, IntoBytes};

/// How messages wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The newest one: four slots.
    Newest,
    /// Each, in so many places.
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

/// Makes a buffer in memory that `take` finds, so many bytes of zeros, or does not.
pub fn make(
    kind: Kind,
    take: impl FnOnce(usize) -> Option<Region<'static>>,
) -> Option<(Input, Output)> {
    match kind {
        Kind::Newest => {
            let layout = four_slot::Layout::for_messages(BYTES).ok()?;
            let region = take(layout.bytes())?;
            let writer = four_slot::Writer::attach(region, &layout).ok()?;
            let reader = four_slot::Reader::attach(region, &layout).ok()?;
            Some((Input::Newest(reader), Output::Newest(writer)))
        }
        Kind::Each(places) => {
            let layout = ring::Layout::for_messages(BYTES, places.max(1) as usize).ok()?;
            let region = take(layout.bytes())?;
            let producer = ring::Producer::attach(region, &layout).ok()?;
            let consumer = ring::Consumer::attach(region, &layout).ok()?;
            Some((Input::Each(consumer), Output::Each(producer)))
        }
    }
}

impl Input {
    /// A message that was not read before.
    pub fn fresh(&mut self) -> Option<Message> {
        let mut message = Message::new_zeroed();
        let read = match self {
            Self::Newest(reader) => reader
                .read(message.as_mut_bytes())
                .is_ok_and(|read| read.advanced > 0),
            Self::Each(consumer) => consumer.try_pop(message.as_mut_bytes()).is_ok(),
        };
        read.then_some(message)
    }
}

impl Output {
    /// Puts a message in; whether there was room.
    pub fn put(&mut self, message: &Message) -> bool {
        match self {
            Self::Newest(writer) => writer.write(message.as_bytes()).is_ok(),
            Self::Each(producer) => {
                !matches!(producer.try_push(message.as_bytes()), Err(Error::Full))
            }
        }
    }
}
