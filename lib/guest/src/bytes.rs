//! Ends of any kind, with messages as bytes: for languages that know a message's type at run time alone
//!
//! A message is as long as described, and its stamp is its head.

use crate::end::{ChannelError, End, Reason, find};
use crate::home::Home;
use crate::mailbox::WHOLE;
use crate::stamped::{Log, head, stamp_bytes};
use bulkhead_abi::guest::{ChannelEnd, ChannelKind, Role};
use bulkhead_abi::trace::Stamp;
use bulkhead_buffers::Error;
use bulkhead_buffers::mailbox::{self, Mailbox, Side};
use bulkhead_buffers::recorder::records;
use bulkhead_buffers::{four_slot, ring};

enum Writing {
    FourSlot(four_slot::Writer<'static>),
    Ring(ring::Producer<'static>),
    Mailbox(Mailbox<'static>),
    Recorder(records::Writer<'static>),
}

/// A writing end.
pub struct BytesSender<H> {
    end: End,
    writing: Writing,
    /// Messages of a mailbox.
    sent: u64,
    log: Log<H>,
}

/// How a message arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Its stamp.
    pub stamp: Stamp,
    /// The message was not received before.
    pub fresh: bool,
    /// Messages between the last one received and this, which never will be.
    pub missed: u64,
}

fn kind(end: &ChannelEnd) -> Option<ChannelKind> {
    let kinds = [
        ChannelKind::FourSlot,
        ChannelKind::Ring,
        ChannelKind::Mailbox,
        ChannelKind::Recorder,
    ];
    kinds.into_iter().find(|kind| *kind as u32 == end.kind)
}

/// The bytes of a message, which hold a stamp.
fn size(end: &End) -> Result<usize, ChannelError> {
    let channel = end.channel_end.message_size;
    let message = size_of::<Stamp>();
    if (channel as usize) < message {
        return Err(end.fail(Reason::Size { message, channel }));
    }
    Ok(channel as usize)
}

macro_rules! attach {
    ($end:expr, $layout:expr, $($attach:tt)*) => {{
        let layout = $layout.map_err(|error| $end.fail(Reason::Layout(error)))?;
        $($attach)*($end.region, &layout).map_err(|error| $end.fail(Reason::Attach(error)))?
    }};
}

impl<H: Home> BytesSender<H> {
    /// Opens the channel `name`.
    ///
    /// # Errors
    /// The description says otherwise.
    pub fn open(home: &H, name: &str) -> Result<Self, ChannelError> {
        let kind = kind(&find(home, name)?).unwrap_or(ChannelKind::Ring);
        let end = End::open(home, name, kind, Some(Role::Writer))?;
        let (bytes, messages) = (size(&end)?, end.channel_end.messages as usize);
        let writing = match kind {
            ChannelKind::FourSlot => {
                let layout = four_slot::Layout::for_messages(bytes);
                Writing::FourSlot(attach!(end, layout, four_slot::Writer::attach))
            }
            ChannelKind::Mailbox => {
                let first = |region, layout: &_| Mailbox::attach(region, layout, Side::First);
                Writing::Mailbox(attach!(end, mailbox::Layout::for_slot(bytes), first))
            }
            ChannelKind::Recorder => {
                let layout = records::Layout::for_records(bytes, messages);
                Writing::Recorder(attach!(end, layout, records::Writer::attach))
            }
            ChannelKind::Ring | ChannelKind::Memory => {
                let layout = ring::Layout::for_messages(bytes, messages);
                Writing::Ring(attach!(end, layout, ring::Producer::attach))
            }
        };
        Ok(Self {
            log: Log::of(end.channel_end.name),
            writing,
            sent: 0,
            end,
        })
    }

    /// The description of the end.
    #[must_use]
    pub const fn channel_end(&self) -> &ChannelEnd {
        &self.end.channel_end
    }

    /// Sends `message`, now stamped; never waits.
    ///
    /// # Errors
    /// [`Error::Length`]; those of the channel's kind.
    pub fn send(&mut self, message: &mut [u8]) -> Result<(), Error> {
        if message.len() != self.end.channel_end.message_size as usize {
            return Err(Error::Length);
        }
        let sequence = match &self.writing {
            Writing::FourSlot(writer) => writer.sequence(),
            Writing::Ring(producer) => producer.pushed(),
            Writing::Mailbox(_) => self.sent,
            Writing::Recorder(writer) => writer.written(),
        };
        let sequence = sequence.wrapping_add(1);
        let ticks = stamp_bytes::<H>(message, sequence);
        let sent = match &mut self.writing {
            Writing::FourSlot(writer) => writer.write(message).map(|_| ()),
            Writing::Ring(producer) => producer.try_push(message),
            Writing::Mailbox(mailbox) => mailbox.try_send(message, WHOLE),
            Writing::Recorder(writer) => writer.write(message),
        };
        match (&sent, &mut self.writing) {
            (Ok(()), _) => self.log.sent(sequence, ticks),
            // A ring promises every message.
            (Err(_), Writing::Ring(producer)) => producer.count_refused(),
            (Err(_), _) => {}
        }
        self.sent += u64::from(sent.is_ok());
        sent
    }
}

enum Reading {
    FourSlot(four_slot::Reader<'static>),
    Ring(ring::Consumer<'static>),
    Mailbox(Mailbox<'static>),
}

/// A reading end.
pub struct BytesReceiver<H> {
    end: End,
    reading: Reading,
    log: Log<H>,
}

impl<H: Home> BytesReceiver<H> {
    /// Opens the channel `name`.
    ///
    /// # Errors
    /// The description says otherwise.
    pub fn open(home: &H, name: &str) -> Result<Self, ChannelError> {
        let kind = kind(&find(home, name)?).unwrap_or(ChannelKind::Ring);
        let end = End::open(home, name, kind, Some(Role::Reader))?;
        let (bytes, messages) = (size(&end)?, end.channel_end.messages as usize);
        let reading = match kind {
            ChannelKind::FourSlot => {
                let layout = four_slot::Layout::for_messages(bytes);
                Reading::FourSlot(attach!(end, layout, four_slot::Reader::attach))
            }
            ChannelKind::Mailbox => {
                let second = |region, layout: &_| Mailbox::attach(region, layout, Side::Second);
                Reading::Mailbox(attach!(end, mailbox::Layout::for_slot(bytes), second))
            }
            // A recorder is read by the host alone.
            ChannelKind::Recorder => return Err(end.fail(Reason::Kind)),
            ChannelKind::Ring | ChannelKind::Memory => {
                let layout = ring::Layout::for_messages(bytes, messages);
                Reading::Ring(attach!(end, layout, ring::Consumer::attach))
            }
        };
        Ok(Self {
            log: Log::of(end.channel_end.name),
            reading,
            end,
        })
    }

    /// The description of the end.
    #[must_use]
    pub const fn channel_end(&self) -> &ChannelEnd {
        &self.end.channel_end
    }

    /// Stores the newest message of a four-slot buffer, perhaps again, or the oldest of another kind; never waits.
    ///
    /// # Errors
    /// [`Error::Length`]; those of the channel's kind.
    pub fn receive(&mut self, message: &mut [u8]) -> Result<Arrival, Error> {
        let bytes = message.len();
        match &mut self.reading {
            Reading::FourSlot(reader) => reader.read(message).map(|_| ())?,
            Reading::Ring(consumer) => consumer.try_pop(message)?,
            Reading::Mailbox(mailbox) => {
                let part = mailbox.try_receive(message)?;
                if part.length != bytes || !(part.flags.start && part.flags.end) {
                    return Err(Error::Length);
                }
            }
        }
        let stamp = head(message);
        let (fresh, missed) = self.log.note(stamp);
        Ok(Arrival {
            stamp,
            fresh,
            missed,
        })
    }
}
