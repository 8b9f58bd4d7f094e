//! The manifest: facts about a built system for the tool that runs and watches it
//!
//! Written beside the boot image as `manifest.json`. All addresses are physical.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A region of physical memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Start address.
    pub pa: u64,
    /// Bytes.
    pub size: u64,
}

/// A built system.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// Name of the system.
    pub name: String,
    /// File name of the boot image, beside the manifest.
    pub image: String,
    /// SHA-256 of the boot image, hexadecimal.
    pub digest: String,
    /// The machine it runs on.
    pub machine: Machine,
    /// Defaults of a run: length in nanoseconds, and whether the clock is virtual.
    pub for_ns: Option<u64>,
    /// Instruction-counted clock by default.
    pub virtual_clock: bool,
    /// Partitions, in the order of the description.
    pub partitions: Vec<PartitionManifest>,
    /// Channels, in the order of the description.
    pub channels: Vec<ChannelManifest>,
    /// Names of what the verdict of a run does not judge.
    #[serde(default)]
    pub waive: Vec<String>,
    /// Partitions that were asked for a fault in this build.
    #[serde(default)]
    pub injected: Vec<String>,
    /// Facts for the SMMU, if it confines devices.
    pub confined: Option<Confined>,
    /// Paths of pipes that are run.
    #[serde(default)]
    pub paths: Vec<PathManifest>,
    /// Sizes of the trusted base.
    pub sizes: Sizes,
}

/// The machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// Board name.
    pub board: String,
    /// The program that emulates it, if there is one.
    pub emulator: Option<Emulator>,
    /// Cores, spare ones included.
    pub cores: usize,
    /// Cores that belong to no partition.
    pub spare_cores: Vec<usize>,
    /// RAM, ascending: all that the board can have.
    pub memory: Vec<Region>,
    /// Bytes of RAM that the machine has, from the first range on.
    pub memory_size: u64,
    /// Frequency of the generic timer, Hz.
    pub counter_hz: u64,
    /// Register of the board's clock that counts seconds: how the tool tells the time when no partition does.
    /// `None` where the board has none.
    pub rtc: Option<u64>,
    /// Options that plug devices into the emulator.
    pub devices: Vec<String>,
    /// Ports of the host that lead to some of them, in runs by the host's clock.
    pub forwards: Vec<Forward>,
}

/// The program that emulates a machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Emulator {
    /// The program.
    pub program: String,
    /// Smallest version of it that will do.
    pub minimum_version: String,
    /// `-M`.
    pub machine: String,
    /// Model of the processor.
    pub cpu: String,
    /// `true` if the machine has no other processor: no option selects it.
    pub is_cpu_fixed: bool,
    /// Cores it has.
    pub cores: usize,
    /// Further options.
    pub options: Vec<String>,
}

/// Ports of the host that lead to ports of a device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Forward {
    /// The device.
    pub device: String,
    /// A UDP port of the host, on its loopback address, and that of the device.
    pub udp: Option<[u16; 2]>,
    /// A TCP port of the host and that of the device.
    pub tcp: Option<[u16; 2]>,
    /// Options that connect the device's wire with sockets in the run folder.
    pub options: Vec<String>,
}

/// A partition as built.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartitionManifest {
    /// Name.
    pub name: String,
    /// `rtos`, `linux` or `image`.
    pub kind: String,
    /// `A` … `D`, `QM`.
    pub criticality: String,
    /// The partition that takes over its channels and devices, if it has one.
    pub standby: Option<String>,
    /// Core indices.
    pub cores: Vec<usize>,
    /// Its memory.
    pub memory: Vec<Region>,
    /// Its link page.
    pub link: u64,
    /// Its status region.
    pub status: u64,
    /// Its heartbeat word.
    pub heartbeat: u64,
    /// Its console; `None` where the partition owns the emulator's UART.
    pub console: Option<ConsoleManifest>,
    /// Recorders in its trace: one for each component that owns the trace, or for the whole image.
    pub traces: Vec<Region>,
    /// Address of the log in which its kernel records faults of components, if it has one.
    #[serde(default)]
    pub component_log: Option<u64>,
    /// Its outgoing doorbells, in the order of its counters: channel and receiver.
    pub doorbells: Vec<(String, String)>,
    /// Its image runs on the kernel: the runtime announces that the partition is up.
    #[serde(default)]
    pub announces: bool,
    /// Its initial file system starts the agent, which announces that the partition is up.
    #[serde(default)]
    pub has_agent: bool,
    /// Longest silence of its heartbeat, nanoseconds, if the description names one.
    #[serde(default)]
    pub heartbeat_ns: Option<u64>,
    /// Causes of faults for which the description names an action.
    #[serde(default)]
    pub foreseen: Vec<String>,
    /// Deadlines of its tasks, nanoseconds from their release.
    #[serde(default)]
    pub deadlines: BTreeMap<String, u64>,
    /// Bounds of the responses of these tasks that the analysis computes, nanoseconds.
    #[serde(default)]
    pub bounds: BTreeMap<String, u64>,
    /// Executable of what runs at EL1, if its symbols are at hand.
    #[serde(default)]
    pub program: Option<PathBuf>,
    /// Its components, by their numbers.
    #[serde(default)]
    pub components: Vec<ComponentManifest>,
}

