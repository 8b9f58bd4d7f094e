//! PCIe functions: a bus per partition, behind a bridge without an owner
//!
//! A function's owner has its configuration page, and with it the base address registers: it could
//! move its function over another's. A bridge decodes only what lies in its windows, both ways, so
//! whatever those registers hold, nothing outside of the partition's own ports and memory is reached
//! (PCI-to-PCI Bridge Architecture 1.2, 3.2). Hence each partition's functions stand on a bus of their
//! own. The boot part sets the bridges; their configuration pages, on the root bus, are then mapped
//! nowhere. The partition has its bus whole: configuration of all its slots (where nothing is plugged
//! in, the host bridge answers with ones), ports, memory, and interrupt lines of its own.

use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::config::{Setting, setting};
use bulkhead_abi::guest::{BARS, Bar};
use bulkhead_formats::region::Range;
use bulkhead_model::board::{FunctionKind, Pcie};
use bulkhead_model::system::{Function, FunctionId, Kind, PartitionId, System};

use crate::ends;
use crate::error::PlanError;
use crate::manifest::Forward;

/// Configuration space of a bus, of a slot, bytes.
const BUS: u64 = 1 << 20;
const SLOT: u64 = 1 << 15;
/// Granularity of a bridge's windows, bytes.
const PORTS_STEP: u64 = 1 << 12;
const MEMORY_STEP: u64 = 1 << 20;
/// Slots of a bus; 0 of the root bus is the host bridge's.
const SLOTS: u32 = 32;
/// The lowest bit of a base address register of ports.
const IS_PORTS: u32 = 1;

/// A function in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Which.
    pub id: FunctionId,
    /// Its slot on the bus.
    pub slot: u32,
    /// Its interrupt line.
    pub spi: u32,
    /// Contents of its base address registers, and the guest-physical addresses of what is behind them.
    pub bars: [Bar; BARS],
}

/// The bus of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bus {
    /// Owner; its standby has access too.
    pub owner: PartitionId,
    /// Its number; the root bus is 0.
    pub number: u32,
    /// Slot of its bridge on the root bus.
    pub slot: u32,
    /// I/O ports of its window.
    pub ports: Range,
    /// Memory of its window, the same addresses on the bus; may be empty.
    pub memory: Range,
    /// Its functions.
    pub functions: Vec<Placed>,
    /// Functions may access memory.
    pub dma: bool,
}

/// The buses of all partitions that own functions.
///
/// # Errors
/// The windows of the host bridge are used up.
pub fn assign(system: &System) -> Result<Vec<Bus>, PlanError> {
    let Some(pcie) = &system.board.pcie else {
        return Ok(Vec::new());
    };
    let owners: Vec<PartitionId> = (0..system.partitions.len())
        .map(PartitionId)
        .filter(|&id| {
            let partition = system.partition(id);
            !partition.functions.is_empty() && !partition.is_standby
        })
        .collect();
    let lines = lines(system, &owners, pcie.lines.len());
    // The first page stays free: address 0 means that a register is not set.
    let mut free = [PORTS_STEP, pcie.memory[0]];
    let mut buses = Vec::new();
    for (index, (&owner, lines)) in owners.iter().zip(lines).enumerate() {
        let number = index as u32 + 1;
        let bus = bus(system, pcie, (owner, number), &lines, &mut free)?;
        buses.push(bus);
    }
    let [ports, memory] = free;
    if ports > pcie.ports[1] || memory > pcie.memory[0] + pcie.memory[1] {
        let message = format!(
            "the PCIe functions need more I/O ports or memory than board `{}` has for them",
            system.board.name
        );
        return Err(PlanError::new(
            "pcie-windows",
            message,
            "remove some of them",
        ));
    }
    Ok(buses)
}

