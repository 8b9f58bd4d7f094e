//! The repository of functions, devices and cores
//!
//! One repository per system ("Tuned Pipes" §3.1): each function with its profiled WCET, the most
//! inputs and outputs that it handles in one job, and the buffers it allows; each device pipe with
//! its I/O VCPU and the Main VCPU that scatters and gathers for its sharers (§3.1.2). All times are
//! nanoseconds.

use crate::language::Buffering;
use bulkhead_analysis::overhead::{Jobs, Keeping, Overhead};
use bulkhead_analysis::utilisation::{Fraction, WHOLE};
use bulkhead_analysis::{Reservation, Time};

/// How a core schedules its VCPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Sporadic servers, the shorter period first.
    RateMonotonic,
    /// Sporadic servers, the earliest deadline first.
    Edf,
    /// SCHED_DEADLINE of Linux: constant-bandwidth servers, earliest deadline first.
    Deadline,
}

/// Longest time that counts: a day, far from where sums overflow.
pub const LONGEST: Time = 86_400_000_000_000;

impl Policy {
    /// Maximum utilisation of VCPUs. Linux keeps 5 % (`sched_rt_runtime_us`).
    #[must_use]
    pub const fn capacity(self) -> Fraction {
        match self {
            Self::RateMonotonic | Self::Edf => WHOLE,
            Self::Deadline => Fraction(WHOLE.0 / 100 * 95),
        }
    }

    /// Shortest and longest period. Linux's are `sched_deadline_period_min_us` and `_max_us`.
    #[must_use]
    pub const fn periods(self) -> (Time, Time) {
        match self {
            Self::RateMonotonic | Self::Edf => (1_000, LONGEST),
            Self::Deadline => (100_000, 4_194_304_000),
        }
    }

    /// Smallest budget. Linux counts a runtime in steps of 1,024 ns (`DL_SCALE`).
    #[must_use]
    pub const fn least_capacity(self) -> Time {
        match self {
            Self::RateMonotonic | Self::Edf => 1,
            Self::Deadline => 1_024,
        }
    }
}

/// A core.
#[derive(Clone, Copy, Debug)]
pub struct Core<'a> {
    /// For messages.
    pub name: &'a str,
    /// Scheduling policy.
    pub policy: Policy,
    /// Its address space: a stage that one of another feeds reads by the clock.
    pub space: usize,
}

/// A Main VCPU that is there already.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Its core.
    pub core: usize,
    /// C, T.
    pub server: Reservation,
    /// Jobs on it.
    pub runs: Runs,
}

/// Work of an existing Main VCPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// Tasks, of which so many jobs come in T; where they stand alone, [`Decisions::jobs`] has
    /// them, too.
    Tasks {
        /// Number of jobs.
        jobs: u64,
    },
    /// A stage of a pipe.
    Stage {
        /// Devices that it reads and writes.
        devices: [Option<usize>; 2],
        /// m: jobs in T.
        messages: u64,
    },
}

/// Scheduling overhead of a core, counted as run-time admission does. Absent for Linux alone: the WCETs of its
/// functions have its overhead.
#[derive(Clone, Copy, Debug)]
pub struct Decisions<'a> {
    /// Its number.
    pub core: usize,
    /// Costs of decisions.
    pub overhead: Overhead,
    /// How budgets are kept there.
    pub keeping: Keeping,
    /// Jobs of what runs there besides stages, and bottom halves that work for stages.
    pub jobs: &'a [Jobs],
    /// Doorbells that ring there: so often at most, in such a time.
    pub doorbells: &'a [(u64, Time)],
}

/// An I/O VCPU: one per device class. It has the priority of the most important VCPU that it works
/// for, including those of other pipes.
#[derive(Clone, Copy, Debug)]
pub struct Io<'a> {
    /// For messages.
    pub name: &'a str,
    /// Its core.
    pub core: usize,
    /// Of the bottom half for one message.
    pub wcet: Time,
    /// U.
    pub utilisation: Fraction,
    /// Most messages that are under way in the class at once.
    pub sharers: u64,
}

impl Io<'_> {
    /// Time after which the VCPU is eligible again: C/U. This is its period in sums of periods.
    #[must_use]
    pub fn period(&self) -> Time {
        let scaled = u128::from(self.wcet) * u128::from(WHOLE.0);
        let period = scaled.div_ceil(u128::from(self.utilisation.0.max(1)));
        u64::try_from(period).unwrap_or(LONGEST)
    }

    /// U in whole percent, of which it was made.
    #[must_use]
    pub const fn percent(&self) -> u32 {
        ((self.utilisation.0 as u128 * 100) >> 40) as u32
    }
}

/// A device pipe, in one direction.
#[derive(Clone, Copy, Debug)]
pub struct Device<'a> {
    /// For messages.
    pub name: &'a str,
    /// The I/O VCPU that serves it.
    pub io: usize,
    /// Main VCPU for scatter and gather, on the same core, where the device is shared; C handles
    /// one message.
    pub main: Option<Reservation>,
    /// Most messages that are under way in it at once.
    pub sharers: u64,
    /// As source: shortest distance of two messages to one pipe; `None` = as short as the pipe
    /// takes them.
    pub distance: Option<Time>,
}

/// A type of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageType {
    /// Its number in the description; 0: the two words of every message.
    pub number: u32,
    /// Bytes of a message.
    pub bytes: u32,
}

impl MessageType {
    /// Two words.
    pub const WORDS: Self = Self {
        number: 0,
        bytes: 16,
    };
}

/// A pipe function.
#[derive(Clone, Copy, Debug)]
pub struct Function<'a> {
    /// As it is called in pipelines.
    pub name: &'a str,
    /// Core on which it runs.
    pub core: usize,
    /// Of one job: one message of each input read, one to each output written.
    pub wcet: Time,
    /// Most inputs; 0 = it makes its messages itself.
    pub inputs: u32,
    /// Most outputs.
    pub outputs: u32,
    /// Types of the messages that it reads and that it writes.
    pub messages: [MessageType; 2],
    /// The only buffers it allows; `None` = any.
    pub buffering: Option<Buffering>,
    /// Device it reads.
    pub source: Option<usize>,
    /// Device it writes; without, what a last stage sends goes to the null device.
    pub sink: Option<usize>,
    /// Period where nothing is required.
    pub period: Time,
}

/// All there is. Indices refer to the slices; they are valid.
#[derive(Clone, Copy, Debug, Default)]
pub struct Repository<'a> {
    /// Cores.
    pub cores: &'a [Core<'a>],
    /// Other VCPUs on these cores.
    pub loads: &'a [Load],
    /// I/O VCPUs.
    pub ios: &'a [Io<'a>],
    /// Device pipes.
    pub devices: &'a [Device<'a>],
    /// Functions.
    pub functions: &'a [Function<'a>],
    /// Cores on which decisions are counted.
    pub decisions: &'a [Decisions<'a>],
}

impl Repository<'_> {
    /// Maximum time of the runtime that is charged to a stage for each job on a core.
    #[must_use]
    pub fn stage_cost(&self, core: usize) -> Time {
        self.decisions_on(core)
            .map_or(0, |counted| counted.overhead.stage)
    }

    /// Scheduling overhead of a core, if it is counted.
    #[must_use]
    pub fn decisions_on(&self, core: usize) -> Option<&Decisions<'_>> {
        self.decisions.iter().find(|one| one.core == core)
    }
}
