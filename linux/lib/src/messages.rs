//! Typed messages with a stamp
//!
//! A message type begins with a [`Stamp`], which the sender fills in and the receiver checks: so
//! age and loss are known for every message on every kind of channel, and both ends write them into
//! their partition's trace. Numbers go on over restarts of the sender where the buffer counts
//! messages; a mailbox counts parts of both directions, so there they begin anew.

pub(crate) mod input;
pub(crate) mod output;

use crate::channel::Channel;
use crate::error::Error;
use crate::trace::Trace;
use crate::{Role, clock};
use bulkhead_abi::trace::Stamp;
use bulkhead_buffers::Error as BufferError;
use bulkhead_buffers::mailbox::Flags;
use bulkhead_buffers::sequence::{Arrival, Sequence};
use input::Input;
use output::Output;
use std::marker::PhantomData;
use zerocopy::{FromBytes, Immutable, IntoBytes};

const STAMP_BYTES: usize = size_of::<Stamp>();
/// All of a message in one part of a mailbox; the floor stays with the sender.
const WHOLE: Flags = Flags {
    start: true,
    end: true,
    over: false,
};

/// A message: plain bytes, a [`Stamp`] first.
pub trait Message: FromBytes + IntoBytes + Immutable {}

impl<T: FromBytes + IntoBytes + Immutable> Message for T {}

/// A message with its stamp.
#[derive(Clone, Copy, Debug)]
pub struct Received<T> {
    /// The message.
    pub message: T,
    /// Its number and when it was sent.
    pub stamp: Stamp,
    /// Messages missed before it.
    pub missed: u64,
}

impl Channel {
    /// The sending end, for messages of type `T` (see [`Sender`]).
    ///
    /// # Errors
    /// This end does not send, or the description has another size of message.
    pub fn sender<T: Message>(&self, trace: &Trace) -> Result<Sender<T>, Error> {
        Sender::attach(self, trace.clone())
    }

    /// The receiving end, for messages of type `T` (see [`Receiver`]).
    ///
    /// # Errors
    /// This end does not receive, or the description has another size of message.
    pub fn receiver<T: Message>(&self, trace: &Trace) -> Result<Receiver<T>, Error> {
        Receiver::attach(self, trace.clone())
    }
}

/// The sending end of a channel.
pub struct Sender<T> {
    channel: String,
    output: Output,
    sent: u64,
    trace: Trace,
    message: PhantomData<T>,
}

impl<T: Message> Sender<T> {
    pub(crate) fn attach(channel: &Channel, trace: Trace) -> Result<Self, Error> {
        check_type::<T>(channel, Role::Writer)?;
        let output = Output::attach(channel)?;
        let name = channel.description().name.clone();
        Ok(Self {
            channel: name,
            sent: output.sent(),
            output,
            trace,
            message: PhantomData,
        })
    }

    /// Sends a copy of `message` with the next number and the time in its stamp; never waits. Gives
    /// the number.
    ///
    /// # Errors
    /// The channel is full ([`Error::is_full`]), or the peer wrote nonsense.
    pub fn send(&mut self, message: &T) -> Result<u64, Error> {
        let stamp = Stamp {
            sequence: self.sent + 1,
            ticks: clock::ticks(),
        };
        let mut bytes = message.as_bytes().to_vec();
        bytes[..STAMP_BYTES].copy_from_slice(stamp.as_bytes());
        self.output.put(&bytes).map_err(failed(&self.channel))?;
        self.sent = stamp.sequence;
        self.trace.sent(&self.channel, stamp);
        Ok(stamp.sequence)
    }
}

/// The receiving end of a channel.
pub struct Receiver<T> {
    channel: String,
    input: Input,
    sequence: Sequence,
    trace: Trace,
    message: PhantomData<T>,
}

impl<T: Message> Receiver<T> {
    pub(crate) fn attach(channel: &Channel, trace: Trace) -> Result<Self, Error> {
        check_type::<T>(channel, Role::Reader)?;
        let input = Input::attach(channel)?;
        let channel = channel.description().name.clone();
        Ok(Self {
            channel,
            input,
            sequence: Sequence::default(),
            trace,
            message: PhantomData,
        })
    }

    /// The next message, of a four-slot buffer the newest if it is new; `None` when there is none.
    /// Never waits.
    ///
    /// # Errors
    /// The peer wrote nonsense; this end has re-synchronised and may go on.
    pub fn receive(&mut self) -> Result<Option<Received<T>>, Error> {
        let mut message = T::new_zeroed();
        match self.input.take(message.as_mut_bytes()) {
            Ok(()) => Ok(self.accept(message)),
            Err(BufferError::Empty) => Ok(None),
            Err(error) => Err(failed(&self.channel)(error)),
        }
    }

    fn accept(&mut self, message: T) -> Option<Received<T>> {
        let mut stamp = Stamp::default();
        stamp
            .as_mut_bytes()
            .copy_from_slice(&message.as_bytes()[..STAMP_BYTES]);
        let Arrival::New { missed } = self.sequence.note(stamp.sequence) else {
            return None;
        };
        self.trace.received(&self.channel, stamp, missed);
        Some(Received {
            message,
            stamp,
            missed,
        })
    }
}

/// The type and the end are those of the description.
fn check_type<T>(channel: &Channel, role: Role) -> Result<(), Error> {
    check_end(channel, role)?;
    let description = channel.description();
    let channel = || description.name.clone();
    let (channel_bytes, type_bytes) = (description.message_bytes, size_of::<T>());
    if channel_bytes != type_bytes || type_bytes < STAMP_BYTES {
        return Err(Error::MessageSize {
            channel: channel(),
            channel_bytes,
            type_bytes,
        });
    }
    Ok(())
}

/// The end is that of the description.
pub(crate) fn check_end(channel: &Channel, role: Role) -> Result<(), Error> {
    let description = channel.description();
    if description.role == role {
        return Ok(());
    }
    Err(Error::WrongEnd {
        channel: description.name.clone(),
        role: match role {
            Role::Writer => "reader",
            Role::Reader => "writer",
        },
    })
}

pub(crate) fn failed(channel: &str) -> impl FnOnce(BufferError) -> Error {
    move |source| Error::Message {
        channel: channel.to_owned(),
        source,
    }
}
