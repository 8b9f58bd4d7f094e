//! The reading ends of all kinds of channel

use crate::Kind;
use crate::channel::Channel;
use crate::error::Error;
use bulkhead_buffers::mailbox::{self, Mailbox, Side};
use bulkhead_buffers::recorder::records;
use bulkhead_buffers::{Error as BufferError, four_slot, ring};

pub(crate) enum Input {
    FourSlot(four_slot::Reader<'static>),
    Ring(ring::Consumer<'static>),
    Mailbox(Mailbox<'static>),
    Recorder(records::Reader<'static>),
}

impl Input {
    pub(crate) fn attach(channel: &Channel) -> Result<Self, Error> {
        let description = channel.description();
        let (bytes, count) = (description.message_bytes, description.messages);
        let layout = |source| Error::Layout {
            channel: description.name.clone(),
            source,
        };
        match description.kind {
            Kind::FourSlot => {
                let layout = four_slot::Layout::for_messages(bytes).map_err(layout)?;
                four_slot::Reader::attach(channel.region()?, &layout).map(Self::FourSlot)
            }
            Kind::Ring => {
                let layout = ring::Layout::for_messages(bytes, count).map_err(layout)?;
                ring::Consumer::attach(channel.region()?, &layout).map(Self::Ring)
            }
            Kind::Mailbox => {
                let layout = mailbox::Layout::for_slot(bytes).map_err(layout)?;
                Mailbox::attach(channel.region()?, &layout, Side::Second).map(Self::Mailbox)
            }
            Kind::Recorder => {
                let layout = records::Layout::for_records(bytes, count).map_err(layout)?;
                records::Reader::attach(channel.view()?, &layout).map(Self::Recorder)
            }
            Kind::Memory => {
                return Err(Error::NoMessages {
                    channel: description.name.clone(),
                });
            }
        }
        .map_err(|source| Error::Attach {
            channel: description.name.clone(),
            source,
        })
    }

    pub(crate) fn take(&mut self, message: &mut [u8]) -> Result<(), BufferError> {
        match self {
            Self::FourSlot(end) => end.read(message).map(|_| ()),
            Self::Ring(end) => end.try_pop(message),
            Self::Mailbox(end) => whole(end, message),
            Self::Recorder(end) => match end.read(message)?.count {
                0 => Err(BufferError::Empty),
                _ => Ok(()),
            },
        }
    }
}

impl Input {
    /// Takes what is new: its number, from 1, as the buffer counts. Only four slots and rings
    /// count what is read.
    pub(crate) fn take_new(&mut self, message: &mut [u8]) -> Result<u64, BufferError> {
        match self {
            Self::FourSlot(end) => match end.read(message)? {
                read if read.advanced == 0 => Err(BufferError::Empty),
                read => Ok(read.sequence),
            },
            Self::Ring(end) => end.try_pop(message).map(|()| end.popped()),
            Self::Mailbox(_) | Self::Recorder(_) => Err(BufferError::Empty),
        }
    }
}

/// A message that came in one part; others are passed over.
fn whole(end: &mut Mailbox<'_>, message: &mut [u8]) -> Result<(), BufferError> {
    let part = end.try_receive(message)?;
    if part.length != message.len() || !part.flags.start || !part.flags.end {
        return Err(BufferError::Length);
    }
    Ok(())
}
