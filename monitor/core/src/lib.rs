//! Safe decision logic of the monitor
//!
//! The actions of the monitor when a core enters EL2, written against [`Machine`], so that the host tests run the code
//! that the cores run. Each core has one monitor, which owns its [`Core`], reads the [`Partition`] that it shares with the
//! partition's other cores, and requests an action of another core only by setting a bit of its request word. No lock,
//! no allocation, no panic; every loop is bounded or waits for an interrupt.
//!
//! Neighbours: `monitor` (vectors and instructions), `monitor/boot` (builds [`Core`] and [`Partition`]),
//! `abi` (configuration, status, calls).

#![no_std]
#![forbid(unsafe_code)]
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

mod call;
mod device;
mod frame;
mod gic;
mod guest_ipi;
mod heartbeat;
mod idle;
mod inject;
mod lifecycle;
mod load;
mod machine;
mod policy;
mod psci;
mod state;
mod status_pages;
mod syndrome;
mod system_register;
mod trap;
mod uart;

pub use frame::Frame;
pub use idle::Monitor;
pub use machine::{Interface, Machine, Transfer};
pub use state::{
    Core, IDENTITY_REGISTERS, Image, MAX_PARTITIONS, NEVER, NO_FAULT, Partition, Power,
};
pub use status_pages::{CoreCells, LinkCells, StatusCells};
pub use trap::Entry;
