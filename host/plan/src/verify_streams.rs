//! The finished stream tables, checked against the owners of devices
//!
//! As [`crate::verify`], for devices: each entry of the packed tables is read as the SMMU will. A stream
//! without an owner has no entry or one of zeros; another leads to its owner's memory, to just that, or to its
//! owner's own stage 2, which is checked there; past everything only where the description says so.

use bulkhead_formats::address::{PAGE, Pa};
use bulkhead_formats::region::{Range, RegionSet};
use bulkhead_formats::smmu::{
    DESCRIPTOR_SIZE, Descriptor, FORGET_ALL, LEAF_STREAMS, MEMORY_LEAF, Stream, StreamTableShape,
    decode_context, decode_level1,
};
use bulkhead_formats::tables::{Leaf, Root};
use bulkhead_model::system::{PartitionId, System};
use std::collections::{BTreeMap, BTreeSet};

use crate::dma::Owned;
use crate::error::PlanError;
use crate::smmu::{COMMANDS, Streams};
use crate::stage2::{physical_range, vmid};
use crate::verify::contents;
use crate::{Plan, dma};

/// Checks both stream tables.
///
/// # Errors
/// The first contradiction.
pub fn verify(system: &System, plan: &Plan, read: &impl Fn(Pa) -> u64) -> Result<(), PlanError> {
    let owned = dma::owned(system, &plan.view);
    let Some(streams) = &plan.tables.streams else {
        return match owned.is_empty() {
            false => Err(fail("nothing holds devices back")),
            true => Ok(()),
        };
    };
    check_page(system, read, streams, &owned)?;
    for (table, stage) in streams.tables.into_iter().zip([1, 2]) {
        let mut missing: BTreeMap<u32, PartitionId> = owned
            .iter()
            .map(|stream| (stream.id, stream.owner))
            .collect();
        for (first, leaf) in leaves(plan, read, table, streams.shape)? {
            for id in first..first + LEAF_STREAMS {
                let at = leaf.plus(u64::from(id - first) * DESCRIPTOR_SIZE);
                let entry = descriptor(read, at);
                match missing.remove(&id) {
                    Some(owner) => check(system, plan, read, (owner, stage), &entry)?,
                    None if entry == [0; 8] => {}
                    None => return Err(fail("a stream without owner goes through")),
                }
            }
        }
        if !missing.is_empty() {
            return Err(fail("a stream with an owner has no entry"));
        }
    }
    Ok(())
}

/// Tables of entries, with the stream of the first one: pages of the packed tables, none used twice.
fn leaves(
    plan: &Plan,
    read: &impl Fn(Pa) -> u64,
    table: Pa,
    shape: StreamTableShape,
) -> Result<Vec<(u32, Pa)>, PlanError> {
    let packed = packed(plan);
    let mut found = Vec::new();
    let mut used = RegionSet::default();
    for index in 0..shape.level1() {
        let leaf = match read(table.plus(u64::from(index) * 8)) {
            0 => continue,
            descriptor => decode_level1(descriptor),
        };
        let leaf = leaf.ok_or_else(|| fail("a damaged descriptor of level 1"))?;
        let page = Range::sized(leaf.0, PAGE);
        if !packed.contains(page) || used.overlaps(page) {
            return Err(fail("a descriptor of level 1 leads astray"));
        }
        used.insert(page);
        found.push((index * LEAF_STREAMS, leaf));
    }
    match shape.level1() {
        0 => found.push((0, table)),
        used => {
            let mut rest = (u64::from(used) * 8..PAGE).step_by(8);
            if rest.any(|at| read(table.plus(at)) != 0) {
                return Err(fail("a stray word behind its level 1"));
            }
        }
    }
    Ok(found)
}

/// Physical addresses of all tables.
fn packed(plan: &Plan) -> Range {
    Range::sized(plan.tables.arena.base().0, plan.table_bytes.len() as u64)
}

/// The page of contexts has one for each confined partition, the commands, and nothing else.
fn check_page(
    system: &System,
    read: &impl Fn(Pa) -> u64,
    streams: &Streams,
    owned: &[Owned],
) -> Result<(), PlanError> {
    let owners = owned.iter().map(|stream| stream.owner);
    let confined: BTreeSet<_> = owners
        .filter(|&id| !system.partition(id).unconfined)
        .collect();
    let contexts = confined.len() as u64 * DESCRIPTOR_SIZE;
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
    let packed = packed(plan);
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
