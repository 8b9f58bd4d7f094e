//! The configuration blob

use bulkhead_abi::config::{
    Attachment, CONFIG_MAGIC, Clear, Config, CoreConfig, Doorbell, Gate, Hardware, ImageCheck,
    InterruptLine, NO_PARTITION, PartitionConfig, Segment, Setting, Slice, Watch, flags,
    image_checksum_step,
};
use bulkhead_abi::{VERSION, name_field};
use bulkhead_formats::address::Pa;
use bulkhead_formats::el2;
use bulkhead_formats::region::RegionSet;
use bulkhead_model::system::{Console, Partition, PartitionId, Progress, System, Trapping};
use sha2::{Digest, Sha256};
use zerocopy::{FromZeros, Immutable, IntoBytes};

use crate::error::PlanError;
use crate::guest_page::ticks;
use crate::inputs::Inputs;
use crate::load::Load;
use crate::machine::Machine;
use crate::memory::Region;
use crate::purpose::Purpose;
use crate::stage2::{physical_range, vmid};
use crate::tables::{Tables, root_entries};
use crate::view::{GuestView, Start};
use crate::{pcie, smmu};

/// Offset of the committed position of a recorder, doc/interfaces/channel.md.
const RECORDER_POSITION: u64 = 8;

/// The blob while it grows; the head goes in last.
struct Blob(Vec<u8>);

impl Blob {
    /// Appends an array, answers its place.
    fn add<T: IntoBytes + Immutable>(&mut self, items: &[T]) -> Slice {
        let slice = Slice {
            offset: self.0.len() as u32,
            count: items.len() as u32,
        };
        self.0.extend_from_slice(items.as_bytes());
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        slice
    }
}

/// Inputs of the blob.
pub struct Parts<'a> {
    /// The system.
    pub system: &'a System,
    /// The guests' view.
    pub view: &'a GuestView,
    /// Physical addresses.
    pub machine: &'a Machine,
    /// Tables.
    pub tables: &'a Tables,
}

/// Builds the blob; `tables` are the bytes of all translation tables, as packed.
///
/// # Errors
/// The plan has no place for something that the blob must name.
pub fn build(parts: &Parts<'_>, inputs: &Inputs, tables: &[u8]) -> Result<Vec<u8>, PlanError> {
    let mut blob = Blob(vec![0; size_of::<Config>()]);
    let cores = parts.cores(&mut blob)?;
    let partitions = (0..parts.system.partitions.len())
        .map(|id| parts.partition(&mut blob, PartitionId(id)))
        .collect::<Result<Vec<_>, _>>()?;
    let head = Config {
        magic: CONFIG_MAGIC,
        version: VERSION,
        size: 0,
        digest: [0; 32],
        tables_pa: parts.machine.pa(Purpose::Tables)?.0,
        tables_size: tables.len() as u64,
        gicd: parts.system.board.interrupts.distributor,
        el2_ttbr: parts.tables.el2.pa.0,
        el2_tcr: el2::tcr(parts.tables.el2.walk, physical_range(parts.system)),
        hardware: hardware(parts.system),
        cores: blob.add(&cores),
        partitions: blob.add(&partitions),
        images: blob.add(&parts.image_checks(inputs)),
        lines: blob.add(&parts.lines()),
        clears: blob.add(&parts.clears()),
        settings: blob.add(&parts.settings()?),
    };
    Ok(seal(blob, head, tables))
}

/// Facts that the boot part compares with what it finds.
fn hardware(system: &System) -> Hardware {
    let board = &system.board;
    Hardware {
        counter_hz: board.timer.frequency,
        physical_range: physical_range(system) as u32,
        spis: board.interrupts.spis,
        security_states: board.firmware.security_states,
        start: board.firmware.start,
        alarm: board.timer.hypervisor,
        timers: [board.timer.physical, board.timer.virtual_timer],
        private: board.hypervisor_intids(),
    }
}

fn no_core() -> PlanError {
    PlanError::internal("the board has fewer cores than the plan".into())
}

/// Puts the head in front, with the digest over everything.
fn seal(blob: Blob, head: Config, tables: &[u8]) -> Vec<u8> {
    let mut bytes = blob.0;
    let mut head = Config {
        size: bytes.len() as u32,
        ..head
    };
    bytes[..size_of::<Config>()].copy_from_slice(head.as_bytes());
    head.digest = Sha256::new_with_prefix(&bytes)
        .chain_update(tables)
        .finalize()
        .into();
    bytes[..size_of::<Config>()].copy_from_slice(head.as_bytes());
    bytes
}

/// Checksum of whole words.
fn checksum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    words.fold(0, image_checksum_step)
}

