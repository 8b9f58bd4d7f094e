//! Physical layout and finished tables
//!
//! The boot image is followed by stacks, state, shared memory and, last, the partitions' memory.
//! How many bytes configuration and tables take is known only once everything has an address;
//! [`Reserve`] is the guess that one attempt works with, and the next corrects.

use std::sync::Arc;

use bulkhead_abi::boot::{MONITOR_OFFSET, MONITOR_SIZE};
use bulkhead_formats::address::{BLOCK_2M, Ipa, PAGE, Pa};
use bulkhead_formats::region::Range;
use bulkhead_model::system::{PartitionId, System};

use crate::dma;
use crate::error::PlanError;
use crate::load::Load;
use crate::memory::{Colours, PhysicalMemory, Region, block_alignment};
use crate::purpose::Purpose;
use crate::view::GuestView;

/// Bytes of a core's stack, its state at the bottom.
pub const STACK_SIZE: u64 = PAGE;
/// A guard page that is never mapped, then the stack.
const STACK_STRIDE: u64 = PAGE + STACK_SIZE;

/// Bytes set aside for what depends on the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reserve {
    /// Configuration blob.
    pub config: u64,
    /// Translation tables.
    pub tables: u64,
}

impl Reserve {
    /// Both, where either is larger.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            config: self.config.max(other.config),
            tables: self.tables.max(other.tables),
        }
    }
}

/// A pristine part of a guest image in the boot image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pristine {
    /// Physical address.
    pub pa: Pa,
    /// Its bytes, whole lines.
    pub bytes: Arc<Vec<u8>>,
}

/// A piece of a partition's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPiece {
    /// Address in the guest.
    pub ipa: Ipa,
    /// Physical address.
    pub pa: Pa,
    /// Bytes.
    pub size: u64,
}

impl MemoryPiece {
    /// The physical addresses.
    #[must_use]
    pub const fn range(&self) -> Range {
        Range::sized(self.pa.0, self.size)
    }
}

/// Physical addresses of a plan.
#[derive(Clone, Debug)]
pub struct Machine {
    /// All ranges given away.
    pub regions: Vec<Region>,
    /// Pristine parts of images, each once.
    pub pristine: Vec<Pristine>,
    /// By partition: its memory.
    pub memory: Vec<Vec<MemoryPiece>>,
    /// By core: top of its stack.
    pub stack_tops: Vec<Pa>,
    /// Bytes of machine memory.
    pub size: u64,
    /// Bytes of the boot image.
    pub image_size: u64,
}

impl Machine {
    /// The one region of that purpose.
    #[must_use]
    pub fn region(&self, purpose: Purpose) -> Option<&Region> {
        self.regions.iter().find(|region| region.purpose == purpose)
    }

    /// Address of the one region of that purpose.
    ///
    /// # Errors
    /// There is none: a defect of the plan.
    pub fn pa(&self, purpose: Purpose) -> Result<Pa, PlanError> {
        let region = self.region(purpose);
        region
            .map(|region| region.pa)
            .ok_or_else(|| PlanError::internal(format!("no memory for {purpose:?}")))
    }

    /// Address of the pristine bytes of a load; `None` for a load that only zeroes.
    #[must_use]
    pub fn source(&self, load: &Load) -> Pa {
        let same = |pristine: &&Pristine| pristine.bytes == load.bytes;
        self.pristine
            .iter()
            .find(same)
            .map_or(Pa(0), |pristine| pristine.pa)
    }
}

/// Gives everything its place.
///
/// # Errors
/// Memory is used up.
pub fn lay_out(system: &System, view: &GuestView, reserve: Reserve) -> Result<Machine, PlanError> {
    let mut memory = PhysicalMemory::of(&system.board);
    memory.take(MONITOR_OFFSET, BLOCK_2M, Purpose::Boot)?;
    memory.take(MONITOR_SIZE, PAGE, Purpose::Monitor)?;
    memory.take(
        reserve.config.max(PAGE).next_multiple_of(PAGE),
        PAGE,
        Purpose::Config,
    )?;
    memory.take(reserve.tables.max(PAGE), PAGE, Purpose::Tables)?;
    let (pristine, image_end) = images(&mut memory, view)?;
    let stack_tops = bookkeeping(system, view, &mut memory)?;
    if !dma::owned(system, view).is_empty() {
        memory.take(dma::EVENTS, PAGE, Purpose::Events)?;
    }
    for shared in &view.shared {
        memory.take(shared.size, shared.alignment(), shared.purpose)?;
    }
    let of_partitions = partition_memory(system, &mut memory)?;
    Ok(Machine {
        pristine,
        memory: of_partitions,
        stack_tops,
        size: memory.machine_size(system.board.default_memory),
        image_size: image_end - system.board.load,
        regions: memory.regions().to_vec(),
    })
}

