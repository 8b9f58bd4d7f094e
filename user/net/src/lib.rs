//! UDP over a network card, for components
//!
//! Card, protocols (smoltcp) and whoever uses them are in one component, and run on one thread: whoever
//! answers what arrives pays for all of it, from the interrupt to the answer, out of one budget, and no
//! message crosses a boundary that it would have to be copied over. What a stack in a component of its own
//! would keep apart, several users of one card, there is none of. The partition around it is the border:
//! what the card reads and writes there is no other's.
#![no_std]

mod card;
mod udp;

pub use card::{Card, Opened, Problem, open};
pub use smoltcp::iface::SocketStorage;
pub use udp::{Buffers, Peer, Udp, peer};