impl Parts<'_> {
    fn cores(&self, blob: &mut Blob) -> Result<Vec<CoreConfig>, PlanError> {
        let board = &self.system.board;
        let mut cores = Vec::new();
        for (core, owner) in self.view.cores.owner.iter().enumerate() {
            let watches = self.watches(core)?;
            let facts = board.cores.get(core).ok_or_else(no_core)?;
            cores.push(CoreConfig {
                mpidr: facts.mpidr,
                gicr: facts.redistributor,
                release: facts.release.unwrap_or(0),
                stack_top: self.machine.stack_tops[core].0,
                partition: owner.map_or(NO_PARTITION, |(partition, _)| partition as u32),
                rank: owner.map_or(0, |(_, rank)| rank as u32),
                watches: blob.add(&watches),
            });
        }
        Ok(cores)
    }

    /// Signs of life that a core's monitor looks after: the first spare core's those of all.
    fn watches(&self, core: usize) -> Result<Vec<Watch>, PlanError> {
        let spare = self.view.cores.spare();
        let mut watches = Vec::new();
        for (index, partition) in self.system.partitions.iter().enumerate() {
            let watches_this = spare.first() == Some(&core);
            let Some(period) = partition.heartbeat_ns.filter(|_| watches_this) else {
                continue;
            };
            let id = PartitionId(index);
            watches.push(Watch {
                heartbeat: match partition.progress {
                    Some(progress) => self.progress(id, progress)?.0,
                    None => heartbeat(self.machine, id)?.0,
                },
                period_ticks: ticks(self.system, period),
                startup_ticks: ticks(self.system, partition.startup_ns),
                partition: index as u32,
                by_change: partition.progress.is_some().into(),
            });
        }
        Ok(watches)
    }

    /// Physical address of the 32 bits that a guest without a heartbeat changes.
    fn progress(&self, id: PartitionId, progress: Progress) -> Result<Pa, PlanError> {
        let Progress::Word(ipa) = progress else {
            let console = self.machine.pa(Purpose::ConsoleOut(id))?;
            return Ok(console.plus(RECORDER_POSITION));
        };
        let pieces = self.machine.memory.get(id.0).into_iter().flatten();
        let mut places = pieces.filter_map(|piece| {
            let offset = ipa.checked_sub(piece.ipa.0)?;
            (offset < piece.size).then(|| piece.pa.plus(offset))
        });
        let missing = || PlanError::internal(format!("no memory at {ipa:#x}"));
        places.next().ok_or_else(missing)
    }

    fn partition(&self, blob: &mut Blob, id: PartitionId) -> Result<PartitionConfig, PlanError> {
        let partition = self.system.partition(id);
        let view = &self.view.partitions[id.0];
        let stage2 = &self.tables.stage2[id.0];
        let guest = &self.system.board.guest;
        let mut config = PartitionConfig::new_zeroed();
        config.name = name_field(&partition.name);
        config.vttbr = u64::from(vmid(id)) << 48 | stage2.root.pa.0;
        config.vtcr = stage2.vtcr;
        let cores = &self.view.cores.of_partition[id.0];
        config.cores = cores.iter().fold(0, |mask, core| mask | 1 << core);
        config.flags = flags_of(partition);
        config.standby = partition
            .standby
            .map_or(NO_PARTITION, |standby| standby.0 as u32);
        config.memory = [self.system.board.ram_of(partition.kind), partition.memory];
        (config.entry, config.argument) = (view.start.entry.0, view.start.argument);
        config.segments = blob.add(&self.segments(&view.start));
        if let Some(alternate) = &view.alternate {
            config.alternate_entry = alternate.entry.0;
            config.alternate_argument = alternate.argument;
            config.alternate_segments = blob.add(&self.segments(alternate));
        }
        config.gates = blob.add(&self.gates(id));
        config.doorbells = blob.add(&self.doorbells(id));
        config.attachments = blob.add(&self.attachments(id));
        config.actions = partition.actions.map(|action| action as u8);
        self.restart_policy(partition, &mut config);
        config.link_pa = self.machine.pa(Purpose::Link(id))?.0;
        config.status_pa = self.machine.pa(Purpose::Status(id))?.0;
        config.state_pa = self.machine.pa(Purpose::State(id))?.0;
        config.console_out = self.place(Purpose::ConsoleOut(id));
        config.console_in = self.place(Purpose::ConsoleIn(id));
        config.gicd_ipa = guest.distributor;
        config.gicr_ipa = guest.redistributors;
        config.uart_ipa = guest.uart;
        for intid in self.view.doorbells.owned(self.system, id) {
            config.spis[intid as usize / 32] |= 1 << (intid % 32);
        }
        Ok(config)
    }

    fn restart_policy(&self, partition: &Partition, config: &mut PartitionConfig) {
        config.escalation = partition.restart.then as u8;
        config.restart_limit = partition.restart.limit;
        config.restart_period_ticks = ticks(self.system, partition.restart.per_ns);
        config.restart_backoff_ticks = ticks(self.system, partition.restart.backoff_ns);
    }

    fn place(&self, purpose: Purpose) -> [u64; 2] {
        self.machine
            .region(purpose)
            .map_or([0, 0], |region| [region.pa.0, region.size])
    }

    fn segments(&self, start: &Start) -> Vec<Segment> {
        let segment = |load: &Load| Segment {
            ipa: load.ipa.0,
            pa: self.machine.source(load).0,
            copy_size: load.bytes.len() as u64,
            zero_size: load.zero_size,
            clean_size: load.clean_size,
        };
        start.loads.iter().map(segment).collect()
    }

    fn gates(&self, id: PartitionId) -> Vec<Gate> {
        let entries = root_entries(&self.tables.arena, self.tables.stage2[id.0].root);
        let root = entries.into_iter().map(|(pa, value)| Gate {
            pa: pa.0,
            open: value,
            closed: 0,
        });
        let buses = smmu::gates(self.system, self.view, id);
        root.chain(buses).collect()
    }

    /// Nothing passes the SMMU before bridges let anything through.
    fn settings(&self) -> Result<Vec<Setting>, PlanError> {
        let streams = self.tables.streams.as_ref();
        let mut all = smmu::settings(self.system, self.machine, streams)?;
        all.extend(pcie::settings(self.system, &self.view.buses));
        Ok(all)
    }

    fn doorbells(&self, id: PartitionId) -> Vec<Doorbell> {
        let outgoing = self.view.doorbells.outgoing(self.system, id);
        let doorbell = |bell: crate::interrupts::Doorbell| Doorbell {
            intid: bell.intid,
            limit: bell.rate.limit,
            period_ticks: ticks(self.system, bell.rate.per_ns),
        };
        outgoing.into_iter().map(doorbell).collect()
    }

    fn attachments(&self, id: PartitionId) -> Vec<Attachment> {
        let prepared = self.tables.stage2[id.0].prepared.iter();
        let attachment = |prepared: &crate::stage2::Prepared| Attachment {
            key: prepared.slot.key.unwrap_or(0),
            ipa: prepared.slot.ipa.0,
            size: prepared.slot.size,
            entry_pa: prepared.entry_pa.0,
            entry_value: prepared.entry_value,
        };
        prepared.map(attachment).collect()
    }

    /// The monitor itself first, then every pristine image.
    fn image_checks(&self, inputs: &Inputs) -> Vec<ImageCheck> {
        let monitor = inputs.monitor.bytes();
        let check = |pa: Pa, bytes: &[u8]| ImageCheck {
            pa: pa.0,
            size: (bytes.len() as u64).next_multiple_of(8),
            checksum: checksum(bytes),
        };
        let pristine = self
            .machine
            .pristine
            .iter()
            .map(|image| check(image.pa, &image.bytes));
        std::iter::once(check(inputs.monitor.base, &monitor))
            .chain(pristine)
            .collect()
    }

    /// Shared memory and the monitors' own: real memory is not zero at power-on.
    fn clears(&self) -> Vec<Clear> {
        let cleared = |purpose| {
            !matches!(
                purpose,
                Purpose::Boot
                    | Purpose::Monitor
                    | Purpose::Config
                    | Purpose::Tables
                    | Purpose::Images
                    | Purpose::Memory(_)
            )
        };
        let regions = self
            .machine
            .regions
            .iter()
            .filter(|region| cleared(region.purpose));
        let merged = RegionSet::of(regions.map(Region::range));
        merged
            .iter()
            .map(|range| Clear {
                pa: range.start,
                size: range.size(),
            })
            .collect()
    }

    fn lines(&self) -> Vec<InterruptLine> {
        let lines = self.view.doorbells.lines(self.system).into_iter();
        lines
            .map(|(intid, edge)| InterruptLine {
                intid,
                edge: u32::from(edge),
            })
            .collect()
    }
}

/// Physical address of a partition's heartbeat word.
///
/// # Errors
/// The partition has no guest page: a defect of the plan.
pub fn heartbeat(machine: &Machine, id: PartitionId) -> Result<Pa, PlanError> {
    Ok(machine
        .pa(Purpose::GuestPage(id))?
        .plus(bulkhead_abi::guest::HEARTBEAT_OFFSET))
}

fn flags_of(partition: &Partition) -> u32 {
    [
        (partition.wfi == Trapping::Trap, flags::TRAP_WFI),
        (partition.tlbi == Trapping::Trap, flags::TRAP_TLBI),
        (partition.ipi == Trapping::Direct, flags::DIRECT_IPI),
        (partition.privileged, flags::PRIVILEGED),
        (partition.is_standby, flags::STANDBY),
        (partition.console == Console::Emulated, flags::EMULATED_UART),
    ]
    .into_iter()
    .filter(|&(set, _)| set)
    .fold(0, |flags, (_, flag)| flags | flag)
}
