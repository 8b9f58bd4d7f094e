//! Repository for run-time pipes
//!
//! [`Head`], then [`Core`]s, [`Load`]s, [`Counted`] with their [`Jobs`] and doorbells, [`Io`]s, [`Device`]s, [`Function`]s, [`Flow`]s and
//! [`RemotePartition`]s, then the text of the flows. Behind the pipes
//! in the same pages ([`crate::pipe`]); absent where the description leaves no room for pipes that are typed. Cores and functions of all
//! partitions stand here, since pipes that cross partitions are judged over all of them; times are nanoseconds.

use crate::NAME_LEN;
use crate::pipe::EndpointKind;
use crate::timing::Doorbell;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// `PIPEREPO` in ASCII.
pub const REPOSITORY_MAGIC: u64 = u64::from_le_bytes(*b"PIPEREPO");
/// Nothing of that kind.
pub const NONE: u32 = u32::MAX;

/// Stages of all pipes of a partition, those that are typed among them.
pub const MAX_STAGES: usize = 24;
/// Pipes of a partition, those that are typed among them.
pub const MAX_PIPES: usize = 16;
/// Bytes of the buffers between all stages of a partition.
pub const MAX_BUFFERS: u64 = 64 << 10;
/// Cores in a repository.
pub const MAX_CORES: usize = 16;
/// Functions in a repository; a function with a unique name is listed twice.
pub const MAX_FUNCTIONS: usize = 64;
/// VCPUs in a repository, devices' and those of stages among them.
pub const MAX_VCPUS: usize = 64;
/// Partitions in which flows that are typed in one may have stages.
pub const MAX_REMOTE_PARTITIONS: usize = 4;
/// Cores of all partitions on which decisions are counted: those on which stages run, except Linux's.
pub const MAX_COUNTED: usize = 8;
/// Tasks of a core that are not of stages, the recorder's and the planner's among them.
pub const MAX_JOBS: usize = 24;
/// Doorbells that ring there.
pub const MAX_DOORBELLS: usize = 8;

/// C and T of the recorder, which also reads the console, nanoseconds.
pub const RECORDER_NS: [u64; 2] = [1_000_000, 50_000_000];
/// Name of the VCPU on the first core of a partition that records what leaves its pipes; no name of a description contains a dot.
pub const RECORDER: &str = "recorder.0";
/// Polling period of the recorder and of the planner, nanoseconds.
pub const PAUSE_NS: u64 = 5_000_000;

/// Longest flow, bytes.
pub const MAX_FLOW: usize = 256;
/// Longest line that can be typed, bytes, without its end.
pub const MAX_LINE: usize = 320;

/// Bytes of a name that may have another before it, `PARTITION.FUNCTION`.
pub const LONG_NAME: usize = 2 * NAME_LEN;

/// Header of the repository.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Head {
    /// [`REPOSITORY_MAGIC`].
    pub magic: u64,
    /// Cores.
    pub cores: u32,
    /// Main VCPUs that no pipe of this partition has.
    pub loads: u32,
    /// I/O VCPUs.
    pub ios: u32,
    /// Device pipes.
    pub devices: u32,
    /// Functions.
    pub functions: u32,
    /// Flows: of the partition's pipes, in their order.
    pub flows: u32,
    /// Partitions in which flows that are typed here may have stages.
    pub remote_partitions: u32,
    /// Bytes of text.
    pub text: u32,
    /// The core on which stages run here.
    pub core: u32,
    /// Stages that may be typed, beside those that were removed.
    pub spare_stages: u32,
    /// Bytes of the buffers between stages that are typed.
    pub spare_bytes: u32,
    /// Cores on which decisions are counted.
    pub counted: u32,
    /// Tasks of all of them that are no stages'.
    pub jobs: u32,
    /// Doorbells that ring on any of them.
    pub doorbells: u32,
    /// 1: flows that are typed in another partition have stages here, and none is typed here.
    pub serves: u32,
    /// 0.
    pub reserved: u32,
}

/// A core.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Core {
    /// For people.
    pub name: [u8; LONG_NAME],
    /// A [`Policy`].
    pub policy: u32,
    /// Its address space: of an rtos partition each core is one by itself, Linux is one.
    pub space: u32,
    /// Its number in its partition, or [`NONE`] if no component runs stages there.
    pub number: u32,
    /// The first core of its partition.
    pub first: u32,
}

/// How a core orders VCPUs.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The shorter period first.
    RateMonotonic = 0,
    /// The earlier deadline first.
    Edf = 1,
    /// `SCHED_DEADLINE` of Linux.
    Deadline = 2,
}

/// A main VCPU.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Load {
    /// Its core.
    pub core: u32,
    /// 1: a stage runs on it.
    pub stage: u32,
    /// Device that the stage reads, or [`NONE`].
    pub reads: u32,
    /// Device that it writes, or [`NONE`].
    pub writes: u32,
    /// Jobs in T.
    pub jobs: u64,
    /// C.
    pub capacity_ns: u64,
    /// T.
    pub period_ns: u64,
}

