//! Device trees for Linux and other guests that want one
//!
//! The bare board's tree reduced to what the partition owns, and a `bulkhead` node for the window
//! (`doc/interfaces/device-tree.md`). No random seed but a fixed one: runs must repeat.

use bulkhead_abi::device::{self, Class};
use bulkhead_abi::guest::{ChannelEnd, ChannelKind, HEARTBEAT_OFFSET, NONE, Role};
use bulkhead_abi::{PAGE_SIZE, name_text};
use bulkhead_formats::region::Range;
use bulkhead_model::board::{Device, Pcie};
use bulkhead_model::pipes::Apart;
use bulkhead_model::system::{Console, Image, Partition, PartitionId, System};
use sha2::{Digest, Sha256};
use vm_fdt::{FdtWriter, FdtWriterResult};

use crate::error::PlanError;
use crate::guest_page::{EndFacts, ticks};
use crate::interrupts::SPI_BASE;
use crate::pcie::Bus;
use crate::purpose::Purpose;
use crate::window::{Slot, Window};
use crate::{bridge, ends, pipes};

const GIC: u32 = 1;
/// Handle of the first clock.
const CLOCK: u32 = 2;
/// First INTID of a private peripheral interrupt.
const PPI_BASE: u32 = 16;
/// Interrupt types and triggers of the GIC binding.
const SPI: u32 = 0;
const PPI: u32 = 1;
const EDGE_RISING: u32 = 1;
const LEVEL_HIGH: u32 = 4;
/// Bytes of a redistributor: RD and SGI frame.
const REDISTRIBUTOR_SIZE: u64 = 0x2_0000;
const DISTRIBUTOR_SIZE: u64 = 0x1_0000;

/// Inputs of a tree.
pub struct Facts<'a> {
    /// The system.
    pub system: &'a System,
    /// The partition.
    pub partition: PartitionId,
    /// Its cores.
    pub cores: &'a [usize],
    /// Its window.
    pub window: &'a Window,
    /// PCIe buses of all.
    pub buses: &'a [Bus],
    /// Its channel ends.
    pub ends: &'a EndFacts<'a>,
    /// Words of this build, beside the description's command line.
    pub argument: &'a str,
    /// Address of the initial file system.
    pub initrd: Option<Range>,
}

/// The tree's bytes.
///
/// # Errors
/// A name or text that a tree cannot hold.
pub fn bytes(facts: &Facts<'_>) -> Result<Vec<u8>, PlanError> {
    write(facts).map_err(|error| {
        let partition = facts.this();
        let message = format!(
            "partition `{}` has no possible device tree: {error}",
            partition.name
        );
        PlanError::new("device-tree", message, "change its command line").at(&partition.span)
    })
}

fn write(facts: &Facts<'_>) -> FdtWriterResult<Vec<u8>> {
    let mut fdt = FdtWriter::new()?;
    let root = fdt.begin_node("")?;
    fdt.property_string(
        "model",
        &format!("Bulkhead partition {}", facts.this().name),
    )?;
    fdt.property_string("compatible", "bulkhead,virtual")?;
    fdt.property_u32("#address-cells", 2)?;
    fdt.property_u32("#size-cells", 2)?;
    fdt.property_u32("interrupt-parent", GIC)?;
    facts.chosen(&mut fdt)?;
    facts.memory(&mut fdt)?;
    facts.cpus(&mut fdt)?;
    facts.firmware(&mut fdt)?;
    facts.timer(&mut fdt)?;
    facts.interrupt_controller(&mut fdt)?;
    facts.devices(&mut fdt)?;
    facts.buses(&mut fdt)?;
    facts.bulkhead(&mut fdt)?;
    fdt.end_node(root)?;
    fdt.finish()
}

fn registers(fdt: &mut FdtWriter, ranges: &[[u64; 2]]) -> FdtWriterResult<()> {
    fdt.property_array_u64("reg", ranges.as_flattened())
}