/// Which lines, by number, each owner gets: one at least, and those that are left to those with most
/// functions per line.
fn lines(system: &System, owners: &[PartitionId], count: usize) -> Vec<Vec<u32>> {
    let mut given: Vec<Vec<u32>> = (0..owners.len()).map(|line| vec![line as u32]).collect();
    let functions = |owner: usize| system.partition(owners[owner]).functions.len();
    for line in owners.len()..count {
        let wanting = (0..owners.len()).filter(|&owner| functions(owner) > given[owner].len());
        let most = wanting.max_by_key(|&owner| {
            let missing = functions(owner) - given[owner].len();
            (missing, std::cmp::Reverse(owner))
        });
        if let Some(owner) = most {
            given[owner].push(line as u32);
        }
    }
    given
}

fn bus(
    system: &System,
    pcie: &Pcie,
    (owner, number): (PartitionId, u32),
    lines: &[u32],
    free: &mut [u64; 2],
) -> Result<Bus, PlanError> {
    let [first_port, first_memory] = *free;
    if system.partition(owner).kind != Kind::Rtos {
        // Linux numbers the ports of the window from 0 and assigns the first page of them to no function.
        free[0] += PORTS_STEP;
    }
    let slot = number;
    let mut functions: Vec<Placed> = Vec::new();
    let mut next = 1;
    for (place, &id) in system.partition(owner).functions.iter().enumerate() {
        let kind = system
            .kind_of(id)
            .ok_or_else(|| PlanError::internal(format!("{id:?} has no kind")))?;
        let line = lines[place % lines.len()];
        // Pin A of slot s arrives at the bridge as pin s mod 4, and that at the root rotated by the
        // bridge's own slot (PCI Local Bus 3.0, 2.2.6).
        let rotated = |at: u32| (slot + at) % pcie.lines.len() as u32 == line;
        // Ascending: in this order Linux finds and names them.
        let at = (next..SLOTS).find(|&at| rotated(at));
        let at = at.ok_or_else(|| PlanError::internal("no slot is left".into()))?;
        next = at + 1;
        functions.push(Placed {
            id,
            slot: at,
            spi: pcie.lines[line as usize],
            bars: bars(pcie, kind, free),
        });
    }
    free[1] = free[1].next_multiple_of(MEMORY_STEP);
    let ids = functions
        .iter()
        .filter_map(|function| system.kind_of(function.id));
    Ok(Bus {
        owner,
        number,
        slot,
        ports: Range {
            start: first_port,
            end: free[0],
        },
        memory: Range {
            start: first_memory,
            end: free[1],
        },
        dma: ids.into_iter().any(|kind| kind.dma),
        functions,
    })
}

/// Places what is behind a function's registers: ports in a page of its own, memory in pages of its own.
fn bars(pcie: &Pcie, kind: &FunctionKind, [ports, memory]: &mut [u64; 2]) -> [Bar; BARS] {
    let mut bars = [Bar::default(); BARS];
    let mut port = *ports;
    for (bar, &size) in bars
        .iter_mut()
        .zip(&kind.ports)
        .filter(|(_, size)| **size > 0)
    {
        let at = port.next_multiple_of(size.next_power_of_two());
        port = at + size;
        *bar = Bar {
            address: pcie.guest_ports + at,
            value: at as u32 | IS_PORTS,
            size: size as u32,
        };
    }
    *ports = port.next_multiple_of(PORTS_STEP);
    for (bar, &size) in bars
        .iter_mut()
        .zip(&kind.memory)
        .filter(|(_, size)| **size > 0)
    {
        let at = memory.next_multiple_of(size.next_power_of_two().max(PAGE_SIZE));
        *memory = at + size.next_multiple_of(PAGE_SIZE);
        *bar = Bar {
            address: pcie.guest_memory + (at - pcie.memory[0]),
            value: at as u32,
            size: size as u32,
        };
    }
    bars
}

impl Bus {
    /// Returns `true` if a partition has the bus, by itself or as a standby.
    #[must_use]
    pub fn is_of(&self, system: &System, partition: PartitionId) -> bool {
        ends::stands_for(system, partition).any(|id| id == self.owner)
    }

