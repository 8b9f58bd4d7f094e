//! Confinement of devices: streams of the SMMU, and the gates of bridges
//!
//! The board file has the streams: those of the PCIe requesters and of other devices. The functions of a
//! partition stand behind a bridge and have one requester ID. The entry of a stream names tables that
//! translate what the owner calls addresses into its own memory; every other stream has no entry or one of
//! zeros, which aborts and records. The table is as large as the largest stream requires. Where the SMMU has a second stage, streams
//! use the partition's own stage-2 tables and reach what its cores reach; where it has not, they use
//! stage-1 tables made here, of the partition's memory alone. Which of both it has is known at boot,
//! so there are two stream tables, and the boot part takes one. All of it is finished and packed with
//! the translation tables; the SMMU itself writes only events, into a page that is never mapped.

use bulkhead_abi::config::{Gate, Setting, setting};
use bulkhead_formats::address::{PAGE, Pa};
use bulkhead_formats::smmu::{
    COMMAND_SIZE, DESCRIPTOR_SIZE, Descriptor, EVENT_SIZE, FORGET_ALL, LEAF_STREAMS, MEMORY_LEAF,
    STAGE1_BITS, Stream, StreamTableShape, context, decode_level1, level1_descriptor,
};
use bulkhead_formats::tables::{Mapping, Root, TableMemory, Walk, map};
use bulkhead_model::system::{PartitionId, System};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::arena::Arena;
use crate::dma::{EVENTS, buses, owned};
use crate::error::PlanError;
use crate::machine::{Machine, colours_of};
use crate::pcie::Bus;
use crate::purpose::Purpose;
use crate::stage2::{Stage2, cannot_map, physical_range, vmid};
use crate::view::GuestView;

/// Commands lie in the second half of the page of contexts.
pub const COMMANDS: u64 = PAGE / 2;
/// Binary logarithm of commands the queue holds; one place stays free.
const COMMANDS_LOG2: u32 = 2;

/// Tables of the SMMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    /// Stream tables, by stage.
    pub tables: [Pa; 2],
    /// Their shape.
    pub shape: StreamTableShape,
    /// Context descriptors of confined partitions, then commands.
    pub contexts: Pa,
    /// Bytes of both and of the stage-1 tables.
    pub size: u64,
}

/// Builds stream tables, contexts and stage-1 tables; nothing where nothing is to be held back.
///
/// # Errors
/// The partition's memory cannot be mapped: a defect of the plan.
pub fn build(
    system: &System,
    view: &GuestView,
    machine: &Machine,
    stage2: &[Stage2],
    arena: &mut Arena,
) -> Result<Option<Streams>, PlanError> {
    let streams = owned(system, view);
    if streams.is_empty() {
        return Ok(None);
    }
    arena.confine(None);
    let before = arena.handed_out();
    let shape = StreamTableShape::of(streams.iter().map(|stream| stream.id));
    let tables = [(); 2].map(|()| arena.run(root_pages(shape)));
    let contexts = arena.run(1);
    let mut entries = BTreeMap::new();
    let mut context = contexts;
    for stream in &streams {
        if let Entry::Vacant(new) = entries.entry(stream.owner) {
            let owner = stream.owner;
            new.insert(treatment(system, machine, stage2, owner, context, arena)?);
            if !system.partition(owner).unconfined {
                context = context.plus(DESCRIPTOR_SIZE);
            }
        }
        for (table, stage) in tables.into_iter().zip(entries[&stream.owner]) {
            let at = entry_at(arena, table, shape, stream.id);
            put(arena, at, &stage.entry());
        }
    }
    for (number, command) in FORGET_ALL.iter().enumerate() {
        let at = contexts.plus(COMMANDS + number as u64 * COMMAND_SIZE);
        (0..2).for_each(|word| arena.set_entry(at.plus(8 * word as u64), command[word]));
    }
    Ok(Some(Streams {
        tables,
        shape,
        contexts,
        size: (arena.handed_out() - before) as u64 * PAGE,
    }))
}

/// Pages of the level at which a stream table of that shape starts.
fn root_pages(shape: StreamTableShape) -> usize {
    (u64::from(shape.level1()) * 8).div_ceil(PAGE).max(1) as usize
}

