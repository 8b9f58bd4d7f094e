//! Tuned pipes of a partition, as its scheduler finds them
//!
//! Behind VCPUs, tasks and schedule in the same pages ([`crate::timing`]): [`Head`], then all [`Pipe`]s, then all
//! [`Stage`]s, those of a pipe together and in an order in which data flow. Absent where the partition runs no
//! stage. Only pipes that were solved and admitted as a whole stand here.

use crate::NAME_LEN;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// `TUNEPIPE` in ASCII.
pub const PIPES_MAGIC: u64 = u64::from_le_bytes(*b"TUNEPIPE");
/// No VCPU, no endpoint.
pub const NONE: u32 = u32::MAX;
/// No identifier in particular.
pub const ANY: u16 = u16::MAX;

/// What is done about a job that used up its budget.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnOverrun {
    /// What it sends is dropped.
    #[default]
    Skip = 0,
    /// The pipe is stopped.
    Stop = 1,
    /// It is counted, as in any case.
    Report = 2,
}

impl OnOverrun {
    /// All of them, by number.
    pub const ALL: [Self; 3] = [Self::Skip, Self::Stop, Self::Report];
}

/// What follows.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Head {
    /// [`PIPES_MAGIC`].
    pub magic: u64,
    /// Pipes.
    pub pipes: u32,
    /// Stages of all of them.
    pub stages: u32,
}

/// A pipe.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Pipe {
    /// Its name.
    pub name: [u8; NAME_LEN],
    /// Its stages.
    pub stages: u32,
    /// 1: buffers are lossless; 0: four-slot.
    pub fifo: u32,
    /// Shortest distance of messages that it takes without end, nanoseconds.
    pub interval_ns: u64,
    /// What the analysis promises for the longest path, nanoseconds.
    pub bound_ns: u64,
}

/// A stage.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Stage {
    /// Its function.
    pub function: [u8; NAME_LEN],
    /// The endpoint it reads, without its component, `timer`, or nothing.
    pub source: [u8; NAME_LEN],
    /// The endpoint it writes, likewise, `trace`, `null` or nothing.
    pub sink: [u8; NAME_LEN],
    /// Number of its VCPU.
    pub vcpu: u32,
    /// Number of the I/O VCPU that serves its endpoint, or [`NONE`].
    pub io: u32,
    /// Junction it reads from; 0 is the way in.
    pub from: u32,
    /// Junction it writes to.
    pub to: u32,
    /// m: jobs in a budget.
    pub messages: u32,
    /// Places in each buffer before it, messages.
    pub buffer: u32,
    /// An [`OnOverrun`].
    pub on_overrun: u32,
    /// CAN identifiers, 11 bits, of what it reads and writes there; [`ANY`] = whatever comes, as it is.
    pub identifiers: [u16; 2],
    /// WCET of a job, nanoseconds.
    pub wcet_ns: u64,
}

const _: () = assert!(size_of::<Pipe>() == 40 && size_of::<Stage>() == 88);
