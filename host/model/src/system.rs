//! A system, as described and resolved
//!
//! The other parts of the tool use it: names are typed indices, sizes are bytes, times are
//! nanoseconds, defaults are filled in. Each item keeps its place in the description, for messages.

pub use crate::ids::{ChannelId, DeviceId, FunctionId, PartitionId};
pub use crate::kinds::{Clock, Criticality, Folder, Kind, Program, Trapping};
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::component::{OnFault, Part, Role};
use bulkhead_abi::guest::ChannelKind;
use bulkhead_abi::status::{Action, CAUSES};
use std::path::PathBuf;
use std::sync::Arc;

use crate::board::{Board, FunctionKind};
use crate::bridge::Bridge;
use crate::channel_size;
use crate::diagnostic::{Diagnostic, Severity};
use crate::pipes::{Offered, Pipe};
use crate::source::Sources;
pub use crate::source::Span;
use crate::timing::Timing;

/// A whole system.
#[derive(Clone, Debug)]
pub struct System {
    /// Name, also of the output folder.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Folder of the description; relative paths start here.
    pub folder: PathBuf,
    /// File of what was measured of pipe functions, relative to the folder, if the description
    /// names one.
    pub profile: Option<String>,
    /// The board.
    pub board: Board,
    /// Cores of the machine, used and spare; `None` = chosen by the plan.
    pub cores: Option<usize>,
    /// Partitions in the order of the description.
    pub partitions: Vec<Partition>,
    /// Channels in the order of the description.
    pub channels: Vec<Channel>,
    /// PCIe functions in the order of the description.
    pub functions: Vec<Function>,
    /// Pipes in the order of the description, solved.
    pub pipes: Vec<Pipe>,
    /// Functions and endpoints for run-time pipes, if a partition has spare stages.
    pub offered: Option<Offered>,
    /// Defaults of a run.
    pub run: Run,
    /// The texts that spans point into.
    pub sources: Arc<Sources>,
}

/// Defaults of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Length, nanoseconds of the run's clock; `None` = until interrupted.
    pub for_ns: Option<u64>,
    /// Which clock.
    pub clock: Clock,
    /// Names of what the verdict of a run does not judge.
    pub waive: Vec<String>,
}

/// A partition.
#[derive(Clone, Debug)]
pub struct Partition {
    /// Name, at most 15 characters.
    pub name: String,
    /// Place in the description.
    pub span: Span,
    /// Kind of its software.
    pub kind: Kind,
    /// Criticality.
    pub criticality: Criticality,
    /// Cores: how many, or which.
    pub cores: Cores,
    /// Bytes of memory, a multiple of the page size.
    pub memory: u64,
    /// Cache colours it is confined to; empty = not coloured.
    pub colours: Vec<u32>,
    /// The image started.
    pub image: Image,
    /// The image of [`Action::Alternate`].
    pub alternate: Option<Image>,
    /// Devices of the board it owns.
    pub devices: Vec<DeviceId>,
    /// PCIe functions it owns.
    pub functions: Vec<FunctionId>,
    /// Its devices may access memory past any SMMU.
    pub unconfined: bool,
    /// How its console is connected.
    pub console: Console,
    /// Bytes of its trace; 0 = no trace.
    pub trace: u64,
    /// Kernel command line (Linux) or argument text (others).
    pub command_line: String,
    /// Names of the faults that its image can make on purpose.
    pub faults: Vec<String>,
    /// May read all status and control others.
    pub privileged: bool,
    /// Treatment of WFI.
    pub wfi: Trapping,
    /// Treatment of broadcast TLB maintenance.
    pub tlbi: Trapping,
    /// How its inter-processor interrupts travel.
    pub ipi: Trapping,
    /// Maximum silence of its heartbeat, nanoseconds; `None`: not watched.
    pub heartbeat_ns: Option<u64>,
    /// State of a guest without heartbeats that changes while it makes progress.
    pub progress: Option<Progress>,
    /// Longest time from a start to the first sign of life, nanoseconds.
    pub startup_ns: u64,
    /// Action for each cause of fault.
    pub actions: [Action; CAUSES],
    /// For each cause, true if the description names its action.
    pub has_policy: [bool; CAUSES],
    /// Budget of restarts.
    pub restart: Restart,
    /// The partition that takes over on [`Action::Failover`].
    pub standby: Option<PartitionId>,
    /// Not started until a partition that names it as standby fails.
    pub is_standby: bool,
    /// Its VCPUs and tasks, if it names any.
    pub timing: Timing,
    /// Pipe functions that it offers.
    pub pipe_functions: Vec<String>,
    /// Pipe functions that components execute: function and component.
    pub component_functions: Vec<[String; 2]>,
    /// Room for pipes that are typed while it runs, if there is any.
    pub spare: Option<Spare>,
    /// Other partitions in which they may have stages, each with the channel that it takes.
    pub remote_partitions: Vec<RemotePartition>,
    /// Memory that its components share.
    pub shared: Vec<SharedMemory>,
    /// Its bridge to other machines, if it has one.
    pub bridge: Option<Bridge>,
}

