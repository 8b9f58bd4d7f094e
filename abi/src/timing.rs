//! VCPUs and tasks of a partition, as its scheduler finds them
//!
//! Whole pages of the archive behind the components' ([`crate::kernel::Archive::timing`]): [`Head`],
//! then its VCPUs, then its tasks, each in the order of the description. Absent where the partition
//! describes none.

use crate::NAME_LEN;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// `VCPUTASK` in ASCII.
pub const TIMING_MAGIC: u64 = u64::from_le_bytes(*b"VCPUTASK");

/// What follows, and how it is scheduled.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Head {
    /// [`TIMING_MAGIC`].
    pub magic: u64,
    /// VCPUs.
    pub vcpus: u32,
    /// Tasks.
    pub tasks: u32,
}

/// Kind of a VCPU.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VcpuKind {
    /// Sporadic server of C in T.
    Main = 0,
    /// Bandwidth-preserving server of a utilisation.
    Io = 1,
}

/// A VCPU.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Vcpu {
    /// Its name.
    pub name: [u8; NAME_LEN],
    /// A [`VcpuKind`].
    pub kind: u32,
    /// Utilisation of an I/O VCPU, percent.
    pub percent: u32,
    /// Core of the partition, from 0.
    pub core: u32,
    /// Zero.
    pub reserved: u32,
    /// C of a main VCPU, nanoseconds.
    pub capacity_ns: u64,
    /// T of a main VCPU, nanoseconds.
    pub period_ns: u64,
}

/// A task.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Task {
    /// Its name.
    pub name: [u8; NAME_LEN],
    /// Number of the VCPU it runs on.
    pub vcpu: u32,
    /// Number of the main VCPU it works for.
    pub cause: u32,
    /// Longest execution time of a job, nanoseconds.
    pub wcet_ns: u64,
    /// Shortest distance of two jobs, nanoseconds.
    pub period_ns: u64,
    /// From release to end, nanoseconds.
    pub deadline_ns: u64,
    /// What the analysis promises, nanoseconds; 0 = nothing.
    pub bound_ns: u64,
}

const _: () =
    assert!(size_of::<Head>() == 16 && size_of::<Vcpu>() == 48 && size_of::<Task>() == 56);
