//! Errors between a program and its partition

use bulkhead_buffers::{AttachError, Error as BufferError, LayoutError};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why something of the partition cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel module is not loaded, or this Linux does not run in a partition.
    #[error("this is no Bulkhead partition: there is no {0} (is bulkhead.ko loaded?)")]
    NoPartition(PathBuf),
    /// A file of the module did not do what was asked.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// A file of the module holds something that this library does not know.
    #[error("{path} holds \"{text}\", which is not expected there")]
    Unexpected {
        /// The file.
        path: PathBuf,
        /// Its text.
        text: String,
    },
    /// The partition has no such channel.
    #[error("the partition has no channel \"{0}\"; its description names all of them")]
    NoChannel(String),
    /// No driver of Linux's took the controller at a place.
    #[error(
        "Linux has no CAN interface at {0}: its driver did not take the controller, and its messages say why"
    )]
    NoController(String),
    /// A program that reads or writes frames was told of no interface.
    #[error("no CAN interface is named")]
    NoInterface,
    /// No console of such a partition is here.
    #[error("there is no console of \"{0}\" here; `status` lists those there are")]
    NoConsole(String),
    /// The kernel does not reserve that time.
    #[error(
        "Linux refuses {:?} in every {:?}: {source}; {help}",
        Duration::from_nanos(*runtime_ns),
        Duration::from_nanos(*period_ns)
    )]
    Refused {
        /// C.
        runtime_ns: u64,
        /// T.
        period_ns: u64,
        /// The kernel's error.
        source: io::Error,
        /// Why, and what to do.
        help: &'static str,
    },
    /// The other end of the channel is this partition's.
    #[error("channel \"{channel}\" is for the {role} here, not for the other end")]
    WrongEnd {
        /// The channel.
        channel: String,
        /// Which end this is.
        role: &'static str,
    },
    /// The channel is plain memory.
    #[error("channel \"{channel}\" is plain memory and has no messages; use its region")]
    NoMessages {
        /// The channel.
        channel: String,
    },
    /// The channel is neither four slots nor a ring.
    #[error("channel \"{channel}\" is neither four slots nor a ring; only those carry bytes")]
    NoBytes {
        /// The channel.
        channel: String,
    },
    /// The channel's messages have another size than the program's type.
    #[error(
        "channel \"{channel}\" has messages of {channel_bytes} bytes, the program wants {type_bytes}"
    )]
    MessageSize {
        /// The channel.
        channel: String,
        /// Bytes of a message as described.
        channel_bytes: usize,
        /// Bytes of the program's type.
        type_bytes: usize,
    },
    /// The description of the channel and its memory do not fit together.
    #[error("channel \"{channel}\": {source}")]
    Attach {
        /// The channel.
        channel: String,
        /// Why.
        source: AttachError,
    },
    /// The channel's shape is impossible.
    #[error("channel \"{channel}\": {source}")]
    Layout {
        /// The channel.
        channel: String,
        /// Why.
        source: LayoutError,
    },
    /// A message could not be sent or received now.
    #[error("channel \"{channel}\": {source}")]
    Message {
        /// The channel.
        channel: String,
        /// Why.
        source: BufferError,
    },
}

impl Error {
    /// Returns true if the receiver has not yet taken the pending messages.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(
            self,
            Self::Message {
                source: BufferError::Full | BufferError::Floor,
                ..
            }
        )
    }

    /// Returns true if the kernel's queue of an interface is full.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        matches!(self, Self::File { source, .. } if source.raw_os_error() == Some(nix::libc::ENOBUFS))
    }

    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }

    pub(crate) fn errno(path: impl Into<PathBuf>) -> impl FnOnce(nix::Error) -> Self {
        let path = path.into();
        move |errno| Self::File {
            path,
            source: errno.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_for_people() {
        let error = Error::Refused {
            runtime_ns: 500_000,
            period_ns: 12_500_000,
            source: io::Error::from(io::ErrorKind::ResourceBusy),
            help: "give it less",
        };
        let text = error.to_string();
        assert!(
            text.starts_with("Linux refuses 500µs in every 12.5ms: "),
            "{text}"
        );
    }
}