impl Facts<'_> {
    fn this(&self) -> &Partition {
        self.system.partition(self.partition)
    }

    /// The UART that is the guest's console, emulated or real.
    fn uart(&self) -> Option<(Device, bool)> {
        let board = &self.system.board;
        match self.this().console {
            Console::Device(id) => Some((board.device(id).clone(), true)),
            Console::Emulated => Some((emulated_uart(board.guest.uart), false)),
            Console::Memory => None,
        }
    }

    /// The kernel's command line.
    fn boot_arguments(&self) -> String {
        let mut words = Vec::new();
        if matches!(self.this().image, Image::Linux { .. }) {
            let uart = self.uart();
            let names = uart
                .as_ref()
                .and_then(|(device, _)| device.known_kind()?.linux);
            if let (Some((_, is_real)), Some([console, early])) = (uart, names) {
                words.push(format!("console={console}"));
                if !is_real {
                    let at = self.system.board.guest.uart;
                    words.push(format!("earlycon={early},mmio32,{at:#x}"));
                }
            }
            words.push("rdinit=/init panic=-1".to_owned());
            words.extend(Apart::of(self.system, self.partition).map(|isolated| isolated.words()));
        }
        words.push(self.this().command_line.trim().to_owned());
        words.extend(
            self.argument
                .split_whitespace()
                .map(|word| format!("bulkhead.{word}")),
        );
        words.retain(|word| !word.is_empty());
        words.join(" ")
    }

    fn chosen(&self, fdt: &mut FdtWriter) -> FdtWriterResult<()> {
        let node = fdt.begin_node("chosen")?;
        fdt.property_string("bootargs", &self.boot_arguments())?;
        if let Some((uart, _)) = self.uart() {
            let path = format!("/{}@{:x}", node_name(&uart), self.system.board.guest.uart);
            fdt.property_string("stdout-path", &path)?;
        }
        if let Some(initrd) = self.initrd {
            fdt.property_u64("linux,initrd-start", initrd.start)?;
            fdt.property_u64("linux,initrd-end", initrd.end)?;
        }
        let seed = Sha256::new_with_prefix(self.system.name.as_bytes())
            .chain_update([0])
            .chain_update(self.this().name.as_bytes());
        fdt.property("rng-seed", &seed.finalize())?;
        fdt.end_node(node)
    }

    fn memory(&self, fdt: &mut FdtWriter) -> FdtWriterResult<()> {
        let ram = self.system.board.guest.ram;
        let node = fdt.begin_node(&format!("memory@{ram:x}"))?;
        fdt.property_string("device_type", "memory")?;
        registers(fdt, &[[ram, self.this().memory]])?;
        fdt.end_node(node)
    }

    fn cpus(&self, fdt: &mut FdtWriter) -> FdtWriterResult<()> {
        let board = &self.system.board;
        let compatible = format!("arm,{}", board.cpu.name);
        let cpus = fdt.begin_node("cpus")?;
        fdt.property_u32("#address-cells", 2)?;
        fdt.property_u32("#size-cells", 0)?;
        let cores = self.cores.iter().filter_map(|&core| board.cores.get(core));
        for (rank, core) in cores.enumerate() {
            let affinity = crate::cores::guest_affinity(self.this(), core.mpidr, rank);
            let node = fdt.begin_node(&format!("cpu@{affinity:x}"))?;
            fdt.property_string("device_type", "cpu")?;
            fdt.property_string("compatible", &compatible)?;
            fdt.property_string("enable-method", "psci")?;
            fdt.property_u64("reg", affinity)?;
            fdt.end_node(node)?;
        }
        fdt.end_node(cpus)
    }

    fn firmware(&self, fdt: &mut FdtWriter) -> FdtWriterResult<()> {
        let node = fdt.begin_node("psci")?;
        let compatible = ["arm,psci-1.0", "arm,psci-0.2"].map(str::to_owned);
        fdt.property_string_list("compatible", compatible.to_vec())?;
        fdt.property_string("method", "hvc")?;
        fdt.end_node(node)
    }

    /// The timers of EL1; the hypervisor's belongs to the monitor.
    fn timer(&self, fdt: &mut FdtWriter) -> FdtWriterResult<()> {
        let node = fdt.begin_node("timer")?;
        fdt.property_string("compatible", "arm,armv8-timer")?;
        let timers = self.system.board.timer.of_el1();
        let cells = timers.map(|intid| [PPI, intid.saturating_sub(PPI_BASE), LEVEL_HIGH]);
        fdt.property_array_u32("interrupts", cells.as_flattened())?;
        fdt.property_null("always-on")?;
        fdt.end_node(node)
    }

    fn interrupt_controller(&self, fdt: &mut FdtWriter) -> FdtWriterResult<()> {
        let guest = &self.system.board.guest;
        let Some(kind) = device::emulated(Class::InterruptController) else {
            return Ok(());
        };
        let node = fdt.begin_node(&format!("{}@{:x}", kind.node, guest.distributor))?;
        fdt.property_string_list("compatible", texts(kind.emulated))?;
        fdt.property_null("interrupt-controller")?;
        fdt.property_u32("#interrupt-cells", 3)?;
        fdt.property_u32("#address-cells", 0)?;
        fdt.property_u32("#redistributor-regions", 1)?;
        let redistributors = REDISTRIBUTOR_SIZE * self.cores.len() as u64;
        registers(
            fdt,
            &[
                [guest.distributor, DISTRIBUTOR_SIZE],
                [guest.redistributors, redistributors],
            ],
        )?;
        fdt.property_phandle(GIC)?;
        fdt.end_node(node)
    }

    /// Owned devices, and the UART page where it is emulated.
    fn devices(&self, fdt: &mut FdtWriter) -> FdtWriterResult<()> {
        let board = &self.system.board;
        let owned = ends::devices(self.system, self.partition);
        let emulated = self.uart().filter(|(_, is_real)| !is_real);
        let mut all: Vec<(&Device, u64, bool)> = owned
            .into_iter()
            .map(|(id, ipa)| (board.device(id), ipa.0, true))
            .collect();
        all.extend(emulated.iter().map(|(uart, _)| (uart, uart.guest, false)));
        let mut clocks: Vec<u32> = all
            .iter()
            .filter_map(|(device, ..)| device.clock_hz)
            .collect();
        clocks.sort_unstable();
        clocks.dedup();
        for (phandle, &hz) in (CLOCK..).zip(&clocks) {
            fixed_clock(fdt, phandle, hz)?;
        }
        all.into_iter()
            .try_for_each(|(device, ipa, real)| device_node(fdt, device, ipa, real, &clocks))
    }

    /// The bus of its functions, as if it were the root bus of a host bridge: the bridge above it has
    /// no owner (IEEE 1275 PCI binding 2.1).
    fn buses(&self, fdt: &mut FdtWriter) -> FdtWriterResult<()> {
        let Some(pcie) = &self.system.board.pcie else {
            return Ok(());
        };
        let mut buses = self.buses.iter();
        let bus = buses.find(|bus| bus.is_of(self.system, self.partition));
        bus.map_or(Ok(()), |bus| bus_node(fdt, pcie, bus))
    }

    fn bulkhead(&self, fdt: &mut FdtWriter) -> FdtWriterResult<()> {
        let node = fdt.begin_node("bulkhead")?;
        fdt.property_string("compatible", "bulkhead,partition")?;
        fdt.property_string("bulkhead,name", &self.this().name)?;
        fdt.property_string("bulkhead,argument", self.argument)?;
        let pipes = pipes::pack(self.system, self.partition, self.buses);
        if !pipes.is_empty() {
            fdt.property("bulkhead,pipes", &pipes)?;
        }
        if let Some(bridge) = &self.this().bridge {
            fdt.property_string("bulkhead,bridge", &bridge::text(self.system, bridge))?;
        }
        fdt.property_u32("#address-cells", 2)?;
        fdt.property_u32("#size-cells", 2)?;
        fdt.property_null("ranges")?;
        self.heartbeat(fdt)?;
        for end in self.ends.all() {
            self.channel(fdt, &end)?;
        }
        for slot in &self.window.slots {
            self.window_node(fdt, slot.purpose)?;
        }
        fdt.end_node(node)
    }

    fn heartbeat(&self, fdt: &mut FdtWriter) -> FdtWriterResult<()> {
        let [ipa, size] = self.window.place(Purpose::GuestPage(self.partition));
        let node = fdt.begin_node(&format!("heartbeat@{ipa:x}"))?;
        fdt.property_string("compatible", "bulkhead,heartbeat")?;
        registers(fdt, &[[ipa, size]])?;
        fdt.property_u32("bulkhead,offset", HEARTBEAT_OFFSET as u32)?;
        let period = self
            .this()
            .heartbeat_ns
            .map_or(0, |ns| ticks(self.system, ns));
        fdt.property_u64("bulkhead,period-ticks", period)?;
        fdt.end_node(node)
    }

    fn slot_at(&self, ipa: u64) -> Option<&Slot> {
        self.window.slots.iter().find(|slot| slot.ipa.0 == ipa)
    }

    fn channel(&self, fdt: &mut FdtWriter, end: &ChannelEnd) -> FdtWriterResult<()> {
        let node = fdt.begin_node(&format!("channel@{:x}", end.ipa))?;
        fdt.property_string("compatible", "bulkhead,channel")?;
        registers(fdt, &[[end.ipa, end.size]])?;
        fdt.property_string("bulkhead,name", name_text(&end.name))?;
        fdt.property_string("bulkhead,peer", name_text(&end.peer))?;
        fdt.property_string("bulkhead,kind", kind_name(end.kind))?;
        let role = if end.role == Role::Writer as u32 {
            "writer"
        } else {
            "reader"
        };
        fdt.property_string("bulkhead,role", role)?;
        fdt.property_u32("bulkhead,message-size", end.message_size)?;
        fdt.property_u32("bulkhead,messages", end.messages)?;
        if end.doorbell_out != NONE {
            fdt.property_u32("bulkhead,doorbell", end.doorbell_out)?;
        }
        if end.doorbell_in != NONE {
            fdt.property_array_u32(
                "interrupts",
                &[SPI, end.doorbell_in - SPI_BASE, EDGE_RISING],
            )?;
        }
        if let Some(Purpose::Link(id)) = self.slot_at(end.standby_link).map(|slot| slot.purpose) {
            fdt.property_string("bulkhead,peer-standby", &self.system.partition(id).name)?;
        }
        if self.slot_at(end.ipa).is_some_and(|slot| !slot.access.write) {
            fdt.property_null("bulkhead,read-only")?;
        }
        if end.key != 0 {
            fdt.property_u64("bulkhead,key", end.key)?;
        }
        fdt.end_node(node)
    }

    /// Link and status pages, consoles and the trace; the rest have nodes of their own.
    fn window_node(&self, fdt: &mut FdtWriter, purpose: Purpose) -> FdtWriterResult<()> {
        let (kind, owner) = match purpose {
            Purpose::Link(id) => ("link", id),
            Purpose::Status(id) => ("status", id),
            Purpose::ConsoleOut(id) => ("console", id),
            Purpose::Trace(id) => ("trace", id),
            _ => return Ok(()),
        };
        let mut ranges = vec![self.window.place(purpose)];
        if let Purpose::ConsoleOut(id) = purpose {
            ranges.push(self.window.place(Purpose::ConsoleIn(id)));
        }
        let node = fdt.begin_node(&format!("{kind}@{:x}", ranges[0][0]))?;
        fdt.property_string("compatible", &format!("bulkhead,{kind}"))?;
        registers(fdt, &ranges)?;
        fdt.property_string("bulkhead,name", &self.system.partition(owner).name)?;
        fdt.property_u32("bulkhead,partition", owner.0 as u32)?;
        if owner == self.partition {
            fdt.property_null("bulkhead,own")?;
        }
        fdt.end_node(node)
    }
}

