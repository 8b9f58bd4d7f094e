//! Errors, and the side that caused them

use core::fmt;

/// Why an operation on an attached buffer did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// No room: the receiving side has not yet taken what is there.
    Full,
    /// Nothing there: no message since the last one taken, or none ever written.
    Empty,
    /// The caller's buffer does not have the length that the layout demands.
    Length,
    /// Half duplex: the floor is the peer's.
    Floor,
    /// The peer's words contradict the layout; this end has re-synchronised and may go on.
    Corrupt,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the buffer is full: wait until the receiver has taken a message",
            Self::Empty => "the buffer is empty: wait until the sender has put in a message",
            Self::Length => "the message has another length than the channel was described with",
            Self::Floor => "the peer has the floor: receive until it passes it",
            Self::Corrupt => "the peer wrote nonsense into the channel; unread messages are lost",
        })
    }
}

impl core::error::Error for Error {}

/// Why a layout cannot exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// Size or count is zero.
    Zero,
    /// A message or the buffer is larger than the format allows.
    TooLarge,
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zero => "message size and count must be at least 1",
            Self::TooLarge => "message size or count is beyond what the format can hold",
        })
    }
}

impl core::error::Error for LayoutError {}

/// Why an end cannot be attached to a region; sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachError {
    /// The region does not start on a cache line of 64 bytes.
    Misaligned,
    /// The region is smaller than the layout.
    TooSmall {
        /// Bytes that the layout needs.
        needed: usize,
        /// Bytes in the region.
        given: usize,
    },
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misaligned => {
                f.write_str("the shared memory does not start on a 64-byte boundary")
            }
            Self::TooSmall { needed, given } => {
                write!(
                    f,
                    "the channel needs {needed} bytes of shared memory but has {given}"
                )
            }
        }
    }
}

impl core::error::Error for AttachError {}