/// Scheduler of a core on which scheduling overhead is counted.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Counted {
    /// The core.
    pub core: u32,
    /// Its tasks that are no stages', behind those of the cores before.
    pub jobs: u32,
    /// Doorbells that ring there, likewise.
    pub doorbells: u32,
    /// 0.
    pub reserved: u32,
    /// A decision there at most, nanoseconds.
    pub decision_ns: u64,
    /// An interrupt there that leads to none at most, nanoseconds.
    pub interrupt_ns: u64,
    /// Time that the runtime takes there of a stage's budget for each job at most, nanoseconds.
    pub stage_ns: u64,
    /// Time for which the kernel masks interrupts there at most, nanoseconds.
    pub blocking_ns: u64,
    /// Longest turn among equals there, nanoseconds; 0 = no end.
    pub quantum_ns: u64,
}

/// Jobs of a task ([`Counted::jobs`]).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Jobs {
    /// Shortest distance of two, nanoseconds.
    pub period_ns: u64,
    /// By how much one may come later than that, nanoseconds.
    pub late_ns: u64,
    /// Of a bottom half: pieces of a job; 0 where a Main VCPU runs it.
    pub pieces: u64,
}

/// An I/O VCPU.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Io {
    /// For people.
    pub name: [u8; LONG_NAME],
    /// Its core.
    pub core: u32,
    /// Its utilisation.
    pub percent: u32,
    /// Of the bottom half for one message.
    pub wcet_ns: u64,
    /// Streams of messages that meet there.
    pub sharers: u64,
}

/// A device pipe.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Device {
    /// Its endpoint.
    pub name: [u8; LONG_NAME],
    /// Number of its I/O VCPU.
    pub io: u32,
    /// Its number among the VCPUs of the partition ([`crate::timing`]), or [`NONE`] in another partition.
    pub vcpu: u32,
    /// Number of the VCPU that scatters and gathers, likewise, or [`NONE`].
    pub scatter: u32,
    /// 0.
    pub reserved: u32,
    /// C of the VCPU that scatters and gathers; 0: there is none.
    pub capacity_ns: u64,
    /// Its T.
    pub period_ns: u64,
    /// Stages that may read or write there.
    pub sharers: u64,
    /// Shortest distance of two messages; 0: as short as the pipe takes them.
    pub distance_ns: u64,
}

/// A pipe function.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Function {
    /// By which flows know it: `PARTITION.FUNCTION`, or the function's name alone.
    pub name: [u8; LONG_NAME],
    /// Its name in its partition.
    pub function: [u8; NAME_LEN],
    /// Name of the endpoint it reads, without its component; zeros unless that is a [`EndpointKind::Device`].
    pub source: [u8; NAME_LEN],
    /// Name of the endpoint it writes, likewise.
    pub sink: [u8; NAME_LEN],
    /// Its core.
    pub core: u32,
    /// Most inputs.
    pub inputs: u32,
    /// Most outputs.
    pub outputs: u32,
    /// The only buffers it allows: 1 four-slot, 2 lossless; 0: any.
    pub buffering: u32,
    /// Device that it reads, or [`NONE`].
    pub reads: u32,
    /// Device that it writes, or [`NONE`].
    pub writes: u32,
    /// A [`crate::pipe::OnOverrun`].
    pub on_overrun: u32,
    /// Numbers in the description of the types of the messages that it reads and that it writes; 0: two words.
    pub message_types: [u16; 2],
    /// Bytes of these messages.
    pub message_bytes: [u32; 2],
    /// CAN identifiers of what it reads and writes there, or [`crate::pipe::ANY`]; at a network card, UDP ports.
    pub identifiers: [u16; 2],
    /// At a network card: its own IPv4 address and the receiver's, as numbers; 0: none.
    pub addresses: [u32; 2],
    /// At a network card: the UDP port that it sends from.
    pub port: u16,
    /// The [`EndpointKind`]s of its source and its sink; a device has an I/O VCPU or none.
    pub endpoint_kinds: [u8; 2],
    /// WCET of a job.
    pub wcet_ns: u64,
    /// The longest time that was measured; 0: it was not.
    pub wcmt_ns: u64,
    /// Period where nothing is required.
    pub period_ns: u64,
}

/// The flow of a pipe of the description.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Flow {
    /// Its first byte in the text.
    pub start: u32,
    /// Its bytes.
    pub length: u32,
    /// 1: what is promised of it must not grow, since it ends in another partition or has stages in one in which others type flows.
    pub shared: u32,
    /// 0.
    pub reserved: u32,
}

/// A partition that may run stages of this one's run-time flows, or that may have stages of its own here.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct RemotePartition {
    /// The channel between both.
    pub channel: [u8; NAME_LEN],
    /// The address space of its first core, which is the number of that.
    pub space: u32,
    /// Buffers in the channel.
    pub buffers: u32,
}

