//! UDP over a network card, for components
//!
//! Protocols (smoltcp) work over a [`Wire`]: a card that the component drives itself, or frames in memory that it
//! shares with who does ([`frames`]): then neither's fault is the other's, and each is paid by its own budget.
#![no_std]

mod card;
mod fault;
pub mod frames;
mod one;
mod udp;
mod wire;

pub use bulkhead_virtio_net::{Incoming, Outgoing};
pub use card::{Card, Opened, Problem, drive, drive_from, open};
pub use fault::Fault;
pub use one::One;
pub use smoltcp::iface::SocketStorage;
pub use udp::{Buffers, Peer, Udp, peer};
pub use wire::Wire;