/// The UART that the monitor emulates, on any board.
fn emulated_uart(guest: u64) -> Device {
    const CLOCK_HZ: u32 = 24_000_000;
    let kind = device::emulated(Class::Uart);
    Device {
        name: String::new(),
        kind: kind.map_or("", |kind| kind.name).into(),
        address: guest,
        size: PAGE_SIZE,
        guest,
        spis: Vec::new(),
        edge: false,
        dma: false,
        streams: Vec::new(),
        compatible: kind.map_or_else(Vec::new, |kind| texts(kind.emulated)),
        clock_hz: Some(CLOCK_HZ),
        bank_width: None,
    }
}

/// Name of a device's node, without its address.
fn node_name(device: &Device) -> &str {
    let kind = device.known_kind();
    kind.map_or(device.kind.as_str(), |kind| kind.node)
}

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn fixed_clock(fdt: &mut FdtWriter, phandle: u32, hz: u32) -> FdtWriterResult<()> {
    let node = fdt.begin_node(&format!("clock-{hz}"))?;
    fdt.property_string("compatible", "fixed-clock")?;
    fdt.property_u32("#clock-cells", 0)?;
    fdt.property_u32("clock-frequency", hz)?;
    fdt.property_phandle(phandle)?;
    fdt.end_node(node)
}

