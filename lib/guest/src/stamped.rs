//! Stamps, and the events that follow a message

use crate::home::Home;
use crate::trace::Name;
use bulkhead_abi::trace::{Event, EventKind, Stamp};
use bulkhead_buffers::sequence::{Arrival, Sequence};
use core::marker::PhantomData;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Plain data with a [`Stamp`] as first field.
pub trait Message: FromBytes + IntoBytes + Immutable + KnownLayout {}

impl<T: FromBytes + IntoBytes + Immutable + KnownLayout> Message for T {}

/// A message that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Received<T> {
    /// The message.
    pub message: T,
    /// Its stamp.
    pub stamp: Stamp,
    /// The message was not received before.
    pub fresh: bool,
    /// Messages between the last one received and this, which never will be.
    pub missed: u64,
}

/// Writes number and time into the head of `message`; gives the time.
pub(crate) fn stamp<T: Message, H: Home>(message: &mut T, sequence: u64) -> u64 {
    stamp_bytes::<H>(message.as_mut_bytes(), sequence)
}

/// As [`stamp`], of a message as bytes.
pub(crate) fn stamp_bytes<H: Home>(message: &mut [u8], sequence: u64) -> u64 {
    let stamp = Stamp {
        sequence,
        ticks: H::now(),
    };
    if let Some(head) = message.get_mut(..size_of::<Stamp>()) {
        head.copy_from_slice(stamp.as_bytes());
    }
    stamp.ticks
}

/// Events of one channel.
pub(crate) struct Log<H> {
    name: Name,
    seen: Sequence,
    home: PhantomData<fn() -> H>,
}

impl<H: Home> Log<H> {
    pub(crate) fn of(name: Name) -> Self {
        Self {
            name,
            seen: Sequence::default(),
            home: PhantomData,
        }
    }

    pub(crate) fn sent(&self, sequence: u64, ticks: u64) {
        self.emit(EventKind::Sent, sequence, ticks, 0);
    }

    /// Takes note of a message that was read.
    pub(crate) fn received<T: Message>(&mut self, message: T) -> Received<T> {
        let stamp = head(message.as_bytes());
        let (fresh, missed) = self.note(stamp);
        Received {
            message,
            stamp,
            fresh,
            missed,
        }
    }

    /// Takes note of the stamp of a message that was read. Returns whether the message is new, and how many were missed.
    pub(crate) fn note(&mut self, stamp: Stamp) -> (bool, u64) {
        match self.seen.note(stamp.sequence) {
            Arrival::Again => (false, 0),
            Arrival::New { missed } => {
                let now = H::now();
                if missed > 0 {
                    self.emit(EventKind::Lost, stamp.sequence, now, missed);
                }
                self.emit(EventKind::Received, stamp.sequence, now, stamp.ticks);
                (true, missed)
            }
        }
    }

    fn emit(&self, kind: EventKind, sequence: u64, ticks: u64, a: u64) {
        let kind = kind as u32;
        H::record(&Event {
            ticks,
            kind,
            sequence: sequence as u32,
            a,
            b: 0,
            name: self.name,
        });
    }
}

/// The stamp of a message as bytes.
pub(crate) fn head(message: &[u8]) -> Stamp {
    Stamp::read_from_prefix(message).map_or_else(|_| Stamp::default(), |(stamp, _)| stamp)
}
