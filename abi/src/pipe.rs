//! Tuned pipes of a partition, for the scheduler that runs its stages
//!
//! [`Head`], then all [`Pipe`]s of which the partition runs a stage, then all their [`Stage`]s, those of other partitions among
//! them, those of a pipe together and in an order in which data flow, then the [`Crossing`]s and the [`ComponentFunction`]s. Each core of an rtos partition reads all of this data, behind VCPUs,
//! tasks and schedule in the same pages ([`crate::timing`]); Linux reads the property `bulkhead,pipes` of the device tree. A partition without
//! stages has no such data. Each pipe was solved and admitted as a whole.

use crate::NAME_LEN;
use core::ops::Range;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// `TUNEPIPE` in ASCII.
pub const PIPES_MAGIC: u64 = u64::from_le_bytes(*b"TUNEPIPE");
/// No VCPU, no endpoint, no core of this partition.
pub const NONE: u32 = u32::MAX;
/// No identifier in particular.
pub const ANY: u16 = u16::MAX;
/// Name of the memory shared by the components that run stages on several cores. Names of descriptions do not begin so.
pub const TOGETHER: &str = ".pipes";

/// Endpoints of a partition, at most, that Main VCPUs scatter or gather for.
pub const MAX_SHARED: usize = 8;
/// Most bytes of a message.
pub const MAX_MESSAGE: u32 = 1 << 20;
/// Most VCPUs of a partition that runs stages: those of the description, of stages, and of its scheduler.
pub const MAX_VCPUS: usize = 48;

/// Kind of the source or of the sink of a stage.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndpointKind {
    /// None is named: a first stage is released by its timer, messages of a last stage are dropped.
    #[default]
    Absent = 0,
    /// The timer of the stage.
    Timer = 1,
    /// The trace of the partition; in Linux a file.
    Trace = 2,
    /// Messages are dropped.
    Null = 3,
    /// Other machines, through the bridge of a Linux partition.
    Bridge = 4,
    /// An endpoint of a device, by its name.
    Device = 5,
}

impl EndpointKind {
    /// All kinds, by number.
    pub const ALL: [Self; 6] = [
        Self::Absent,
        Self::Timer,
        Self::Trace,
        Self::Null,
        Self::Bridge,
        Self::Device,
    ];
    /// Sources and sinks that a function names by [`Self::word`].
    pub const BUILT_IN: [&[Self]; 2] = [&[Self::Timer], &[Self::Trace, Self::Null, Self::Bridge]];

    /// Returns the word of the description; empty for a kind without one.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Absent | Self::Device => "",
            Self::Timer => "timer",
            Self::Trace => "trace",
            Self::Null => "null",
            Self::Bridge => "bridge",
        }
    }

    /// Returns the kind of that number; [`Self::Absent`] for an unknown one, so that no message goes to an unnamed device.
    #[must_use]
    pub fn of(number: u8) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|one| *one as u8 == number).unwrap_or_default()
    }
}

/// Reaction to a job that used up its budget.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnOverrun {
    /// Its output is dropped.
    #[default]
    Skip = 0,
    /// The pipe is stopped.
    Stop = 1,
    /// The overrun is counted, as in any case.
    Report = 2,
}

impl OnOverrun {
    /// All of them, by number.
    pub const ALL: [Self; 3] = [Self::Skip, Self::Stop, Self::Report];

    /// Returns the reaction of that number; [`Self::Skip`] for an unknown one, so that late output is never sent.
    #[must_use]
    pub fn of(number: u32) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|one| *one as u32 == number).unwrap_or_default()
    }
}

/// Bytes that a network card of the program that runs pipes shares with it.
pub const CARD_BYTES: u64 = 264 << 10;

/// Header of the pipes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Head {
    /// [`PIPES_MAGIC`].
    pub magic: u64,
    /// Pipes.
    pub pipes: u32,
    /// Stages of all of them.
    pub stages: u32,
    /// Their edges between this partition and others, and between its cores.
    pub crossings: u32,
    /// Functions of the partition that components execute.
    pub functions: u32,
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
    /// Bound of the analysis for the longest path, nanoseconds.
    pub bound_ns: u64,
    /// Without a message over a crossing for so long its reader falls back, nanoseconds; 0: it waits.
    pub max_age_ns: u64,
}