/// Repository read from memory.
#[derive(Clone, Copy, Debug)]
pub struct Repository<'b> {
    /// Its header.
    pub head: &'b Head,
    /// Cores.
    pub cores: &'b [Core],
    /// Main VCPUs that no pipe of this partition has.
    pub loads: &'b [Load],
    /// Cores on which decisions are counted.
    pub counted: &'b [Counted],
    /// Tasks of theirs that are no stages'.
    pub jobs: &'b [Jobs],
    /// Doorbells that ring there.
    pub doorbells: &'b [Doorbell],
    /// I/O VCPUs.
    pub ios: &'b [Io],
    /// Device pipes.
    pub devices: &'b [Device],
    /// Functions.
    pub functions: &'b [Function],
    /// Flows.
    pub flows: &'b [Flow],
    /// Partitions in which flows that are typed here may have stages.
    pub remote_partitions: &'b [RemotePartition],
    /// The partition that may have stages of its run-time flows here, if any.
    pub serves: &'b [RemotePartition],
    /// Text of the flows.
    pub text: &'b [u8],
}

impl<'b> Repository<'b> {
    /// Returns the repository at the beginning of aligned `bytes`; `None` if the bytes are no repository.
    #[must_use]
    pub fn read(bytes: &'b [u8]) -> Option<Self> {
        let (head, rest) = Head::ref_from_prefix(bytes).ok()?;
        if head.magic != REPOSITORY_MAGIC {
            return None;
        }
        let (cores, rest) = several(rest, head.cores)?;
        let (loads, rest) = several(rest, head.loads)?;
        let (counted, rest) = several(rest, head.counted)?;
        let (jobs, rest) = several(rest, head.jobs)?;
        let (doorbells, rest) = several(rest, head.doorbells)?;
        let (ios, rest) = several(rest, head.ios)?;
        let (devices, rest) = several(rest, head.devices)?;
        let (functions, rest) = several(rest, head.functions)?;
        let (flows, rest) = several(rest, head.flows)?;
        let (remote_partitions, rest) = several(rest, head.remote_partitions)?;
        let (serves, rest) = several(rest, head.serves)?;
        let text = rest.get(..head.text as usize)?;
        Some(Self {
            head,
            cores,
            loads,
            counted,
            jobs,
            doorbells,
            ios,
            devices,
            functions,
            flows,
            remote_partitions,
            serves,
            text,
        })
    }

    /// The flow of the partition's pipe of that number; nothing where there is none.
    #[must_use]
    pub fn flow(&self, pipe: usize) -> Option<&'b str> {
        let Flow { start, length, .. } = *self.flows.get(pipe)?;
        let end = start.checked_add(length)?;
        core::str::from_utf8(self.text.get(start as usize..end as usize)?).ok()
    }
}

impl Function {
    /// Returns the kinds of its source and its sink.
    #[must_use]
    pub fn endpoints(&self) -> [EndpointKind; 2] {
        self.endpoint_kinds.map(EndpointKind::of)
    }

    /// Returns `true` if the function reads messages at a device or from another machine.
    #[must_use]
    pub fn is_receiver(&self) -> bool {
        matches!(
            self.endpoints()[0],
            EndpointKind::Device | EndpointKind::Bridge
        )
    }

    /// Returns `true` if the function is a receiver or writes an endpoint of a device.
    #[must_use]
    pub fn has_endpoint(&self) -> bool {
        self.is_receiver() || self.endpoints()[1] == EndpointKind::Device
    }
}

impl Repository<'_> {
    /// Returns `true` if the bound of the partition's pipe of that number must not grow.
    #[must_use]
    pub fn is_shared(&self, pipe: usize) -> bool {
        self.flows.get(pipe).is_some_and(|flow| flow.shared != 0)
    }
}

fn several<T: FromBytes + Immutable + KnownLayout>(
    bytes: &[u8],
    count: u32,
) -> Option<(&[T], &[u8])> {
    <[T]>::ref_from_prefix_with_elems(bytes, count as usize).ok()
}

/// Pads a name with zeros; what does not fit is cut (the checker refuses longer names).
#[must_use]
pub fn long_name_field(name: &str) -> [u8; LONG_NAME] {
    let mut field = [0; LONG_NAME];
    for (place, byte) in field.iter_mut().zip(name.bytes()) {
        *place = byte;
    }
    field
}

/// The text of such a field, up to the first zero; `"?"` where it is not UTF-8.
#[must_use]
pub fn long_name_text(field: &[u8; LONG_NAME]) -> &str {
    let end = field.iter().position(|&byte| byte == 0);
    let text = field.get(..end.unwrap_or(LONG_NAME)).unwrap_or_default();
    core::str::from_utf8(text).unwrap_or("?")
}

const _: () =
    assert!(size_of::<Head>() == 72 && size_of::<Core>() == 48 && size_of::<Load>() == 40);
const _: () =
    assert!(size_of::<Io>() == 56 && size_of::<Device>() == 80 && size_of::<Jobs>() == 24);
const _: () = assert!(size_of::<Function>() == 160 && size_of::<Flow>() == 16);
const _: () = assert!(size_of::<RemotePartition>() == 24 && size_of::<Counted>() == 56);
