//! The finished stream tables, checked against the owners of devices
//!
//! As [`crate::verify`], for devices: each entry of the packed tables is read as the SMMU will. A stream
//! without an owner has an entry of zeros; another leads to its owner's memory, to just that, or to its
//! owner's own stage 2, which is checked there; past everything only where the description says so.

use bulkhead_formats::address::{PAGE, Pa};
use bulkhead_formats::region::{Range, RegionSet};
use bulkhead_formats::smmu::{
    DESCRIPTOR_SIZE, Descriptor, FORGET_ALL, MEMORY_LEAF, Stream, decode_context,
};
use bulkhead_formats::tables::{Leaf, Root};
use bulkhead_model::system::{PartitionId, System};

use crate::dma::{buses, stream};
use crate::error::PlanError;
use crate::pcie::Bus;
use crate::smmu::{COMMANDS, STREAMS, Streams};
use crate::stage2::{physical_range, vmid};
use crate::verify::contents;
use crate::{Plan, dma};

/// Checks both stream tables.
///
/// # Errors
/// The first contradiction.
pub fn verify(system: &System, plan: &Plan, read: &impl Fn(Pa) -> u64) -> Result<(), PlanError> {
    let Some(streams) = &plan.tables.streams else {
        return match dma::is_used(system, &plan.view) {
            true => Err(fail("nothing holds devices back")),
            false => Ok(()),
        };
    };
    check_page(system, plan, read, streams)?;
    for (table, stage) in streams.tables.into_iter().zip([1, 2]) {
        for id in 0..STREAMS {
            let entry = descriptor(read, table.plus(u64::from(id) * DESCRIPTOR_SIZE));
            let owner = buses(&plan.view).find(|bus| stream(bus) == id);
            match owner.map(|bus| bus.owner) {
                Some(owner) => check(system, plan, read, (owner, stage), &entry)?,
                None if entry == [0; 8] => {}
                None => return Err(fail("a stream that is nobody's goes through")),
            }
        }
    }
    Ok(())
}

/// The page of contexts has one for each confined bus, the commands, and nothing else.
fn check_page(
    system: &System,
    plan: &Plan,
    read: &impl Fn(Pa) -> u64,
    streams: &Streams,
) -> Result<(), PlanError> {
    let confined = |bus: &&Bus| !system.partition(bus.owner).unconfined;
    let contexts = buses(&plan.view).filter(confined).count() as u64 * DESCRIPTOR_SIZE;
    let commands = FORGET_ALL.as_flattened();
    let word = |at: u64| match at.checked_sub(COMMANDS) {
        Some(offset) => commands.get(offset as usize / 8).copied().unwrap_or(0),
        None => 0,
    };
    let mut rest = (contexts..PAGE).step_by(8);
    match rest.find(|&at| read(streams.contexts.plus(at)) != word(at)) {
        None => Ok(()),
        Some(at) => Err(fail(&format!("a stray word at {at:#x} of its contexts"))),
    }
}

fn fail(what: &str) -> PlanError {
    PlanError::internal(format!("SMMU: {what}"))
}

fn descriptor(read: &impl Fn(Pa) -> u64, at: Pa) -> Descriptor {
    [0, 1, 2, 3, 4, 5, 6, 7].map(|word| read(at.plus(8 * word)))
}

fn check(
    system: &System,
    plan: &Plan,
    read: &impl Fn(Pa) -> u64,
    (owner, stage): (PartitionId, u32),
    entry: &Descriptor,
) -> Result<(), PlanError> {
    let unconfined = system.partition(owner).unconfined;
    match (Stream::decode(entry), stage) {
        (Some(Stream::Bypass), _) if unconfined => Ok(()),
        (Some(Stream::Stage1 { context }), 1) if !unconfined => {
            let context = descriptor(read, context);
            let context = decode_context(&context, physical_range(system));
            let (root, asid) = context.ok_or_else(|| fail("a damaged context descriptor"))?;
            if asid != vmid(owner) {
                return Err(fail("a context has another's ASID"));
            }
            check_memory(plan, read, owner, root)
        }
        (Some(found @ Stream::Stage2 { .. }), 2) if !unconfined => {
            let tables = &plan.tables.stage2[owner.0];
            let required = Stream::Stage2 {
                root: tables.root.pa,
                vmid: vmid(owner),
                vtcr: tables.vtcr,
            };
            match found.entry() == required.entry() {
                true => Ok(()),
                false => Err(fail("a stream uses another's stage 2")),
            }
        }
        (found, _) => Err(fail(&format!("stage {stage} of a stream is {found:?}"))),
    }
}

/// Stage-1 tables map the owner's memory where it sees it, all of it and nothing else.
fn check_memory(
    plan: &Plan,
    read: &impl Fn(Pa) -> u64,
    owner: PartitionId,
    root: Root,
) -> Result<(), PlanError> {
    let (leaves, tables) = contents(read, root)?;
    let packed = Range::sized(plan.tables.arena.base().0, plan.table_bytes.len() as u64);
    let pieces = &plan.machine.memory[owner.0];
    let is_own = |leaf: &Leaf| {
        leaf.attributes == MEMORY_LEAF
            && pieces.iter().any(|piece| {
                let offset = leaf.input.wrapping_sub(piece.ipa.0);
                offset
                    .checked_add(leaf.size)
                    .is_some_and(|end| end <= piece.size)
                    && leaf.output == piece.pa.plus(offset)
            })
    };
    let reached = leaves
        .iter()
        .map(|leaf| Range::sized(leaf.output.0, leaf.size));
    let memory = pieces.iter().map(|piece| piece.range());
    let inside = |table: &Pa| packed.contains(Range::sized(table.0, PAGE));
    let sound = leaves.iter().all(is_own)
        && RegionSet::of(reached) == RegionSet::of(memory)
        && std::iter::once(&root.pa).chain(&tables).all(inside);
    match sound {
        true => Ok(()),
        false => Err(fail("a device does not reach its owner's memory alone")),
    }
}
