//! From a checked description to addresses, tables and interrupts
//!
//! [`plan`] runs in two passes. The first fixes what guests see (cores, interrupts, guest-physical
//! addresses, device trees) and depends on the description alone; the second gives everything its
//! physical place, finishes the translation tables and the configuration blob, and checks the
//! finished tables against what each partition was granted.

#![forbid(unsafe_code)]

pub mod arena;
pub mod blob;
mod boot_memory;
pub mod bridge;
pub mod cores;
pub mod device_tree;
pub mod dma;
pub mod el2_map;
pub mod ends;
pub mod error;
pub mod guest_page;
pub mod inputs;
pub mod interrupts;
pub mod inventory;
pub mod load;
pub mod machine;
pub mod manifest;
pub mod map;
pub mod memory;
pub mod pcie;
pub mod pipes;
pub mod plan;
pub mod purpose;
pub mod repository;
pub mod shared;
pub mod smmu;
pub mod stage2;
pub mod tables;
pub mod verify;
pub mod verify_streams;
pub mod view;
pub mod window;

use bulkhead_formats::address::PAGE;
use bulkhead_model::system::{Partition, System};

pub use error::PlanError;
pub use inputs::{Inputs, Monitor, MonitorPart, PartitionImages};
pub use plan::Plan;
pub use view::{GuestView, Start};

use crate::machine::{Machine, MemoryPiece, Reserve};

/// Attempts at a layout before giving up; two are usual.
const ATTEMPTS: usize = 8;

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
