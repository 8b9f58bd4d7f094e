//! The writing ends of all kinds of channel

use super::WHOLE;
use crate::Kind;
use crate::channel::Channel;
use crate::error::Error;
use bulkhead_buffers::mailbox::{self, Mailbox, Side};
use bulkhead_buffers::recorder::records;
use bulkhead_buffers::{Error as BufferError, four_slot, ring};

pub(crate) enum Output {
    FourSlot(four_slot::Writer<'static>),
    Ring(ring::Producer<'static>),
    Mailbox(Mailbox<'static>),
    Recorder(records::Writer<'static>),
}

impl Output {
    pub(crate) fn attach(channel: &Channel) -> Result<Self, Error> {
        let description = channel.description();
        let (bytes, count) = (description.message_bytes, description.messages);
        let region = channel.region()?;
        let layout = |source| Error::Layout {
            channel: description.name.clone(),
            source,
        };
        match description.kind {
            Kind::FourSlot => {
                let layout = four_slot::Layout::for_messages(bytes).map_err(layout)?;
                four_slot::Writer::attach(region, &layout).map(Self::FourSlot)
            }
            Kind::Ring => {
                let layout = ring::Layout::for_messages(bytes, count).map_err(layout)?;
                ring::Producer::attach(region, &layout).map(Self::Ring)
            }
            Kind::Mailbox => {
                let layout = mailbox::Layout::for_slot(bytes).map_err(layout)?;
                Mailbox::attach(region, &layout, Side::First).map(Self::Mailbox)
            }
            Kind::Recorder => {
                let layout = records::Layout::for_records(bytes, count).map_err(layout)?;
                records::Writer::attach(region, &layout).map(Self::Recorder)
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

    /// Messages sent since the buffer was created, as far as the buffer knows.
    pub(crate) fn sent(&self) -> u64 {
        match self {
            Self::FourSlot(end) => end.sequence(),
            Self::Ring(end) => end.pushed(),
            Self::Mailbox(_) => 0,
            Self::Recorder(end) => end.written(),
        }
    }

    pub(crate) fn put(&mut self, message: &[u8]) -> Result<(), BufferError> {
        match self {
            Self::FourSlot(end) => end.write(message).map(|_| ()),
            Self::Ring(end) => end.try_push(message),
            Self::Mailbox(end) => end.try_send(message, WHOLE),
            Self::Recorder(end) => end.write(message),
        }
    }
}