/// Treatment of a partition's devices, by stage; the first stage's context descriptor is made at `context_at`.
fn treatment(
    system: &System,
    machine: &Machine,
    stage2: &[Stage2],
    owner: PartitionId,
    context_at: Pa,
    arena: &mut Arena,
) -> Result<[Stream; 2], PlanError> {
    if system.partition(owner).unconfined {
        return Ok([Stream::Bypass; 2]);
    }
    let root = stage1(system, machine, owner, arena)?;
    arena.confine(None);
    let descriptor = context(root.pa, vmid(owner), physical_range(system));
    put(arena, context_at, &descriptor);
    let tables = &stage2[owner.0];
    let shared = Stream::Stage2 {
        root: tables.root.pa,
        vmid: vmid(owner),
        vtcr: tables.vtcr,
    };
    let alone = Stream::Stage1 {
        context: context_at,
    };
    Ok([alone, shared])
}

/// Address of the entry of a stream; a table below level 1 is made for it where there is none.
fn entry_at(arena: &mut Arena, table: Pa, shape: StreamTableShape, id: u32) -> Pa {
    let leaf = match shape.level1() {
        0 => table,
        _ => {
            let at = table.plus(u64::from(id / LEAF_STREAMS) * 8);
            let found = decode_level1(arena.entry(at));
            found.unwrap_or_else(|| {
                let leaf = arena.run(1);
                arena.set_entry(at, level1_descriptor(leaf));
                leaf
            })
        }
    };
    leaf.plus(u64::from(id % LEAF_STREAMS) * DESCRIPTOR_SIZE)
}

fn put(arena: &mut Arena, at: Pa, descriptor: &Descriptor) {
    let words = descriptor.iter().zip((0..).step_by(8));
    words.for_each(|(&word, offset)| arena.set_entry(at.plus(offset), word));
}

/// A partition's memory, where it sees it.
fn stage1(
    system: &System,
    machine: &Machine,
    id: PartitionId,
    arena: &mut Arena,
) -> Result<Root, PlanError> {
    arena.confine(colours_of(system, id));
    let root = arena.new_root(Walk::stage1(STAGE1_BITS));
    for piece in &machine.memory[id.0] {
        let mapping = Mapping {
            input: piece.ipa.0,
            output: piece.pa,
            size: piece.size,
            attributes: MEMORY_LEAF,
        };
        map(arena, root, &mapping).map_err(|error| cannot_map(system, id, error))?;
    }
    Ok(root)
}

/// While a partition is stopped its bus is held in reset: functions forget what they were told, and
/// nothing of a former life writes into a fresh image (PCI-to-PCI Bridge Architecture 1.2, 3.2.5.17).
#[must_use]
pub fn gates(system: &System, view: &GuestView, id: PartitionId) -> Vec<Gate> {
    /// The word that ends with bridge control; what stands before it is left at zero.
    const CONTROL: u64 = 0x38;
    const BUS_RESET: u64 = 1 << (48 + 6);
    let buses = buses(view).filter(|bus| bus.is_of(system, id));
    let gate = |bus: &Bus| {
        let pcie = system.board.pcie.as_ref()?;
        Some(Gate {
            pa: bus.bridge_page(pcie).start + CONTROL,
            open: 0,
            closed: BUS_RESET,
        })
    };
    buses.filter_map(gate).collect()
}

/// Registers that the boot part sets in the SMMU (IHI 0070, 6.3). All is blocked from the first write on; in the
/// end what a stream table says goes through, if there is one.
///
/// # Errors
/// The plan has no place for the events: a defect.
pub fn settings(
    system: &System,
    machine: &Machine,
    streams: Option<&Streams>,
) -> Result<Vec<Setting>, PlanError> {
    let Some(base) = system.board.smmu else {
        return Ok(Vec::new());
    };
    let mut list = Registers {
        base,
        list: Vec::new(),
    };
    list.require(FEATURES, WALKS_AARCH64, WALKS_AARCH64);
    list.require(ARCHITECTURE, 0, MAJOR_REVISION);
    list.acknowledged(CONTROL, 0);
    list.await_bits(BYPASS, 0, BYPASS_UPDATE);
    list.write(BYPASS, BYPASS_UPDATE | BYPASS_ABORTS);
    list.await_bits(BYPASS, 0, BYPASS_UPDATE);
    let Some(streams) = streams else {
        return Ok(list.list);
    };
    list.features(streams.shape);
    list.acknowledged(INTERRUPTS, 0);
    list.write(MEMORY_TYPES, WRITE_BACK_INNER_SHAREABLE);
    list.write(CONTROL_2, RECORD_UNKNOWN_STREAMS);
    list.write(STREAM_TABLE_FORM, streams.shape.register());
    let [first, second] = streams.tables;
    list.write_wide(STREAM_TABLE, first.0);
    for half in [0, 4] {
        list.only_if(FEATURES, HAS_STAGE_2, HAS_STAGE_2);
        list.write(STREAM_TABLE + half, (second.0 >> (8 * half)) as u32);
    }
    let commands = streams.contexts.plus(COMMANDS);
    list.write_wide(COMMAND_QUEUE, commands.0 | u64::from(COMMANDS_LOG2));
    list.write(COMMAND_QUEUE + 8, 0);
    list.write(COMMAND_QUEUE + 12, 0);
    let events = machine.pa(Purpose::Events)?;
    let records = (EVENTS / EVENT_SIZE).ilog2();
    list.write_wide(EVENT_QUEUE, events.0 | u64::from(records));
    list.write(EVENT_INDICES, 0);
    list.write(EVENT_INDICES + 4, 0);
    list.acknowledged(CONTROL, COMMANDS_ON);
    let all = FORGET_ALL.len() as u32;
    list.write(COMMAND_QUEUE + 8, all);
    list.await_bits(COMMAND_QUEUE + 12, all, u32::MAX);
    list.acknowledged(CONTROL, COMMANDS_ON | EVENTS_ON);
    list.acknowledged(CONTROL, COMMANDS_ON | EVENTS_ON | TRANSLATION_ON);
    Ok(list.list)
}