/// Room for pipes that are typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spare {
    /// Stages.
    pub stages: u32,
    /// Bytes of the buffers between them.
    pub buffer_bytes: u32,
}

/// A partition in which flows that are typed elsewhere may have stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemotePartition {
    /// The other partition.
    pub partition: PartitionId,
    /// The channel between both: requests, and buffers.
    pub channel: ChannelId,
    /// Buffers in it.
    pub buffers: u32,
}

/// Memory that some components of a partition have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedMemory {
    /// Name, at most 15 characters.
    pub name: String,
    /// Bytes, whole pages.
    pub size: u64,
    /// Names of the components that share it.
    pub components: Vec<String>,
}

/// Cores of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cores {
    /// So many, chosen by the plan.
    Count(usize),
    /// Just these.
    These(Vec<usize>),
}

impl Cores {
    /// How many.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::Count(count) => *count,
            Self::These(list) => list.len(),
        }
    }
}

/// An image to start.
#[derive(Clone, Debug)]
pub enum Image {
    /// A crate of the workspace, built for the bare machine.
    Crate(String),
    /// The kernel and its components; it starts the first.
    Components(Vec<Component>),
    /// An ELF or arm64 `Image` or flat file; a flat one is placed at `load` and entered at `entry`.
    File {
        /// The file.
        path: PathBuf,
        /// Guest-physical load address of a flat file; default: start of memory.
        load: Option<u64>,
        /// Guest-physical entry point; default: the file's own, or the load address.
        entry: Option<u64>,
        /// True if a generated device tree is placed in memory and passed in x0.
        device_tree: bool,
    },
    /// A Linux kernel and its initial file system.
    Linux {
        /// The kernel.
        kernel: Kernel,
        /// The initial file system.
        initrd: Initrd,
    },
}

impl Partition {
    /// Recorders in its trace: one for each component that owns the trace, or one for the whole image. If it has an alternate image,
    /// the larger count.
    #[must_use]
    pub fn trace_owners(&self) -> u64 {
        let images = std::iter::once(&self.image).chain(&self.alternate);
        let owners = images.map(|image| match image {
            Image::Components(components) => {
                let owners = components.iter();
                owners.filter(|one| one.owns.contains(&Part::Trace)).count() as u64
            }
            _ => 1,
        });
        owners.max().unwrap_or(1).max(1)
    }

    /// Bytes of each of these recorders, whole pages.
    #[must_use]
    pub fn recorder_bytes(&self) -> u64 {
        let pages = self.trace / PAGE_SIZE / self.trace_owners();
        pages * PAGE_SIZE
    }
}

/// A component of a partition.
#[derive(Clone, Debug)]
pub struct Component {
    /// Name, at most 15 characters.
    pub name: String,
    /// Place in the description.
    pub span: Span,
    /// Its role.
    pub role: Role,
    /// Its program.
    pub program: Program,
    /// Rank of its core in the partition, or [`ANY_CORE`](bulkhead_abi::component::ANY_CORE).
    pub core: u32,
    /// Interfaces that it provides.
    pub provides: Vec<String>,
    /// Interfaces that it invokes.
    pub needs: Vec<String>,
    /// Channels with an end that it holds.
    pub channels: Vec<ChannelId>,
    /// Channels of these with doorbells that its thread waits for.
    pub doorbells: Vec<ChannelId>,
    /// Parts of the partition that are its own.
    pub owns: Vec<Part>,
    /// The PCIe function that it drives.
    pub function: Option<FunctionId>,
    /// Bytes of memory beside image and stack.
    pub memory: u64,
    /// Bytes of its stack.
    pub stack: u64,
    /// Importance of its thread that executes no task, 0 the most important; nothing without one.
    pub priority: Option<u32>,
    /// The tasks that it executes, each on a thread of its own, by their places in [`Timing::tasks`].
    pub tasks: Vec<usize>,
    /// Budget and period of the thread with the priority, nanoseconds; nothing where it may have all there is.
    pub budget_ns: Option<[u64; 2]>,
    /// Criticality.
    pub criticality: Criticality,
    /// Reaction to a fault of its thread.
    pub on_fault: OnFault,
    /// Restarts admitted, and in how many nanoseconds.
    pub restart: [u64; 2],
    /// Stages that may execute its pipe functions, each on a stack of its own.
    pub job_stacks: u16,
    /// Bytes of the contents of long messages that its pipe functions write.
    pub contents: u64,
}

/// A Linux kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// The packaged kernel that the set-up fetched; the flavour, e.g. `debian`, `debian-rt`, `pseudo-nmi`.
    Packaged(String),
    /// An `Image` of one's own.
    File(PathBuf),
}