/// Pristine images one after the other, equal ones once.
fn images(
    memory: &mut PhysicalMemory,
    view: &GuestView,
) -> Result<(Vec<Pristine>, u64), PlanError> {
    let mut unique: Vec<Arc<Vec<u8>>> = Vec::new();
    for load in view.loads() {
        let is_placed =
            |bytes: &Arc<Vec<u8>>| Arc::ptr_eq(bytes, &load.bytes) || *bytes == load.bytes;
        if !load.bytes.is_empty() && !unique.iter().any(is_placed) {
            unique.push(Arc::clone(&load.bytes));
        }
    }
    let size: u64 = unique.iter().map(|bytes| bytes.len() as u64).sum();
    let size = size.max(1).next_multiple_of(PAGE);
    let start = memory.take(size, PAGE, Purpose::Images)?;
    let mut next = start;
    let place = |bytes: Arc<Vec<u8>>| {
        let pa = next;
        next = next.plus(bytes.len() as u64);
        Pristine { pa, bytes }
    };
    Ok((unique.into_iter().map(place).collect(), start.0 + size))
}

/// Stacks and the monitors' state.
fn bookkeeping(
    system: &System,
    view: &GuestView,
    memory: &mut PhysicalMemory,
) -> Result<Vec<Pa>, PlanError> {
    let mut tops = Vec::new();
    for core in 0..view.cores.owner.len() {
        let bottom = memory.take(STACK_STRIDE, PAGE, Purpose::Stack(core))?;
        tops.push(bottom.plus(STACK_STRIDE));
    }
    for id in 0..system.partitions.len() {
        memory.take(PAGE, PAGE, Purpose::State(PartitionId(id)))?;
    }
    Ok(tops)
}

/// Uncoloured partitions first, so that they get large blocks; coloured ones share what is left.
fn partition_memory(
    system: &System,
    memory: &mut PhysicalMemory,
) -> Result<Vec<Vec<MemoryPiece>>, PlanError> {
    let mut pieces = vec![Vec::new(); system.partitions.len()];
    let (coloured, plain): (Vec<usize>, Vec<usize>) =
        (0..pieces.len()).partition(|&id| colours_of(system, PartitionId(id)).is_some());
    for id in plain.into_iter().chain(coloured) {
        let partition = &system.partitions[id];
        let purpose = Purpose::Memory(PartitionId(id));
        let size = partition.memory;
        let ranges = match colours_of(system, PartitionId(id)) {
            Some(colours) => memory.take_coloured(size, &colours, purpose),
            None => memory
                .take(size, block_alignment(size), purpose)
                .map(|pa| vec![Range::sized(pa.0, size)]),
        };
        let ranges = ranges.map_err(|error| error.at(&partition.span))?;
        pieces[id] = at_consecutive_ipas(system.board.ram_of(partition.kind), &ranges);
    }
    Ok(pieces)
}

fn at_consecutive_ipas(start: u64, ranges: &[Range]) -> Vec<MemoryPiece> {
    let mut ipa = Ipa(start);
    let place = |range: &Range| {
        let piece = MemoryPiece {
            ipa,
            pa: Pa(range.start),
            size: range.size(),
        };
        ipa = ipa.plus(range.size());
        piece
    };
    ranges.iter().map(place).collect()
}

/// The colours of a partition that is confined to some.
#[must_use]
pub fn colours_of(system: &System, partition: PartitionId) -> Option<Colours> {
    let allowed = &system.partition(partition).colours;
    let colours = Colours {
        count: system.board.colours,
        allowed: allowed.clone(),
    };
    (!allowed.is_empty()).then_some(colours)
}