/// A component of a partition.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ComponentManifest {
    /// Name.
    pub name: String,
    /// Its executable.
    pub program: Option<PathBuf>,
    /// Bytes of its stack.
    pub stack: u64,
    /// The component has threads of its own, by their indices.
    pub has_threads: bool,
    /// The description names what a fault of it comes to.
    pub is_fault_foreseen: bool,
    /// The component owns the partition's heartbeat.
    #[serde(default)]
    pub has_heartbeat: bool,
}

/// Devices that the SMMU confines, and the place of its event queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Confined {
    /// Its event queue.
    pub events: Region,
    /// Streams with an owner.
    pub streams: Vec<StreamManifest>,
}

/// A stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StreamManifest {
    /// Its number.
    pub id: u32,
    /// Owner.
    pub partition: String,
    /// The devices that it comes from.
    pub devices: Vec<String>,
}

/// A memory console.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct ConsoleManifest {
    /// Recorder of bytes.
    pub output: Region,
    /// Ring of single bytes, written by the host tool or by Linux.
    pub input: Region,
}

/// A channel as built.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChannelManifest {
    /// Name.
    pub name: String,
    /// `four-slot`, `ring`, `mailbox`, `recorder`, `memory`.
    pub kind: String,
    /// Writer.
    pub from: String,
    /// Readers; `host` is the tool.
    pub to: Vec<String>,
    /// Its memory.
    pub region: Region,
    /// Bytes of a message.
    pub message: u32,
    /// Messages it holds.
    pub messages: u32,
}

/// A path of a pipe, as solved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PathManifest {
    /// The partition that runs it.
    pub partition: String,
    /// Its pipe.
    pub pipe: String,
    /// The pipe's stages, by their places.
    #[serde(default)]
    pub stages: Vec<StageManifest>,
    /// Its number in [`bulkhead_abi::trace::EventKind::Delivered`].
    pub number: u64,
    /// First and last function.
    pub ends: [String; 2],
    /// Longest delay that is proven, nanoseconds.
    pub bound_ns: u64,
    /// Largest part of the messages that is lost, as proven; 0 where buffers are lossless.
    pub loss: f64,
    /// Messages per second that are required, if any are.
    pub throughput: Option<f64>,
    /// A timer releases its first stage, and no command stops it unrecorded: messages leave it as long as it runs.
    #[serde(default)]
    pub is_periodic: bool,
}

/// A stage of a pipe.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StageManifest {
    /// Its function.
    pub function: String,
    /// The partition that runs it.
    pub partition: String,
    /// Longest time that Linux is assumed to take from the device that it reads there, nanoseconds.
    #[serde(default)]
    pub latency_ns: Option<u64>,
}

/// Sizes of the trusted base, bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sizes {
    /// Resident text of the monitor, vectors included.
    pub monitor_text: u64,
    /// Its read-only data.
    pub monitor_rodata: u64,
    /// Its writable data.
    pub monitor_data: u64,
    /// Stacks and per-core state, all cores.
    pub stacks: u64,
    /// The boot part, dropped after boot.
    pub boot: u64,
    /// Configuration blob.
    pub config: u64,
    /// Tables of EL2 itself.
    pub el2_tables: u64,
    /// Tables of the SMMU: stream tables, contexts, stage-1 tables; 0 if it confines nothing.
    pub streams: u64,
    /// Stage-2 tables, by partition.
    pub stage2_tables: Vec<u64>,
}
