//! A board: facts, no policy
//!
//! Read from `boards/NAME.toml`. Addresses and interrupt numbers stand there and nowhere else.

use crate::system::{DeviceId, Kind};
use bulkhead_abi::config::start;
use bulkhead_abi::device::{self, Class};
use bulkhead_abi::guest::RAM;

/// A board.
#[derive(Clone, Debug)]
pub struct Board {
    /// Name of the file.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Its processor.
    pub cpu: Cpu,
    /// Its cores, by number; firmware starts the first one.
    pub cores: Vec<Core>,
    /// Cores of the machine when the partitions need no more.
    pub default_cores: usize,
    /// Its generic timer.
    pub timer: Timer,
    /// Software that runs before the monitor, and above it.
    pub firmware: Firmware,
    /// RAM, ascending.
    pub memory: Vec<MemoryRange>,
    /// Physical address of the boot image.
    pub load: u64,
    /// RAM when the plan needs no more, bytes.
    pub default_memory: u64,
    /// Its interrupt controller.
    pub interrupts: Interrupts,
    /// Page colours the last-level cache has: size / ways / page size.
    pub colours: u32,
    /// Memory map of partitions.
    pub guest: GuestMap,
    /// Device on which the boot part reports.
    pub console: Option<String>,
    /// Devices, in the order of the file.
    pub devices: Vec<Device>,
    /// Its PCIe host bridge, if it has one.
    pub pcie: Option<Pcie>,
    /// Physical address of its SMMUv3, if it has one.
    pub smmu: Option<u64>,
    /// Costs of scheduling decisions, if they were measured.
    pub costs: Option<Costs>,
    /// The machine that emulates the board, if there is one.
    pub emulator: Option<Emulator>,
}

/// The processor of a board.
#[derive(Clone, Debug)]
pub struct Cpu {
    /// Name of the model, as in `compatible = "arm,NAME"`.
    pub name: String,
    /// Bits of a physical address.
    pub physical_bits: u32,
}

/// A core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core {
    /// Affinity fields of MPIDR_EL1.
    pub mpidr: u64,
    /// Its redistributor, physical.
    pub redistributor: u64,
    /// The word that releases it from a spin table, physical.
    pub release: Option<u64>,
}

/// The generic timer: private interrupts, as INTIDs.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    /// Secure physical timer.
    pub secure: u32,
    /// Physical timer of EL1.
    pub physical: u32,
    /// Virtual timer of EL1.
    pub virtual_timer: u32,
    /// Physical timer of EL2.
    pub hypervisor: u32,
    /// Virtual timer of EL2; 0 = the core has none.
    pub hypervisor_virtual: u32,
    /// Ticks per second.
    pub frequency: u64,
}

/// Firmware of a board.
#[derive(Clone, Copy, Debug)]
pub struct Firmware {
    /// How the other cores are started: one of [`start`].
    pub start: u32,
    /// Security states of the interrupt controller that software at EL2 finds: 1 or 2.
    pub security_states: u32,
}

/// A range of RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRange {
    /// First address.
    pub base: u64,
    /// Bytes.
    pub size: u64,
}

/// The interrupt controller: a GICv3.
#[derive(Clone, Copy, Debug)]
pub struct Interrupts {
    /// Distributor, physical.
    pub distributor: u64,
    /// Number of SPIs.
    pub spis: u32,
    /// First and last SPI wired to nothing.
    pub doorbells: (u32, u32),
    /// INTID of the maintenance interrupt.
    pub maintenance: u32,
}

/// Costs of the kernel and a partition's scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Instructions of a decision, the way to it and back.
    pub decision: u64,
    /// Instructions of an interrupt that leads to no decision.
    pub interrupt: u64,
    /// Instructions that the kernel meters of a budget besides the thread's own each time the
    /// thread runs.
    pub switch: u64,
    /// Instructions that the runtime takes of a task's budget for each job.
    pub job: u64,
    /// Instructions that the runtime takes of a stage's budget for each job, copying of messages
    /// included.
    pub stage: u64,
    /// Instructions for which the kernel masks interrupts.
    pub blocking: u64,
    /// Nanoseconds of an instruction.
    pub instruction_ns: u64,
    /// Longest turn of an emulated core beside others, nanoseconds; 0: cores run in parallel.
    pub turn_ns: u64,
}

/// A PCIe host bridge. Functions are plugged in by descriptions, those of a partition behind a
/// bridge of its own.
#[derive(Clone, Debug)]
pub struct Pcie {
    /// Configuration space, physical: 1 MiB a bus.
    pub configuration: u64,
    /// Address at which a partition finds its bus: bus n at + n MiB.
    pub guest_configuration: u64,
    /// I/O ports from 0 on: physical address and bytes.
    pub ports: [u64; 2],
    /// Memory below 4 GiB, at the same address on the bus: physical address and bytes.
    pub memory: [u64; 2],
    /// Guest-physical addresses of those ports, and of that memory.
    pub guest_ports: u64,
    /// Likewise.
    pub guest_memory: u64,
    /// SPIs of pin A of the slots 0 to 3 of the root bus. Further slots and pins rotate through
    /// them.
    pub lines: [u32; 4],
    /// Stream of requester ID 0, from which those of the others follow; none where it is not behind the SMMU.
    pub streams: Option<u32>,
    /// Requester ID that functions behind a bridge have.
    pub requester: Requester,
    /// The emulator's device for a bridge; `{number}` stands for its bus.
    pub bridge: String,
    /// Kinds of PCIe functions, in the order of the file.
    pub kinds: Vec<FunctionKind>,
}

