//! VCPUs and tasks of a partition, and their analysis
//!
//! The rules, `check` and the simulator read the same [`Timing`]; [`Timing::analyse`] applies
//! `bulkhead-analysis` core by core. Times are nanoseconds.

mod analyse;
mod explain;
mod overhead;
mod priorities;
mod ticks;

pub use analyse::CoreAnalysis;

use crate::system::Span;
use bulkhead_analysis::Reservation;
use bulkhead_analysis::overhead::Overhead;
use std::num::NonZero;

/// VCPUs and tasks of a partition with their schedule and costs.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Order of the VCPUs, and the slots.
    pub schedule: Schedule,
    /// In the order of the description.
    pub vcpus: Vec<Vcpu>,
    /// Tasks on VCPUs, in the order of the description.
    pub tasks: Vec<Task>,
    /// Threads at plain priorities, in the order of their components.
    pub threads: Vec<PriorityThread>,
    /// Scheduling overhead.
    pub overhead: Overhead,
    /// Time that the kernel meters of a budget besides the thread's own each time the thread runs,
    /// nanoseconds; part of a decision.
    pub switch_ns: u64,
    /// Doorbells that ring here: so many at most in such a time.
    pub doorbells: Vec<(u64, u64)>,
    /// Threads of the runtime that have what all others leave, and cost decisions alone: core, and
    /// how often each looks.
    pub polls: Vec<(usize, u64)>,
    /// Frequency of the counter by which it is scheduled.
    pub counter_hz: NonZero<u64>,
}

impl Default for Timing {
    /// No VCPUs and no tasks, with a counter of nanoseconds.
    fn default() -> Self {
        Self {
            schedule: Schedule::default(),
            vcpus: Vec::new(),
            tasks: Vec::new(),
            threads: Vec::new(),
            overhead: Overhead::default(),
            switch_ns: 0,
            doorbells: Vec::new(),
            polls: Vec::new(),
            counter_hz: const { NonZero::new(1_000_000_000).expect("not 0") },
        }
    }
}

/// Order of importance of main VCPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// A shorter period.
    #[default]
    RateMonotonic,
    /// An earlier deadline.
    EarliestDeadline,
    /// Its priority, in its time partition.
    FixedPriority,
}

/// How VCPUs are scheduled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Among main VCPUs.
    pub order: Order,
    /// True if VCPUs without budget run while the core would be idle.
    pub background: bool,
    /// Longest turn among equals; none: no end.
    pub quantum_ns: Option<u64>,
    /// Frame in which the slots repeat; 0 without slots.
    pub frame_ns: u64,
    /// Priorities of TP0 that are EDF bands.
    pub bands: Vec<u8>,
    /// In order of time.
    pub slots: Vec<Slot>,
}

/// A slot of a time partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Name.
    pub name: String,
    /// Core of the partition, from 0.
    pub core: usize,
    /// Number of its time partition, from 1.
    pub partition: u8,
    /// From the start of the frame.
    pub start_ns: u64,
    /// More than 0.
    pub length_ns: u64,
}

/// A VCPU.
#[derive(Clone, Debug)]
pub struct Vcpu {
    /// Name, at most 15 characters.
    pub name: String,
    /// Where it is described.
    pub span: Span,
    /// Its budget.
    pub kind: VcpuKind,
    /// Its rank under [`Order::FixedPriority`].
    pub place: Place,
    /// Core of the partition, from 0.
    pub core: usize,
}

/// Time partition and priority of a main VCPU or a reservation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Its time partition.
    pub partition: u8,
    /// Its priority there, 0 the most important.
    pub priority: u8,
}

/// Budget of a VCPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VcpuKind {
    /// Sporadic server.
    Main {
        /// C.
        capacity_ns: u64,
        /// T.
        period_ns: u64,
    },
    /// Sporadic server in an EDF band.
    Reservation {
        /// C.
        capacity_ns: u64,
        /// T.
        period_ns: u64,
    },
    /// Bandwidth-preserving server of so many percent.
    Io {
        /// U, 1 to 100.
        percent: u32,
    },
}

impl Vcpu {
    /// C and T, if it has them and they are valid.
    #[must_use]
    pub const fn budget(&self) -> Option<Reservation> {
        match self.kind {
            VcpuKind::Main {
                capacity_ns,
                period_ns,
            }
            | VcpuKind::Reservation {
                capacity_ns,
                period_ns,
            } => Reservation::new(capacity_ns, period_ns),
            VcpuKind::Io { .. } => None,
        }
    }
}

/// A task.
#[derive(Clone, Debug)]
pub struct Task {
    /// Name, at most 15 characters.
    pub name: String,
    /// Where it is described.
    pub span: Span,
    /// Index of the VCPU it runs on.
    pub vcpu: usize,
    /// Index of the main VCPU it works for: its own where that is one.
    pub cause: usize,
    /// Index of the task that releases it: a job of it begins where one of that ends. Then what is
    /// said of its response counts from that one's release.
    pub after: Option<usize>,
    /// Worst-case execution time of a job.
    pub wcet_ns: u64,
    /// Shortest distance of two jobs.
    pub period_ns: u64,
    /// From release to end; at most the period, or [`NO_DEADLINE`].
    pub deadline_ns: u64,
    /// Jobs that come together, once a period; not 0.
    pub burst: u64,
    /// Set for a task of the runtime: a stage of a pipe, or a thread that serves stages. Its WCET
    /// has all that its job takes.
    pub is_stage: bool,
}

/// A component's thread at a plain priority, behind all VCPUs of its core.
#[derive(Clone, Debug)]
pub struct PriorityThread {
    /// Name of the component.
    pub component: String,
    /// Core of the partition, from 0.
    pub core: usize,
    /// Its priority, 0 the most important.
    pub priority: u8,
    /// Limit of its processor time.
    pub budget: Option<Reservation>,
    /// The task that it executes, if one is described.
    pub task: Option<PriorityTask>,
}

/// A task without a VCPU.
#[derive(Clone, Debug)]
pub struct PriorityTask {
    /// Name, at most 15 characters.
    pub name: String,
    /// Its place in the description.
    pub span: Span,
    /// Worst-case execution time of a job.
    pub wcet_ns: u64,
    /// Shortest distance of two jobs.
    pub period_ns: u64,
    /// From release to end; at most the period.
    pub deadline_ns: u64,
}

/// Reason for which a thread at a priority has no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unbounded {
    /// No task says how long and how often it runs.
    NoTask,
    /// Nor is that known of this thread, by index, which is as important.
    Beside(usize),
    /// The thread does not respond within its period.
    NotWithinPeriod,
}

/// Deadline of a task that may take as long as it takes.
pub const NO_DEADLINE: u64 = u64::MAX;

impl Task {
    /// Returns whether it does not respond in time, given its bound.
    #[must_use]
    pub fn is_late(&self, bound: Option<u64>) -> bool {
        self.deadline_ns != NO_DEADLINE && bound.is_none_or(|bound| bound > self.deadline_ns)
    }
}