/// A stage.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Stage {
    /// Its function.
    pub function: [u8; NAME_LEN],
    /// Name of the endpoint it reads, without its component; zeros unless that is a [`EndpointKind::Device`]. In Linux the name is the
    /// device's address `0000:BB:SS.F`: domain, bus, slot and function.
    pub source: [u8; NAME_LEN],
    /// Name of the endpoint it writes, likewise.
    pub sink: [u8; NAME_LEN],
    /// The function that takes its place where nothing came over a crossing for too long, or nothing.
    pub fallback: [u8; NAME_LEN],
    /// Core of this partition on which it runs, or [`NONE`]: another partition runs it.
    pub core: u32,
    /// Number of its VCPU, or [`NONE`] in Linux and of another partition's.
    pub vcpu: u32,
    /// Number of the I/O VCPU that serves its endpoint, or [`NONE`].
    pub io: u32,
    /// Numbers of the Main VCPUs that scatter what it reads there and gather what it writes, or [`NONE`].
    pub scatter: [u32; 2],
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
    /// CAN identifiers, 11 bits, of what it reads and writes there; [`ANY`] = whatever comes, as it is. At a network card, UDP ports.
    pub identifiers: [u16; 2],
    /// At a network card: its own IPv4 address and the receiver's, as numbers; 0: none.
    pub addresses: [u32; 2],
    /// At a network card: the UDP port that it sends from.
    pub port: u16,
    /// The [`EndpointKind`]s of its source and its sink.
    pub endpoint_kinds: [u8; 2],
    /// Bytes of each message that it reads and of each that it writes.
    pub message_bytes: [u32; 2],
    /// At a device: the shortest distance of the messages that it reads, nanoseconds; what comes closer is dropped. 0: any.
    pub distance_ns: u64,
    /// WCET of a job, nanoseconds.
    pub wcet_ns: u64,
    /// C, nanoseconds.
    pub capacity_ns: u64,
    /// T, nanoseconds.
    pub period_ns: u64,
}

/// An edge from a stage of one partition to a stage of another, or between cores of an rtos partition.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Crossing {
    /// The channel that is the buffer; zeros between cores of the partition: its components share the buffer ([`TOGETHER`]).
    pub channel: [u8; NAME_LEN],
    /// The stage that writes, by its number among all that stand here.
    pub from: u32,
    /// The stage that reads.
    pub to: u32,
}

/// A function of an rtos partition that a component executes, and not the scheduler's own program
/// ([`crate::component::pipe_functions`]).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct ComponentFunction {
    /// Its name in the partition.
    pub name: [u8; NAME_LEN],
    /// Number of the component in the archive.
    pub component: u64,
}

/// Pipes read from memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pipes<'b> {
    /// The pipes.
    pub pipes: &'b [Pipe],
    /// Their stages, those of a pipe together.
    pub stages: &'b [Stage],
    /// Their edges between partitions, and between cores of this one.
    pub crossings: &'b [Crossing],
    /// Functions of this partition that components execute.
    pub functions: &'b [ComponentFunction],
}

impl<'b> Pipes<'b> {
    /// No pipes.
    pub const NONE: Self = Self {
        pipes: &[],
        stages: &[],
        crossings: &[],
        functions: &[],
    };

    /// Returns the pipes at the beginning of aligned `bytes`; `None` if the bytes are no pipes.
    #[must_use]
    pub fn read(bytes: &'b [u8]) -> Option<Self> {
        Self::read_before(bytes).map(|(pipes, _)| pipes)
    }

    /// Returns the pipes, and the bytes behind them.
    #[must_use]
    pub fn read_before(bytes: &'b [u8]) -> Option<(Self, &'b [u8])> {
        let (head, rest) = Head::ref_from_prefix(bytes).ok()?;
        if head.magic != PIPES_MAGIC {
            return None;
        }
        let (pipes, rest) = <[Pipe]>::ref_from_prefix_with_elems(rest, head.pipes as usize).ok()?;
        let (stages, rest) =
            <[Stage]>::ref_from_prefix_with_elems(rest, head.stages as usize).ok()?;
        let (crossings, rest) =
            <[Crossing]>::ref_from_prefix_with_elems(rest, head.crossings as usize).ok()?;
        let (functions, rest) =
            <[ComponentFunction]>::ref_from_prefix_with_elems(rest, head.functions as usize)
                .ok()?;
        let pipes = Self {
            pipes,
            stages,
            crossings,
            functions,
        };
        Some((pipes, rest))
    }

    /// The pipes with the numbers of their stages.
    pub fn each(self) -> impl Iterator<Item = (&'b Pipe, Range<usize>)> {
        let mut next = 0;
        self.pipes.iter().map(move |pipe| {
            let first = next;
            next += pipe.stages as usize;
            (pipe, first..next)
        })
    }
}

impl Crossing {
    /// Returns `true` if it is between cores of the partition.
    #[must_use]
    pub const fn is_within(&self) -> bool {
        self.channel[0] == 0
    }
}

impl Stage {
    /// Returns the kinds of its source and its sink.
    #[must_use]
    pub fn endpoints(&self) -> [EndpointKind; 2] {
        self.endpoint_kinds.map(EndpointKind::of)
    }

    /// Returns `true` if this partition runs it.
    #[must_use]
    pub const fn is_here(&self) -> bool {
        self.core != NONE
    }
}

const _: () = assert!(size_of::<Pipe>() == 48 && size_of::<Stage>() == 160);