/// Offsets of registers.
const FEATURES: u64 = 0x00;
const FEATURES_1: u64 = 0x04;
const FEATURES_5: u64 = 0x14;
const ARCHITECTURE: u64 = 0x1C;
const CONTROL: u64 = 0x20;
const MEMORY_TYPES: u64 = 0x28;
const CONTROL_2: u64 = 0x2C;
const BYPASS: u64 = 0x44;
const INTERRUPTS: u64 = 0x50;
const STREAM_TABLE: u64 = 0x80;
const STREAM_TABLE_FORM: u64 = 0x88;
const COMMAND_QUEUE: u64 = 0x90;
const EVENT_QUEUE: u64 = 0xA0;
const EVENT_INDICES: u64 = 0x1_00A8;

const HAS_STAGE_2: u32 = 1 << 0;
const HAS_STAGE_1: u32 = 1 << 1;
const WALKS_AARCH64: u32 = 1 << 3;
/// 0 in each SMMUv3 so far.
const MAJOR_REVISION: u32 = 0xF0;
/// Queues or stream table at a place of its own: bits 30:29.
const PRESET: u32 = 3 << 29;
const STREAM_BITS: u32 = 0x3F;
const TWO_LEVELS: u32 = 1 << 27;
const GRANULE_4K: u32 = 1 << 4;
const TRANSLATION_ON: u32 = 1 << 0;
const EVENTS_ON: u32 = 1 << 2;
const COMMANDS_ON: u32 = 1 << 3;
const WRITE_BACK_INNER_SHAREABLE: u32 = 0xD75;
const RECORD_UNKNOWN_STREAMS: u32 = 1 << 1;
const BYPASS_ABORTS: u32 = 1 << 20;
const BYPASS_UPDATE: u32 = 1 << 31;

struct Registers {
    base: u64,
    list: Vec<Setting>,
}

impl Registers {
    fn add(&mut self, offset: u64, action: u32, value: u32, mask: u32) {
        self.list.push(Setting {
            pa: self.base + offset,
            action,
            value,
            mask,
            reserved: 0,
        });
    }

    fn write(&mut self, offset: u64, value: u32) {
        self.add(offset, setting::WRITE, value, 0);
    }

    fn write_wide(&mut self, offset: u64, value: u64) {
        self.write(offset, value as u32);
        self.write(offset + 4, (value >> 32) as u32);
    }

    fn await_bits(&mut self, offset: u64, value: u32, mask: u32) {
        self.add(offset, setting::AWAIT, value, mask);
    }

    fn require(&mut self, offset: u64, value: u32, mask: u32) {
        self.add(offset, setting::KIND, value, mask);
    }

    fn only_if(&mut self, offset: u64, value: u32, mask: u32) {
        self.add(offset, setting::ONLY_IF, value, mask);
    }

    /// Writes a register that the next one acknowledges.
    fn acknowledged(&mut self, offset: u64, value: u32) {
        self.write(offset, value);
        self.await_bits(offset + 4, value, u32::MAX);
    }

