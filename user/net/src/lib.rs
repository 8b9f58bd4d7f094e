//! UDP over a network card, for components
//!
//! Protocols (smoltcp) work over a [`Wire`]: a card that the component drives itself, or frames in
//! memory that it shares with the driver's component ([`frames`]). Then neither's fault reaches the
//! other, and each has a budget of its own.
#![no_std]

mod card;
mod exclusive;
mod fault;
pub mod frames;
mod udp;
mod wire;

pub use bulkhead_virtio_net::{Incoming, MEMORY, Outgoing};
pub use card::{Card, Opened, Problem, drive, drive_from, open};
pub use exclusive::One;
pub use fault::Fault;
pub use smoltcp::iface::SocketStorage;
pub use udp::{Buffers, Peer, Udp, peer};
pub use wire::Wire;