/// `clocks` are the frequencies of the clocks with handles from [`CLOCK`] on.
fn device_node(
    fdt: &mut FdtWriter,
    device: &Device,
    ipa: u64,
    real: bool,
    clocks: &[u32],
) -> FdtWriterResult<()> {
    if device.compatible.is_empty() {
        return Ok(());
    }
    let node = fdt.begin_node(&format!("{}@{ipa:x}", node_name(device)))?;
    fdt.property_string_list("compatible", device.compatible.clone())?;
    registers(fdt, &[[ipa, device.size]])?;
    if let Some(width) = device.bank_width {
        fdt.property_u32("bank-width", width)?;
    }
    if real && !device.spis.is_empty() {
        let trigger = if device.edge { EDGE_RISING } else { LEVEL_HIGH };
        let cells: Vec<u32> = device
            .spis
            .iter()
            .flat_map(|&spi| [SPI, spi, trigger])
            .collect();
        fdt.property_array_u32("interrupts", &cells)?;
    }
    let clock = clocks.iter().position(|&hz| Some(hz) == device.clock_hz);
    if let Some(clock) = clock {
        let kind = device.known_kind();
        let names = kind.map_or(&["apb_pclk"][..], |kind| kind.clocks);
        fdt.property_array_u32("clocks", &vec![CLOCK + clock as u32; names.len()])?;
        fdt.property_string_list("clock-names", texts(names))?;
    }
    fdt.end_node(node)
}