    /// Required features: one of the stages, queues and stream table anywhere, of that shape.
    fn features(&mut self, shape: StreamTableShape) {
        self.only_if(FEATURES, 0, HAS_STAGE_2);
        self.require(FEATURES, HAS_STAGE_1, HAS_STAGE_1);
        self.require(FEATURES_1, 0, PRESET);
        self.require(FEATURES_5, GRANULE_4K, GRANULE_4K);
        self.add(FEATURES_1, setting::STREAM_BITS, shape.bits, STREAM_BITS);
        if shape.level1() != 0 {
            self.require(FEATURES, TWO_LEVELS, TWO_LEVELS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 0x0905_0000;

    fn machine(events: Option<Pa>) -> Machine {
        let region = |pa| crate::memory::Region {
            pa,
            size: EVENTS,
            purpose: Purpose::Events,
        };
        Machine {
            regions: events.map(region).into_iter().collect(),
            pristine: Vec::new(),
            memory: Vec::new(),
            stack_tops: Vec::new(),
            size: 0,
            image_size: 0,
        }
    }

    fn system() -> System {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let text = "[system]\nname = \"streams\"\nboard = \"qemu-virt\"\n[partition.p]\nkind = \"rtos\"\n\
                    criticality = \"A\"\nmemory = \"256 KiB\"\nimage = { crate = \"bulkhead-control\" }\n";
        let file = root.join("systems/streams.toml");
        match bulkhead_model::check(&file, text.to_owned(), &root, &Default::default()) {
            Ok((system, _)) => system,
            Err(errors) => panic!("{errors:?}"),
        }
    }

    /// Registers of an SMMU with those features after the list; every await must hold.
    fn executed(list: &[Setting], features: u32) -> BTreeMap<u64, u32> {
        let mut held = BTreeMap::from([(0, features), (4, 0x0273_0010), (0x14, 0x74)]);
        let mut left_out = false;
        for setting in list {
            let offset = setting.pa - BASE;
            let found = held.get(&offset).copied().unwrap_or(0);
            let holds = (found ^ setting.value) & setting.mask == 0;
            match (std::mem::take(&mut left_out), setting.action) {
                (true, _) => {}
                (_, setting::WRITE) => {
                    let value = setting.value & !BYPASS_UPDATE;
                    held.insert(offset, value);
                    // It acknowledges, and consumes commands.
                    let follows = [CONTROL, INTERRUPTS, COMMAND_QUEUE + 8].contains(&offset);
                    follows.then(|| held.insert(offset + 4, value));
                }
                (_, setting::STREAM_BITS) => {
                    assert!(found & setting.mask >= setting.value, "{setting:?}");
                }
                (_, setting::AWAIT | setting::KIND) => assert!(holds, "{setting:?}, is {found:#x}"),
                (_, action) => left_out = action == setting::ONLY_IF && !holds,
            }
        }
        held
    }

    /// The settings for a table with `largest` as its largest stream.
    fn list_for(largest: u32) -> Vec<Setting> {
        let streams = Streams {
            tables: [Pa(0x4023_5000), Pa(0x4023_6000)],
            shape: StreamTableShape::of(std::iter::once(largest)),
            contexts: Pa(0x4023_7000),
            size: 0,
        };
        let list = settings(&system(), &machine(Some(Pa(0x4030_0000))), Some(&streams));
        list.expect("a list")
    }

    #[test]
    fn large_streams_need_two_levels_and_an_smmu_with_as_many_bits() {
        let held = executed(&list_for(0x100), 0x0d40_101a);
        assert_eq!(held[&0x88], 0x1_0189);
        let required = |largest: u32| {
            let list = list_for(largest);
            let bits = list
                .iter()
                .find(|setting| setting.action == setting::STREAM_BITS);
            let levels = list.iter().any(|setting| setting.mask == TWO_LEVELS);
            (bits.map(|setting| setting.value), levels)
        };
        assert_eq!(required(63), (Some(6), false));
        assert_eq!(required(0x1_0008), (Some(17), true));
    }

    #[test]
    fn the_stage_there_is_decides_which_table_is_used() {
        let list = list_for(8);
        for (features, table) in [
            (0x0d40_101a, 0x4023_5000),
            (0x0d44_101b, 0x4023_6000),
            (0x0d44_1019, 0x4023_6000),
        ] {
            let held = executed(&list, features);
            assert_eq!(held[&0x80], table, "{features:#x}");
            assert_eq!((held[&0x88], held[&0x90]), (6, 0x4023_7802));
            assert_eq!(held[&0xA0], 0x4030_0007, "128 events");
            assert_eq!(held[&0x20], 0b1101);
        }
    }

    #[test]
    fn where_nothing_goes_through_it_only_aborts() {
        let list = settings(&system(), &machine(None), None).expect("a list");
        let held = executed(&list, WALKS_AARCH64);
        assert_eq!((held[&0x20], held[&0x44]), (0, 1 << 20));
    }
}
