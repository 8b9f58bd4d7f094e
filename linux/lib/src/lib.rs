//! A Linux partition from inside
//!
//! The files of the kernel module under `/dev/bulkhead*` and in sysfs, as types: the partition
//! itself ([`Partition`]), channels and typed, stamped messages on them ([`Sender`], [`Receiver`]),
//! doorbells ([`Channel::wait`], [`Channel::ring`]), whether peers are up ([`Peer`], [`Link`]), the
//! monitors' counters ([`Partition::status`]), the consoles of other partitions, and the trace,
//! which senders and receivers fill by themselves.
//!
//! Programs that forward messages without decoding them use bytes ([`BytesReader`],
//! [`BytesWriter`]), also between programs of one Linux ([`Channel::over_file`]).
//!
//! A CAN controller of the partition is a [`Can`]. A [`Bell`] wakes a thread that waits for frames.
//! [`reserve`] gives a thread a deadline reservation.
//!
//! No call here enters the monitor but [`Partition::announce`], [`Channel::ring`], opening or
//! dropping a channel that is mapped on demand, and [`Partition::control`].

mod attributes;
mod bytes;
mod can;
mod channel;
mod clock;
mod deadline;
mod device_wakeup;
mod error;
mod link;
mod map;
mod messages;
mod partition;
mod trace;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;

pub use bulkhead_abi::can::Frame;
pub use bulkhead_abi::status::LinkState;
pub use bytes::{BytesReader, BytesWriter};
pub use can::{Can, CanReader, Stamped, can_at, can_is_on_bus, can_serve_on};
pub use channel::{Channel, Description, Kind, Role};
pub use clock::{frequency_hz, ticks};
pub use deadline::{cut_exactly, keep_to_core, lock_memory, reserve, used_ns};
pub use device_wakeup::Bell;
pub use error::Error;
pub use link::{Link, Peer};
pub use messages::{Message, Received, Receiver, Sender};
pub use partition::{Console, Control, Partition};
pub use trace::Trace;