/// An initial file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Initrd {
    /// Built by the tool: busybox, the kernel module, the agent.
    Agent,
    /// A file of one's own.
    File(PathBuf),
}

/// How a console is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Console {
    /// In shared memory: a recorder out, a ring in. For images that know Bulkhead.
    Memory,
    /// The partition owns the UART.
    Device(DeviceId),
    /// UART accesses are emulated onto a memory console, counted.
    Emulated,
}

/// Sign of life of a guest that knows no heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Output on its emulated console.
    Console,
    /// 32 bits of its memory at this guest-physical address.
    Word(u64),
}

impl Progress {
    /// The text of a description: `console`, or an address in hexadecimal.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "console" {
            return Some(Self::Console);
        }
        let digits = text.strip_prefix("0x")?.replace('_', "");
        u64::from_str_radix(&digits, 16).ok().map(Self::Word)
    }
}

/// Budget of restarts.
#[derive(Clone, Copy, Debug)]
pub struct Restart {
    /// Restarts admitted per period.
    pub limit: u64,
    /// The period, nanoseconds.
    pub per_ns: u64,
    /// Pause before each, nanoseconds.
    pub backoff_ns: u64,
    /// Action when the budget is used up.
    pub then: Action,
}

/// The end of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A partition.
    Partition(PartitionId),
    /// The host tool, which only reads: the writer's side of a recorder.
    Host,
}

/// A channel.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Name, at most 15 characters.
    pub name: String,
    /// Place in the description.
    pub span: Span,
    /// Kind of its buffer.
    pub kind: ChannelKind,
    /// Writer.
    pub from: End,
    /// Readers; exactly one but for recorders and plain memory.
    pub to: Vec<End>,
    /// Bytes of a message.
    pub message: u32,
    /// Messages the buffer holds.
    pub messages: u32,
    /// Bytes behind the buffer: the contents of long messages of a pipe.
    pub contents: u64,
    /// True if the reader may write too (it must, but for recorders and `access = "read-only"`).
    pub reader_writes: bool,
    /// Limit of the writer's doorbell to the reader; `None` = no doorbell.
    pub doorbell: Option<Rate>,
    /// Limit of the reader's doorbell to the writer.
    pub reply_doorbell: Option<Rate>,
    /// Key by which both ends ask for it at run time; `None` = mapped from the start.
    pub key: Option<u64>,
}

impl Channel {
    /// Bytes of memory it takes, whole pages; 0 where no such buffer can be, which no checked
    /// description has.
    #[must_use]
    pub fn size(&self) -> u64 {
        let buffer = channel_size(self.kind, self.message.into(), self.messages.into());
        buffer.unwrap_or(0) + self.contents.next_multiple_of(PAGE_SIZE)
    }
}

/// A PCIe function that is plugged into the machine.
#[derive(Clone, Debug)]
pub struct Function {
    /// Name, at most 15 characters.
    pub name: String,
    /// Place in the description.
    pub span: Span,
    /// Index into [`crate::board::Pcie::kinds`].
    pub kind: usize,
    /// The wire it is connected to.
    pub bus: String,
    /// A UDP port of the host, and the one of it to which what arrives there is passed on.
    pub forward: Option<[u16; 2]>,
    /// Forwarded TCP ports.
    pub forward_tcp: Option<[u16; 2]>,
}

/// A rate limit: so many events per period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Events admitted per period.
    pub limit: u32,
    /// The period, nanoseconds.
    pub per_ns: u64,
}

impl System {
    /// The partition of that id.
    #[must_use]
    pub fn partition(&self, id: PartitionId) -> &Partition {
        &self.partitions[id.0]
    }

    /// Returns whether flows that are typed elsewhere may have stages in a partition.
    #[must_use]
    pub fn runs_remote_stages(&self, id: PartitionId) -> bool {
        self.client_with_stages_in(id).is_some()
    }

    /// The client partition with flows that may have stages in that one, if there is one, and how.
    #[must_use]
    pub fn client_with_stages_in(
        &self,
        id: PartitionId,
    ) -> Option<(PartitionId, &RemotePartition)> {
        let all = self.partitions.iter().enumerate();
        let mut all = all.flat_map(|(number, one)| {
            let remote = one.remote_partitions.iter();
            remote.map(move |one| (PartitionId(number), one))
        });
        all.find(|(_, remote_partitions)| remote_partitions.partition == id)
    }

    /// The kind of a function.
    #[must_use]
    pub fn kind_of(&self, id: FunctionId) -> Option<&FunctionKind> {
        let pcie = self.board.pcie.as_ref()?;
        pcie.kinds.get(self.functions.get(id.0)?.kind)
    }

    /// An error at a place in the description, for later steps.
    #[must_use]
    pub fn error(&self, id: &'static str, span: &Span, message: String) -> Diagnostic {
        Diagnostic::new(id, Severity::Error, span, message).within(&self.sources)
    }
}
