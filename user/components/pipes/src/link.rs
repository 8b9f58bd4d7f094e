//! A buffer between two stages: four-slot or ring, one writer and one reader

use crate::message::{BYTES, Message};
use bulkhead_abi::pipe::Pipe;
use bulkhead_buffers::{Error, Region, four_slot, ring};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use zerocopy::{FromZeros, IntoBytes};

/// Words of all buffers.
const WORDS: usize = 8192;

/// Buffers begin with a cache line.
#[repr(align(64))]
struct Arena([AtomicU64; WORDS]);

static ARENA: Arena = Arena([const { AtomicU64::new(0) }; WORDS]);
/// Words that are given away.
static USED: AtomicU64 = AtomicU64::new(0);

/// The reading end.
pub(crate) enum Input {
    Newest(four_slot::Reader<'static>),
    Each(ring::Consumer<'static>),
}

/// The writing end.
pub(crate) enum Output {
    Newest(four_slot::Writer<'static>),
    Each(ring::Producer<'static>),
}

/// Makes a buffer of a pipe, with so many places if it is lossless; nothing where there is no room.
pub(crate) fn make(pipe: &Pipe, places: u32) -> Option<(Input, Output)> {
    if pipe.fifo == 0 {
        let layout = four_slot::Layout::for_messages(BYTES).ok()?;
        let region = take(layout.bytes())?;
        let writer = four_slot::Writer::attach(region, &layout).ok()?;
        let reader = four_slot::Reader::attach(region, &layout).ok()?;
        return Some((Input::Newest(reader), Output::Newest(writer)));
    }
    let layout = ring::Layout::for_messages(BYTES, places.max(1) as usize).ok()?;
    let region = take(layout.bytes())?;
    let producer = ring::Producer::attach(region, &layout).ok()?;
    let consumer = ring::Consumer::attach(region, &layout).ok()?;
    Some((Input::Each(consumer), Output::Each(producer)))
}

fn take(bytes: usize) -> Option<Region<'static>> {
    let words = bytes.div_ceil(64) * 8;
    let from = USED.fetch_add(words as u64, Relaxed) as usize;
    Some(Region::from_words(ARENA.0.get(from..from + words)?))
}

impl Input {
    /// A message that was not read before.
    pub(crate) fn fresh(&mut self) -> Option<Message> {
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
    pub(crate) fn put(&mut self, message: &Message) -> bool {
        match self {
            Self::Newest(writer) => writer.write(message.as_bytes()).is_ok(),
            Self::Each(producer) => {
                !matches!(producer.try_push(message.as_bytes()), Err(Error::Full))
            }
        }
    }
}