    /// The place of a device on it, as Linux writes that: domain, bus, slot and function.
    #[must_use]
    pub fn address(&self, system: &System, device: &str) -> Option<String> {
        let named = |placed: &&Placed| system.functions[placed.id.0].name == device;
        let placed = self.functions.iter().find(named)?;
        Some(format!("0000:{:02x}:{:02x}.0", self.number, placed.slot))
    }

    /// Physical addresses of its configuration space.
    #[must_use]
    pub const fn configuration(&self, pcie: &Pcie) -> Range {
        Range::sized(pcie.configuration + self.number as u64 * BUS, BUS)
    }

    /// Physical addresses of the root bus's configuration space, where all bridges are.
    #[must_use]
    pub const fn root(pcie: &Pcie) -> Range {
        Range::sized(pcie.configuration, BUS)
    }

    /// Physical addresses of its bridge's configuration page.
    #[must_use]
    pub const fn bridge_page(&self, pcie: &Pcie) -> Range {
        Range::sized(pcie.configuration + self.slot as u64 * SLOT, PAGE_SIZE)
    }

    /// Address of that memory in the owner.
    #[must_use]
    pub const fn guest_configuration(&self, pcie: &Pcie) -> u64 {
        pcie.guest_configuration + self.number as u64 * BUS
    }

    /// Physical addresses of its ports.
    #[must_use]
    pub const fn ports_at(&self, pcie: &Pcie) -> Range {
        Range {
            start: pcie.ports[0] + self.ports.start,
            end: pcie.ports[0] + self.ports.end,
        }
    }

    /// Address of its ports in the owner.
    #[must_use]
    pub const fn guest_ports(&self, pcie: &Pcie) -> u64 {
        pcie.guest_ports + self.ports.start
    }

    /// Address of its memory in the owner.
    #[must_use]
    pub const fn guest_memory(&self, pcie: &Pcie) -> u64 {
        pcie.guest_memory + (self.memory.start - pcie.memory[0])
    }

    /// All that its owner reaches of it: guest-physical start and physical addresses.
    #[must_use]
    pub fn mapped(&self, pcie: &Pcie) -> Vec<(u64, Range)> {
        let all = [
            (self.guest_configuration(pcie), self.configuration(pcie)),
            (self.guest_ports(pcie), self.ports_at(pcie)),
            (self.guest_memory(pcie), self.memory),
        ];
        all.into_iter()
            .filter(|(_, range)| range.size() > 0)
            .collect()
    }

    /// Guest-physical address of a function's configuration page.
    #[must_use]
    pub const fn function_page(&self, pcie: &Pcie, function: &Placed) -> u64 {
        self.guest_configuration(pcie) + function.slot as u64 * SLOT
    }

    /// Configuration words that make the bridge forward its windows (PCI-to-PCI Bridge
    /// Architecture 1.2, 3.2.5). A window with a base above its limit is closed.
    fn settings(&self, pcie: &Pcie) -> Vec<Setting> {
        const COMMAND: u64 = 0x04;
        const BUS_NUMBERS: u64 = 0x18;
        const PORTS: u64 = 0x1c;
        const MEMORY: u64 = 0x20;
        const PREFETCHABLE: u64 = 0x24;
        const PORTS_UPPER: u64 = 0x30;
        const CLOSED_MEMORY: u32 = 0x0000_fff0;
        const CLOSED_PORTS: u32 = 0x00f0;
        const DECODE_PORTS: u32 = 1;
        const DECODE_MEMORY: u32 = 2;
        const MASTER: u32 = 4;
        let page = self.bridge_page(pcie).start;
        let last = |range: Range| range.end - 1;
        let memory = match self.memory.size() {
            0 => CLOSED_MEMORY,
            _ => (self.memory.start >> 16) as u32 & 0xfff0 | last(self.memory) as u32 & 0xfff0_0000,
        };
        let ports = match self.ports.size() {
            0 => CLOSED_PORTS,
            _ => (self.ports.start >> 8) as u32 & 0xf0 | last(self.ports) as u32 & 0xf000,
        };
        let master = if self.dma { MASTER } else { 0 };
        let words = [
            (BUS_NUMBERS, self.number << 16 | self.number << 8),
            (PORTS, ports),
            (PORTS_UPPER, 0),
            (MEMORY, memory),
            (PREFETCHABLE, CLOSED_MEMORY),
            (COMMAND, DECODE_PORTS | DECODE_MEMORY | master),
        ];
        let set = |(offset, value)| Setting {
            pa: page + offset,
            action: setting::WRITE,
            value,
            mask: 0,
            reserved: 0,
        };
        words.into_iter().map(set).collect()
    }

