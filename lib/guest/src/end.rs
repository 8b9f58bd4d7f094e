//! Common part of all channel ends
//!
//! An end is opened by the channel's name; kind, role and message size must be those of the
//! description. Each message starts with a [`Stamp`], which sending fills in: that, and the trace
//! events of sending, receiving and losing, is all that these types add to the buffers.
//!
//! A restarted partition opens its ends anew and resumes at its position; its peers see a gap in
//! time, not in the sequence (`lib/buffers` says why for each kind).

use crate::home::Home;
use bulkhead_abi::guest::{ChannelEnd, ChannelKind, Role};
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

/// Why the memory of an end is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmapped {
    /// The monitor's refusal, as it numbers it ([`bulkhead_abi::hypercall`]).
    Refused(i64),
    /// The memory does not fit a buffer.
    Unfit(AttachError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Unknown,
    Kind,
    Role,
    Size { message: usize, channel: u32 },
    Unmapped(Unmapped),
    Layout(LayoutError),
    Attach(AttachError),
}

impl fmt::Display for ChannelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "channel `{}`: ", name_text(&self.channel))?;
        match self.reason {
            Reason::Unknown => f.write_str("the description gives this program no such channel"),
            Reason::Kind => f.write_str("the description says another kind"),
            Reason::Role => f.write_str("the description gives this partition the other end"),
            Reason::Size { message, channel } => {
                write!(
                    f,
                    "messages have {message} bytes but are described with {channel}"
                )
            }
            Reason::Unmapped(Unmapped::Refused(code)) => {
                write!(f, "the monitor refuses it ({code})")
            }
            Reason::Layout(error) => error.fmt(f),
            Reason::Attach(error) | Reason::Unmapped(Unmapped::Unfit(error)) => error.fmt(f),
        }
    }
}

impl core::error::Error for ChannelError {}

/// The description of the end of a channel.
pub(crate) fn find<H: Home>(home: &H, name: &str) -> Result<ChannelEnd, ChannelError> {
    let channel = name_field(name);
    let mut ends = home.channels().iter();
    let found = ends.find(|end| end.name == channel).copied();
    found.ok_or(ChannelError {
        channel,
        reason: Reason::Unknown,
    })
}

/// Memory and description of an end.
pub(crate) struct End {
    pub(crate) channel_end: ChannelEnd,
    pub(crate) region: Region<'static>,
}

impl End {
    pub(crate) fn open<H: Home>(
        home: &H,
        name: &str,
        kind: ChannelKind,
        role: Option<Role>,
    ) -> Result<Self, ChannelError> {
        let channel_end = find(home, name)?;
        let fail = |reason| ChannelError {
            channel: channel_end.name,
            reason,
        };
        if channel_end.kind != kind as u32 {
            return Err(fail(Reason::Kind));
        }
        if role.is_some_and(|role| channel_end.role != role as u32) {
            return Err(fail(Reason::Role));
        }
        let region = home
            .memory(&channel_end)
            .map_err(|error| fail(Reason::Unmapped(error)))?;
        Ok(Self {
            channel_end,
            region,
        })
    }

    pub(crate) fn fail(&self, reason: Reason) -> ChannelError {
        ChannelError {
            channel: self.channel_end.name,
            reason,
        }
    }

    /// The described size of a message, which `T` must have and which must hold a stamp.
    pub(crate) fn size_of_message<T>(&self) -> Result<usize, ChannelError> {
        let (message, channel) = (size_of::<T>(), self.channel_end.message_size);
        if message != channel as usize || message < size_of::<Stamp>() {
            return Err(self.fail(Reason::Size { message, channel }));
        }
        Ok(message)
    }
}

/// A channel end of any kind.
pub trait Ended {
    /// Returns the description of the end: its peer, link pages, doorbells.
    fn channel_end(&self) -> &ChannelEnd;
}

macro_rules! ended {
    ($type:ident) => {
        impl<T, H> crate::Ended for $type<T, H> {
            fn channel_end(&self) -> &bulkhead_abi::guest::ChannelEnd {
                &self.end.channel_end
            }
        }
    };
}
pub(crate) use ended;
