//! From a checked description to addresses, tables and interrupts
//!
//! [`plan`] runs in two passes. The first fixes what guests see (cores, interrupts, guest-physical
//! addresses, device trees) and depends on the description alone; the second gives everything its
//! physical place, finishes the translation tables and the configuration blob, and checks the
//! finished tables against what each partition was granted.

#![forbid(unsafe_code)]

pub mod arena;
pub mod blob;
pub mod bridge;
pub mod cores;
pub mod device_tree;
pub mod el2_map;
pub mod ends;
pub mod error;
pub mod guest_page;
pub mod interrupts;
pub mod inventory;
pub mod load;
pub mod machine;
pub mod manifest;
pub mod map;
pub mod memory;
pub mod pcie;
pub mod pipes;
pub mod purpose;
pub mod repository;
pub mod shared;
pub mod smmu;
pub mod tables;
pub mod verify;
pub mod verify_streams;
pub mod view;
pub mod window;

use bulkhead_formats::address::{PAGE, Pa};
use bulkhead_formats::el2;
use bulkhead_formats::region::Range;
use bulkhead_model::system::{Partition, System};
use std::path::PathBuf;

pub use error::PlanError;
pub use view::{GuestView, Start};

use crate::load::GuestImage;
use crate::machine::{Machine, MemoryPiece, Reserve};
use crate::tables::Tables;

/// Attempts at a layout before giving up; two are usual.
const ATTEMPTS: usize = 8;

/// A part of the resident monitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonitorPart {
    /// Physical address.
    pub pa: Pa,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Bytes it occupies, at least as many as it has.
    pub size: u64,
    /// Bytes.
    pub access: el2::Access,
}

impl MonitorPart {
    /// The pages it occupies.
    #[must_use]
    pub fn pages(&self) -> Range {
        let end = (self.pa.0 + self.size).next_multiple_of(PAGE);
        Range {
            start: self.pa.0 / PAGE * PAGE,
            end,
        }
    }
}

/// The resident monitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Monitor {
    /// Load address of the image.
    pub base: Pa,
    /// Its parts, ascending.
    pub parts: Vec<MonitorPart>,
    /// Sizes of text, read-only and writable data, bytes.
    pub sizes: [u64; 3],
}

impl Monitor {
    /// The bytes from its base to the end of its last part.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in &self.parts {
            bytes.resize((part.pa.0 - self.base.0) as usize, 0);
            bytes.extend_from_slice(&part.bytes);
            bytes.resize(
                bytes.len() + (part.size as usize).saturating_sub(part.bytes.len()),
                0,
            );
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }
}

/// Images of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionImages {
    /// Image that is started.
    pub primary: GuestImage,
    /// Image that is started instead on [`bulkhead_abi::status::Action::Alternate`].
    pub alternate: Option<GuestImage>,
    /// Argument words of this build.
    pub argument: String,
    /// Executables with symbols: what runs at EL1, if it has any, then the components by their numbers.
    pub programs: Vec<PathBuf>,
}

/// Inputs of the plan beside the description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// The boot part as it will lie at the start of the image.
    pub boot: Vec<u8>,
    /// The resident monitor.
    pub monitor: Monitor,
    /// By partition.
    pub images: Vec<PartitionImages>,
}

/// A finished plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The guests' view.
    pub view: GuestView,
    /// Physical addresses.
    pub machine: Machine,
    /// Translation tables.
    pub tables: Tables,
    /// Bytes of the translation tables, as packed.
    pub table_bytes: Vec<u8>,
    /// The configuration blob.
    pub config: Vec<u8>,
}

/// Plans a system.
///
/// # Errors
/// See [`PlanError`].
pub fn plan(system: &System, inputs: &Inputs) -> Result<Plan, PlanError> {
    let mut distances = Vec::new();
    let mut view = view::build(system, inputs, &distances)?;
    let mut reserve = Reserve::default();
    for _ in 0..ATTEMPTS {
        let plan = attempt(system, inputs, &view, reserve)?;
        let found = memory_distances(system, &plan.machine)?;
        if found != distances {
            // Guest pages say them; their size does not depend on it.
            view = view::build(system, inputs, &found)?;
            distances = found;
            continue;
        }
        let needed = Reserve {
            config: plan.config.len() as u64,
            tables: plan.tables.arena.size(),
        };
        if reserve.max(needed) == reserve {
            verify::verify(system, inputs, &plan)?;
            return Ok(plan);
        }
        reserve = reserve.max(needed);
    }
    Err(PlanError::internal("the layout does not settle".into()))
}

/// By partition: from its memory's guest-physical addresses to the physical ones, which functions use that
/// nothing confines; 0 for all others.
fn memory_distances(system: &System, machine: &Machine) -> Result<Vec<u64>, PlanError> {
    let distance = |(partition, pieces): (&Partition, &Vec<MemoryPiece>)| match &pieces[..] {
        _ if !partition.unconfined || partition.functions.is_empty() => Ok(0),
        [piece] => Ok(piece.pa.0.wrapping_sub(piece.ipa.0)),
        _ => {
            let message = format!("the memory of partition `{}` is in pieces", partition.name);
            let help = "leave out `dma = \"unconfined\"` or `colours`";
            Err(PlanError::new("dma-pieces", message, help).at(&partition.span))
        }
    };
    let partitions = system.partitions.iter().zip(&machine.memory);
    partitions.map(distance).collect()
}

fn attempt(
    system: &System,
    inputs: &Inputs,
    view: &GuestView,
    reserve: Reserve,
) -> Result<Plan, PlanError> {
    let machine = machine::lay_out(system, view, reserve)?;
    let tables = tables::build(system, inputs, view, &machine)?;
    let table_bytes = tables.arena.bytes(reserve.tables.max(PAGE));
    let parts = blob::Parts {
        system,
        view,
        machine: &machine,
        tables: &tables,
    };
    let config = blob::build(&parts, inputs, &table_bytes)?;
    Ok(Plan {
        view: view.clone(),
        machine,
        tables,
        table_bytes,
        config,
    })
}