    fn words(&self, system: &System, pcie: &Pcie) -> Vec<String> {
        let number = self.number;
        let bridge = pcie.bridge.replace("{number}", &number.to_string());
        let bridge = format!("{bridge},id=bus{number},addr={:#x}", self.slot);
        let mut words = vec!["-device".to_owned(), bridge];
        for function in &self.functions {
            let device = &system.functions[function.id.0];
            let Some(kind) = system.kind_of(function.id) else {
                continue;
            };
            let name = &device.name;
            let emulated = filled(system, &kind.emulated, device);
            words.push("-device".into());
            words.push(format!(
                "{emulated},id=device-{name},bus=bus{number},addr={:#x}",
                function.slot
            ));
        }
        words
    }
}

/// Registers that the boot part sets in all bridges.
#[must_use]
pub fn settings(system: &System, buses: &[Bus]) -> Vec<Setting> {
    let of = |pcie: &Pcie| buses.iter().flat_map(|bus| bus.settings(pcie)).collect();
    system.board.pcie.as_ref().map(of).unwrap_or_default()
}

/// The emulator's options for all of it.
#[must_use]
pub fn emulator_words(system: &System, buses: &[Bus]) -> Vec<String> {
    let Some(pcie) = &system.board.pcie else {
        return Vec::new();
    };
    let shared = shared(system, buses);
    let buses = buses.iter().flat_map(|bus| bus.words(system, pcie));
    shared.into_iter().chain(buses).collect()
}

/// Memory that the host bridge reaches.
#[must_use]
pub fn forwards(system: &System, buses: &[Bus]) -> Vec<Forward> {
    let each = each_function(system, buses);
    let reached = each.filter_map(|(function, kind)| {
        if function.forward.is_none() && function.forward_tcp.is_none() {
            return None;
        }
        let options = filled(system, kind.forwarded.as_ref()?, function);
        Some(Forward {
            device: function.name.clone(),
            udp: function.forward,
            tcp: function.forward_tcp,
            options: words(&options),
        })
    });
    reached.collect()
}

/// The emulator's options for what functions share, each text once.
fn shared(system: &System, buses: &[Bus]) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for (function, kind) in each_function(system, buses) {
        let text = kind.shared.as_ref();
        let text = text.map(|template| filled(system, template, function));
        texts.extend(text.filter(|text| !texts.contains(text)));
    }
    texts.iter().flat_map(|text| words(text)).collect()
}

