//! A board: facts, no policy
//!
//! Read from `boards/NAME.toml`. Addresses and interrupt numbers stand there and nowhere else.

use crate::system::DeviceId;

/// A board.
#[derive(Clone, Debug)]
pub struct Board {
    /// Name of the file.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Cores at most.
    pub max_cores: usize,
    /// Cores of the machine when the partitions need no more.
    pub default_cores: usize,
    /// Start of RAM, physical.
    pub memory_base: u64,
    /// Where the boot image is placed, physical.
    pub load: u64,
    /// RAM when the plan needs no more, bytes.
    pub default_memory: u64,
    /// RAM at most, bytes.
    pub max_memory: u64,
    /// GIC distributor, physical.
    pub distributor: u64,
    /// First redistributor, physical.
    pub redistributors: u64,
    /// Bytes from one core's redistributor to the next.
    pub redistributor_stride: u64,
    /// Number of SPIs.
    pub spis: u32,
    /// First and last SPI wired to nothing.
    pub doorbell_spis: (u32, u32),
    /// INTIDs of the timers: secure, non-secure, virtual, hypervisor.
    pub timer_intids: [u32; 4],
    /// Page colours the last-level cache has: size / ways / page size.
    pub colours: u32,
    /// What partitions see.
    pub guest: GuestMap,
    /// Devices, in the order of the file.
    pub devices: Vec<Device>,
    /// Its PCIe host bridge, if it has one.
    pub pcie: Option<Pcie>,
    /// What deciding costs there, where it has been measured.
    pub costs: Option<Costs>,
    /// The machine that emulates the board.
    pub emulator: Emulator,
}

/// What the kernel and a partition's scheduler take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Instructions of a decision, the way to it and back.
    pub decision: u64,
    /// Instructions of an interrupt that leads to no decision.
    pub interrupt: u64,
    /// Nanoseconds of an instruction.
    pub instruction_ns: u64,
}

/// A PCIe host bridge. Functions are plugged in by descriptions, those of a partition behind a bridge
/// of its own.
#[derive(Clone, Debug)]
pub struct Pcie {
    /// Configuration space, physical: 1 MiB a bus.
    pub configuration: u64,
    /// Where a partition sees that of its bus: bus n at + n MiB.
    pub guest_configuration: u64,
    /// I/O ports from 0 on: physical address and bytes.
    pub ports: [u64; 2],
    /// Memory below 4 GiB, at the same address on the bus: physical address and bytes.
    pub memory: [u64; 2],
    /// SPIs of pin A of the slots 0 to 3 of the root bus. Further slots and pins rotate through them.
    pub lines: [u32; 4],
    /// Physical address of the SMMUv3 between it and memory, if there is one. Streams are requester IDs.
    pub smmu: Option<u64>,
    /// What the emulator calls a bridge.
    pub bridge: String,
    /// What can be plugged in, in the order of the file.
    pub kinds: Vec<FunctionKind>,
}

/// A kind of PCIe function.
#[derive(Clone, Debug)]
pub struct FunctionKind {
    /// Name by which descriptions ask for it.
    pub name: String,
    /// Vendor (lower half) and device, as in the first word of its configuration page.
    pub identity: u32,
    /// Bytes of its base address registers for I/O ports, by number; 0 = none.
    pub ports: Vec<u64>,
    /// Bytes of those for memory.
    pub memory: Vec<u64>,
    /// Reads or writes memory by itself.
    pub dma: bool,
    /// Linux's drivers for it, in the order in which they are loaded.
    pub modules: Vec<String>,
    /// What the emulator calls it; `{name}` and `{bus}` stand for the device's.
    pub emulated: String,
    /// Options by which the emulator makes what functions of one `bus` share; none if they share nothing.
    pub shared: Option<String>,
    /// Options that connect a port of the host with one of it.
    pub forwarded: Option<String>,
}

/// Guest-physical addresses every partition sees.
#[derive(Clone, Debug)]
pub struct GuestMap {
    /// Start of memory.
    pub ram: u64,
    /// Emulated distributor.
    pub distributor: u64,
    /// Emulated redistributors.
    pub redistributors: u64,
    /// UART page, real or emulated.
    pub uart: u64,
    /// Window of channels, consoles, link pages.
    pub window: u64,
    /// Bytes of the window.
    pub window_size: u64,
}

/// A device.
#[derive(Clone, Debug)]
pub struct Device {
    /// Name by which descriptions ask for it.
    pub name: String,
    /// `pl011`, `pl031`, `pcie-host`, …
    pub kind: String,
    /// Physical address.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// SPI numbers (INTID - 32).
    pub spis: Vec<u32>,
    /// Edge-triggered (else level).
    pub edge: bool,
    /// Reads or writes memory by itself.
    pub dma: bool,
    /// Device-tree `compatible`; empty = no node.
    pub compatible: Vec<String>,
    /// Input clock for the device tree, if it has one.
    pub clock_hz: Option<u32>,
}

/// The machine that emulates the board.
#[derive(Clone, Debug)]
pub struct Emulator {
    /// Program.
    pub program: String,
    /// Smallest version that will do, e.g. `7.2`.
    pub minimum_version: String,
    /// `-M`.
    pub machine: String,
    /// `-cpu`.
    pub cpu: String,
    /// Frequency of the generic timer, Hz.
    pub counter_hz: u64,
}

impl Device {
    /// Whether a physical address is the device's.
    #[must_use]
    pub fn covers(&self, address: u64) -> bool {
        (self.address..self.address.saturating_add(self.size)).contains(&address)
    }
}

impl Board {
    /// The device of that id.
    #[must_use]
    pub fn device(&self, id: DeviceId) -> &Device {
        &self.devices[id.0]
    }
}