/// Requester ID of transactions that a bridge forwards (PCI Express to PCI Bridge 1.0, 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requester {
    /// The ID of the bridge, which stands on bus 0: a conventional bridge.
    Bridge,
    /// The ID of device 0 of the bus behind the bridge: a bridge from PCI Express.
    Bus,
}

/// A kind of PCIe function.
#[derive(Clone, Debug)]
pub struct FunctionKind {
    /// Name by which descriptions request it: one of [`bulkhead_abi::device::KINDS`], or another one.
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
    /// Device of the emulator; `{name}` and `{bus}` stand for those of the device.
    pub emulated: String,
    /// Options by which the emulator makes what functions of one `bus` share; none if they share
    /// nothing.
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
    /// A name of [`bulkhead_abi::device::KINDS`], or another one.
    pub kind: String,
    /// Physical address.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// Guest-physical address at which its owner sees it, unless it is the owner's console.
    pub guest: u64,
    /// SPI numbers (INTID - 32).
    pub spis: Vec<u32>,
    /// Edge-triggered (else level).
    pub edge: bool,
    /// Reads or writes memory by itself.
    pub dma: bool,
    /// Streams of its accesses at the SMMU; none where it is not behind the SMMU.
    pub streams: Vec<u32>,
    /// Device-tree `compatible`; empty = no node.
    pub compatible: Vec<String>,
    /// Input clock for the device tree, if it has one.
    pub clock_hz: Option<u32>,
    /// For flash: bytes of a word.
    pub bank_width: Option<u32>,
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
    /// `-cpu`; nothing where the machine has its own.
    pub cpu: Option<String>,
    /// Cores that it always has; nothing where it has as many as it is told.
    pub cores: Option<usize>,
    /// Further options.
    pub options: Vec<String>,
}

impl Device {
    /// Returns whether a physical address is the device's.
    #[must_use]
    pub fn covers(&self, address: u64) -> bool {
        (self.address..self.address.saturating_add(self.size)).contains(&address)
    }

    /// Row of its kind in the registry.
    #[must_use]
    pub fn known_kind(&self) -> Option<&'static device::Kind> {
        device::find(&self.kind)
    }

    /// Returns `true` if it is of that class.
    #[must_use]
    pub fn is(&self, class: Class) -> bool {
        device::is(&self.kind, class)
    }
}

impl FunctionKind {
    /// Row in the registry.
    #[must_use]
    pub fn row(&self) -> Option<&'static device::Kind> {
        device::find(&self.name)
    }

    /// Returns `true` if it is of that class.
    #[must_use]
    pub fn is(&self, class: Class) -> bool {
        device::is(&self.name, class)
    }
}

impl MemoryRange {
    /// The first address after it.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.base.saturating_add(self.size)
    }
}

impl Timer {
    /// The timers of EL1, in the order of the device-tree binding.
    #[must_use]
    pub const fn of_el1(&self) -> [u32; 3] {
        [self.secure, self.physical, self.virtual_timer]
    }
}

impl Board {
    /// The device of that id.
    #[must_use]
    pub fn device(&self, id: DeviceId) -> &Device {
        &self.devices[id.0]
    }

    /// RAM at most, bytes.
    #[must_use]
    pub fn max_memory(&self) -> u64 {
        let sizes = self.memory.iter().map(|range| range.size);
        sizes.fold(0, u64::saturating_add)
    }

    /// Guest-physical address at which the memory of a partition of that kind starts.
    #[must_use]
    pub const fn ram_of(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Rtos => RAM,
            Kind::Linux | Kind::Image => self.guest.ram,
        }
    }

    /// Private interrupts that belong to EL2, bit by INTID.
    #[must_use]
    pub fn hypervisor_intids(&self) -> u32 {
        let timers = [self.timer.hypervisor, self.timer.hypervisor_virtual];
        let all = timers.into_iter().chain([self.interrupts.maintenance]);
        all.filter(|&intid| (16..32).contains(&intid))
            .fold(0, |mask, intid| mask | 1 << intid)
    }

    /// The first UART: the model of an emulated one, too.
    #[must_use]
    pub fn first_uart(&self) -> Option<&Device> {
        self.devices.iter().find(|device| device.is(Class::Uart))
    }

    /// The device on which the boot part reports.
    #[must_use]
    pub fn boot_console(&self) -> Option<&Device> {
        match &self.console {
            Some(name) => self.devices.iter().find(|device| device.name == *name),
            None => self.first_uart(),
        }
    }

    /// Returns `true` if cores are started by writing into a spin table.
    #[must_use]
    pub const fn has_spin_table(&self) -> bool {
        self.firmware.start == start::SPIN_TABLE
    }
}