fn each_function<'a>(
    system: &'a System,
    buses: &'a [Bus],
) -> impl Iterator<Item = (&'a Function, &'a FunctionKind)> {
    let functions = buses.iter().flat_map(|bus| &bus.functions);
    functions.filter_map(|function| {
        let device = &system.functions[function.id.0];
        Some((device, system.kind_of(function.id)?))
    })
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// The emulator's name of the wire is made here: the user's may be any text.
fn filled(system: &System, template: &str, function: &Function) -> String {
    let mut all = system.functions.iter();
    let wire = all.position(|other| other.bus == function.bus);
    // Hub 0 is the one that tells the time.
    let wire = wire.unwrap_or_default() + 1;
    template
        .replace("{name}", &function.name)
        .replace("{bus}", &format!("wire{wire}"))
        .replace("{wire}", &wire.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_formats::region::RegionSet;

    fn system(functions: &[usize]) -> System {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut text = "[system]\nname = \"buses\"\nboard = \"qemu-virt\"\n".to_owned();
        for (owner, count) in functions.iter().enumerate() {
            let names: Vec<String> = (0..*count).map(|at| format!("can{owner}{at}")).collect();
            for name in &names {
                text += &format!("[device.{name}]\nkind = \"kvaser-can\"\nbus = \"one\"\n");
            }
            text += &format!(
                "[partition.p{owner}]\nkind = \"rtos\"\ncriticality = \"A\"\nmemory = \"256 KiB\"\n\
                 image = {{ crate = \"bulkhead-control\" }}\ndevices = {names:?}\n"
            );
        }
        let file = root.join("systems/buses.toml");
        match bulkhead_model::check(&file, text, &root, &Default::default()) {
            Ok((system, _)) => system,
            Err(errors) => panic!("{errors:?}"),
        }
    }

    /// How many functions four partitions can have: none, one, some, or as many as there are lines.
    fn numbers() -> impl Iterator<Item = [usize; 4]> {
        let one = |code: usize, digit: u32| [0, 1, 2, 4][code >> (2 * digit) & 3];
        (0..1 << 8).map(move |code| [0, 1, 2, 3].map(|digit| one(code, digit)))
    }

    #[test]
    fn no_two_partitions_share_a_line_a_port_or_a_page() {
        for functions in numbers().filter(|all| all.iter().sum::<usize>() < 16) {
            let system = system(&functions);
            let pcie = system.board.pcie.as_ref().unwrap();
            let buses = assign(&system).unwrap();
            let mut taken = RegionSet::default();
            let mut owner_of = [None; 4];
            for bus in &buses {
                for (_, range) in bus.mapped(pcie) {
                    assert!(!taken.overlaps(range) && range.start.is_multiple_of(PAGE_SIZE));
                    taken.insert(range);
                }
                let mut newest = 0;
                for function in &bus.functions {
                    assert!(function.slot > newest, "{functions:?}");
                    newest = function.slot;
                    // The wiring, told anew: pin A of the slot, rotated by both.
                    let line = (bus.slot + function.slot) as usize % 4;
                    assert_eq!(function.spi, pcie.lines[line]);
                    assert!(owner_of[line].is_none_or(|owner| owner == bus.owner));
                    owner_of[line] = Some(bus.owner);
                    let within = |bar: &Bar| {
                        let at = u64::from(bar.value & !IS_PORTS);
                        bus.ports.contains(Range::sized(at, bar.size.into()))
                    };
                    assert!(function.bars.iter().filter(|bar| bar.size > 0).all(within));
                }
            }
        }
    }

    #[test]
    fn remaining_lines_go_to_the_device_that_lacks_most() {
        let system = system(&[3, 1]);
        let lines: Vec<Vec<u32>> = assign(&system)
            .unwrap()
            .iter()
            .map(|bus| bus.functions.iter().map(|function| function.spi).collect())
            .collect();
        assert_eq!(lines, [vec![3, 5, 6], vec![4]]);
    }

    #[test]
    fn a_bridge_lets_through_its_windows_and_nothing_else() {
        let system = system(&[1, 2]);
        let buses = assign(&system).unwrap();
        let all = settings(&system, &buses);
        let words: Vec<(u64, u32)> = all.iter().map(|set| (set.pa, set.value)).collect();
        let second = 0x40_1001_0000;
        let expected = [
            (second + 0x18, 0x0002_0200),
            // Ports 0x2000 to 0x3fff.
            (second + 0x1c, 0x0000_3020),
            (second + 0x30, 0),
            // Base above limit: no memory.
            (second + 0x20, 0x0000_fff0),
            (second + 0x24, 0x0000_fff0),
            (second + 0x04, 3),
        ];
        assert_eq!(words[6..], expected);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let error = assign(&system(&[4, 4, 4, 4])).unwrap_err();
        assert_eq!(error.id, "pcie-windows");
    }
}
