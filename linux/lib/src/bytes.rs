//! Messages as bytes, for what carries them on without knowing them
//!
//! Of four slots and rings only: these number what they hold, so that the number of a message goes
//! with it. No trace is written, since what has no [`Stamp`](bulkhead_abi::trace::Stamp) has
//! nothing to be traced by.

use crate::channel::Channel;
use crate::error::Error;
use crate::messages::input::Input;
use crate::messages::output::Output;
use crate::messages::{check_end, failed};
use crate::{Kind, Role};
use bulkhead_buffers::Error as BufferError;

impl Channel {
    /// The receiving end, for messages as they lie in the memory (see [`BytesReader`]).
    ///
    /// # Errors
    /// This end does not receive, or the kind is neither four slots nor a ring.
    pub fn bytes_reader(&self) -> Result<BytesReader, Error> {
        BytesReader::attach(self)
    }

    /// The sending end, for messages as they lie in the memory (see [`BytesWriter`]).
    ///
    /// # Errors
    /// This end does not send, or the kind is neither four slots nor a ring.
    pub fn bytes_writer(&self) -> Result<BytesWriter, Error> {
        BytesWriter::attach(self)
    }
}

/// The receiving end.
pub struct BytesReader {
    channel: String,
    input: Input,
    message: Vec<u8>,
}

/// The sending end.
pub struct BytesWriter {
    channel: String,
    output: Output,
}

impl BytesReader {
    pub(crate) fn attach(channel: &Channel) -> Result<Self, Error> {
        expect_bytes(channel, Role::Reader)?;
        let description = channel.description();
        Ok(Self {
            channel: description.name.clone(),
            input: Input::attach(channel)?,
            message: vec![0; description.message_bytes],
        })
    }

    /// The next message, of four slots the newest if it is new, and its number, from 1; `None` when
    /// there is none. Never waits.
    ///
    /// # Errors
    /// The peer wrote nonsense; this end has re-synchronised and may go on.
    pub fn take(&mut self) -> Result<Option<(u64, &[u8])>, Error> {
        match self.input.take_new(&mut self.message) {
            Ok(number) => Ok(Some((number, &self.message))),
            Err(BufferError::Empty) => Ok(None),
            Err(error) => Err(failed(&self.channel)(error)),
        }
    }

    /// The message that was taken last; zeros before the first.
    #[must_use]
    pub fn last(&self) -> &[u8] {
        &self.message
    }
}

impl BytesWriter {
    pub(crate) fn attach(channel: &Channel) -> Result<Self, Error> {
        expect_bytes(channel, Role::Writer)?;
        Ok(Self {
            channel: channel.description().name.clone(),
            output: Output::attach(channel)?,
        })
    }

    /// Puts a message in; never waits.
    ///
    /// # Errors
    /// The channel is full ([`Error::is_full`]), the message has another length than its messages,
    /// or the peer wrote nonsense.
    pub fn put(&mut self, message: &[u8]) -> Result<(), Error> {
        self.output.put(message).map_err(failed(&self.channel))
    }
}

fn expect_bytes(channel: &Channel, role: Role) -> Result<(), Error> {
    check_end(channel, role)?;
    let description = channel.description();
    match description.kind {
        Kind::FourSlot | Kind::Ring => Ok(()),
        _ => Err(Error::NoBytes {
            channel: description.name.clone(),
        }),
    }
}