fn bus_node(fdt: &mut FdtWriter, pcie: &Pcie, bus: &Bus) -> FdtWriterResult<()> {
    const PORTS: u32 = 1 << 24;
    const MEMORY: u32 = 2 << 24;
    const BUS: u64 = 1 << 20;
    let at = bus.guest_configuration(pcie);
    let node = fdt.begin_node(&format!("pcie@{at:x}"))?;
    fdt.property_string("compatible", "pci-host-ecam-generic")?;
    fdt.property_string("device_type", "pci")?;
    fdt.property_u32("#address-cells", 3)?;
    fdt.property_u32("#size-cells", 2)?;
    fdt.property_u32("#interrupt-cells", 1)?;
    fdt.property_array_u32("bus-range", &[bus.number, bus.number])?;
    fdt.property_u32("linux,pci-domain", 0)?;
    fdt.property_null("dma-coherent")?;
    registers(fdt, &[[at, BUS]])?;
    let windows = [
        (PORTS, bus.ports, bus.guest_ports(pcie)),
        (MEMORY, bus.memory, bus.guest_memory(pcie)),
    ];
    let open = windows.iter().filter(|(_, range, _)| range.size() > 0);
    let halves = |value: u64| [(value >> 32) as u32, value as u32];
    let cells = open.flat_map(|&(space, range, guest)| {
        let numbers = [range.start, guest, range.size()];
        std::iter::once(space).chain(numbers.into_iter().flat_map(halves))
    });
    fdt.property_array_u32("ranges", &cells.collect::<Vec<_>>())?;
    fdt.property_array_u32("interrupt-map-mask", &[0xf800, 0, 0, 7])?;
    let lines = bus.functions.iter().flat_map(|function| {
        let unit = function.slot << 11;
        [unit, 0, 0, 1, GIC, SPI, function.spi, LEVEL_HIGH]
    });
    fdt.property_array_u32("interrupt-map", &lines.collect::<Vec<_>>())?;
    fdt.end_node(node)
}

/// The name of a channel's kind, as in descriptions.
#[must_use]
pub const fn kind_name(kind: u32) -> &'static str {
    const FOUR_SLOT: u32 = ChannelKind::FourSlot as u32;
    const RING: u32 = ChannelKind::Ring as u32;
    const MAILBOX: u32 = ChannelKind::Mailbox as u32;
    const RECORDER: u32 = ChannelKind::Recorder as u32;
    match kind {
        FOUR_SLOT => "four-slot",
        RING => "ring",
        MAILBOX => "mailbox",
        RECORDER => "recorder",
        _ => "memory",
    }
}
