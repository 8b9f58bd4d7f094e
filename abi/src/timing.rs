//! VCPUs and tasks of a partition, as its scheduler finds them
//!
//! Whole pages of the archive behind the components' ([`crate::kernel::Archive::timing`]): [`Head`],
//! then its VCPUs, then its tasks, each in the order of the description. Absent where the partition
//! describes none. Where VCPUs are not ordered by rate alone, [`Schedule`] and its slots follow; if the
//! scheduling overhead is known, [`Costs`] and the doorbells that ring here follow, else zeros.

use crate::NAME_LEN;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// `VCPUTASK` in ASCII.
pub const TIMING_MAGIC: u64 = u64::from_le_bytes(*b"VCPUTASK");

/// Header, and the order of scheduling.
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
    /// As [`Self::Main`], in the EDF band of its priority.
    Reservation = 2,
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
    /// Under [`Order::FixedPriority`]: the priority, and the time partition above its eight bits.
    pub place: u32,
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
    /// Bound of the analysis, nanoseconds; 0 = none.
    pub bound_ns: u64,
    /// By how much another task that releases its jobs may have them come later, nanoseconds; 0: none does.
    pub late_ns: u64,
    /// Jobs that come together.
    pub burst: u64,
}

/// `SCHEDULE` in ASCII.
pub const SCHEDULE_MAGIC: u64 = u64::from_le_bytes(*b"SCHEDULE");
/// Time partitions there may be, TP0 among them.
pub const MAX_TIME_PARTITIONS: usize = 8;
/// Chunks of a main VCPU's budget that a scheduler keeps.
pub const MAX_CHUNKS: usize = 8;
/// Slots of a core, gaps between them among them.
pub const MAX_SLOTS: usize = 16;

/// Order of main VCPUs.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The shorter T.
    #[default]
    RateMonotonic = 0,
    /// The earlier deadline.
    EarliestDeadline = 1,
    /// Their priorities, in time partitions.
    FixedPriority = 2,
}

/// How VCPUs are ordered, and where it is set, the time table.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Schedule {
    /// [`SCHEDULE_MAGIC`].
    pub magic: u64,
    /// An [`Order`].
    pub order: u32,
    /// 1: VCPUs without budget run when no other VCPU is ready.
    pub background: u32,
    /// Longest turn among equals, nanoseconds; 0 = no end.
    pub quantum_ns: u64,
    /// Frame of the slots, nanoseconds.
    pub frame_ns: u64,
    /// Priorities of TP0 that are EDF bands, by bit.
    pub bands: u64,
    /// Slots that follow, those of a core in order of time.
    pub slots: u32,
    /// Zero.
    pub reserved: u32,
}

/// A slot of the time table.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Slot {
    /// Core of the partition, from 0.
    pub core: u32,
    /// Time partition, from 1.
    pub partition: u32,
    /// From the start of the frame, nanoseconds.
    pub start_ns: u64,
    /// Nanoseconds.
    pub length_ns: u64,
}

/// `DECISION` in ASCII.
pub const COSTS_MAGIC: u64 = u64::from_le_bytes(*b"DECISION");

/// Scheduling overhead.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Costs {
    /// [`COSTS_MAGIC`].
    pub magic: u64,
    /// A decision at most, nanoseconds.
    pub decision_ns: u64,
    /// An interrupt that leads to none at most, nanoseconds.
    pub interrupt_ns: u64,
    /// Time that the runtime takes of a task's budget for each job at most, nanoseconds.
    pub job_ns: u64,
    /// Time that the kernel meters of a budget besides the thread's own each time the thread runs, nanoseconds.
    pub switch_ns: u64,
    /// Time for which the kernel masks interrupts at most, nanoseconds.
    pub blocking_ns: u64,
    /// Doorbells that follow.
    pub doorbells: u64,
}

/// A doorbell that rings in the partition.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Doorbell {
    /// So often at most.
    pub limit: u64,
    /// In such a time, nanoseconds.
    pub per_ns: u64,
}

const _: () = assert!(size_of::<Costs>() == 56 && size_of::<Doorbell>() == 16);
const _: () = assert!(size_of::<Schedule>() == 48 && size_of::<Slot>() == 24);
const _: () =
    assert!(size_of::<Head>() == 16 && size_of::<Vcpu>() == 48 && size_of::<Task>() == 72);
