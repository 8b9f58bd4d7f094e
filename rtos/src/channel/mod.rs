//! Typed channels
//!
//! An end is opened by the channel's name; kind, role and message size must be those of the
//! description. Each message starts with a [`Stamp`], which sending fills in: that, and the trace
//! events of sending, receiving and losing, is all that these types add to the buffers.
//!
//! A restarted partition opens its ends anew and goes on where it stood; its peers see a gap in
//! time, not in the sequence (`lib/buffers` says why for each kind).

mod four_slot;
mod mailbox;
mod memory;
mod recorder;
mod ring;
mod stamped;

pub use four_slot::{Publisher, Subscriber};
pub use mailbox::{MailReceiver, MailSender};
pub use memory::SharedMemory;
pub use recorder::Recorder;
pub use ring::{Receiver, Sender};
pub use stamped::{Message, Received};

use crate::hypercall::Refused;
use crate::interrupt::{self, Interrupt};
use crate::link::Link;
use crate::{System, hypercall, shared};
use bulkhead_abi::guest::{ChannelEnd, ChannelKind, NONE, Role};
use bulkhead_abi::trace::Stamp;
use bulkhead_abi::{NAME_LEN, name_field, name_text};
use bulkhead_buffers::{AttachError, LayoutError, Region};
use core::fmt;

/// Why an end could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelError {
    channel: [u8; NAME_LEN],
    reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Unknown,
    Kind,
    Role,
    Size { message: usize, described: u32 },
    Refused(Refused),
    Layout(LayoutError),
    Attach(AttachError),
}

impl fmt::Display for ChannelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "channel `{}`: ", name_text(&self.channel))?;
        match self.reason {
            Reason::Unknown => f.write_str("the description gives this partition no such channel"),
            Reason::Kind => f.write_str("the description says another kind"),
            Reason::Role => f.write_str("the description gives this partition the other end"),
            Reason::Size { message, described } => {
                write!(
                    f,
                    "messages have {message} bytes but are described with {described}"
                )
            }
            Reason::Refused(Refused(code)) => write!(f, "the monitor refuses it ({code})"),
            Reason::Layout(error) => error.fmt(f),
            Reason::Attach(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ChannelError {}

/// What all ends have: their place and their neighbours.
struct End {
    described: ChannelEnd,
    region: Region<'static>,
}

impl End {
    fn open(
        system: &System,
        name: &str,
        kind: ChannelKind,
        role: Option<Role>,
    ) -> Result<Self, ChannelError> {
        let channel = name_field(name);
        let fail = |reason| ChannelError { channel, reason };
        let described = *system
            .channels()
            .iter()
            .find(|end| end.name == channel)
            .ok_or(fail(Reason::Unknown))?;
        if described.kind != kind as u32 {
            return Err(fail(Reason::Kind));
        }
        if role.is_some_and(|role| described.role != role as u32) {
            return Err(fail(Reason::Role));
        }
        let place = match described.key {
            0 => [described.ipa, described.size],
            key => hypercall::attach(key).map_err(|refused| fail(Reason::Refused(refused)))?,
        };
        let region = shared::region(place).map_err(|error| fail(Reason::Attach(error)))?;
        Ok(Self { described, region })
    }

    fn fail(&self, reason: Reason) -> ChannelError {
        ChannelError {
            channel: self.described.name,
            reason,
        }
    }

    /// The described size of a message, which `T` must have and which must hold a stamp.
    fn size_of_message<T>(&self) -> Result<usize, ChannelError> {
        let (message, described) = (size_of::<T>(), self.described.message_size);
        if message != described as usize || message < size_of::<Stamp>() {
            return Err(self.fail(Reason::Size { message, described }));
        }
        Ok(message)
    }

    fn peer_link(&self) -> Option<Link> {
        let ChannelEnd {
            link, standby_link, ..
        } = self.described;
        (link != 0).then(|| Link::at(link, standby_link))
    }

    fn enable_doorbell(&self) -> Option<Interrupt> {
        let intid = self.described.doorbell_in;
        (intid != NONE)
            .then(|| interrupt::enable(intid, None))
            .flatten()
    }

    /// Rings the peer where the description has a doorbell.
    fn ring(&self) {
        let index = self.described.doorbell_out;
        if index != NONE {
            let _within_limit = hypercall::ring(index);
        }
    }
}

/// Gives a channel type the methods that all have.
macro_rules! neighbourly {
    ($type:ident) => {
        impl<T> $type<T> {
            /// The link of the partition at the other end; after a failover, of its standby.
            #[must_use]
            pub fn peer_link(&self) -> Option<crate::Link> {
                self.end.peer_link()
            }

            /// Enables the doorbell by which the peer calls, if there is one.
            #[must_use]
            pub fn enable_doorbell(&self) -> Option<crate::interrupt::Interrupt> {
                self.end.enable_doorbell()
            }

            /// Rings the peer, if there is a doorbell: an entry to EL2, limited in rate. Receivers
            /// that poll need none.
            pub fn ring(&self) {
                self.end.ring();
            }
        }
    };
}
use neighbourly;
