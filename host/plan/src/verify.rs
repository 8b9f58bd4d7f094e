//! The finished tables, checked against what was granted
//!
//! The last step of every plan walks the tables that are about to be packed, bit by bit as the
//! hardware will, and compares each entry with [`crate::purpose::grant`] and the list of ranges
//! given away. It shares no code with the mapping but the table format: a defect in either shows
//! as a contradiction, which is an internal error, never a shipped image.

use bulkhead_formats::address::{PAGE, Pa};
use bulkhead_formats::region::{Range, RegionSet};
use bulkhead_formats::stage2::Access;
use bulkhead_formats::tables::{Leaf, Root, Visited, decode_page, visit};
use bulkhead_formats::{el2, stage2};
use bulkhead_model::system::{DeviceId, PartitionId, System};

use crate::error::PlanError;
use crate::inputs::Inputs;
use crate::memory::Region;
use crate::purpose::{Purpose, grant};
use crate::stage2::Prepared;
use crate::{Plan, dma, el2_map, verify_streams};

/// Checks a plan: every range given away once; every partition can reach exactly what it was
/// granted, with exactly those rights, nothing else of the machine; EL2 never maps anything both
/// writable and executable, and maps no channel or trace.
///
/// # Errors
/// The first contradiction.
pub fn verify(system: &System, inputs: &Inputs, plan: &Plan) -> Result<(), PlanError> {
    let regions = all_regions(system, plan)?;
    let read = |at: Pa| table_word(plan, at);
    for id in 0..system.partitions.len() {
        Stage2Check {
            system,
            regions: &regions,
            id: PartitionId(id),
        }
        .run(plan, &read)?;
    }
    verify_streams::verify(system, plan, &read)?;
    verify_el2(system, inputs, &regions, plan, &read)
}

/// Reads the packed bytes, not the builder's memory.
fn table_word(plan: &Plan, at: Pa) -> u64 {
    let base = plan.tables.arena.base().0;
    let offset = at.0.wrapping_sub(base) as usize;
    let word = plan
        .table_bytes
        .get(offset..)
        .and_then(|bytes| bytes.first_chunk());
    word.map_or(0, |word| u64::from_le_bytes(*word))
}

/// Memory and owned devices by address; an overlap is an error.
fn all_regions(system: &System, plan: &Plan) -> Result<Vec<Region>, PlanError> {
    let devices = system
        .board
        .devices
        .iter()
        .enumerate()
        .map(|(id, device)| Region {
            pa: Pa(device.address),
            size: device.size.next_multiple_of(PAGE),
            purpose: Purpose::Device(DeviceId(id)),
        });
    let buses = plan.view.buses.iter().flat_map(|bus| {
        let pcie = system.board.pcie.iter();
        let mapped = pcie.flat_map(|pcie| bus.mapped(pcie));
        mapped.map(|(_, range)| Region {
            pa: Pa(range.start),
            size: range.size(),
            purpose: Purpose::Bus(bus.owner),
        })
    });
    let confining = dma::registers(system).into_iter().map(|range| Region {
        pa: Pa(range.start),
        size: range.size(),
        purpose: Purpose::Confining,
    });
    let mut regions: Vec<Region> = plan
        .machine
        .regions
        .iter()
        .copied()
        .chain(devices)
        .chain(buses)
        .chain(confining)
        .collect();
    regions.sort_by_key(|region| region.pa);
    let clash = regions
        .windows(2)
        .find(|pair| pair[0].range().overlaps(pair[1].range()));
    match clash {
        Some(pair) => Err(PlanError::internal(format!(
            "{:?} and {:?} overlap at {}",
            pair[0].purpose, pair[1].purpose, pair[1].pa
        ))),
        None => Ok(regions),
    }
}

/// The regions that a range touches.
fn touched(regions: &[Region], range: Range) -> &[Region] {
    let first = regions.partition_point(|region| region.range().end <= range.start);
    let last = regions.partition_point(|region| region.pa.0 < range.end);
    regions.get(first..last).unwrap_or_default()
}

struct Stage2Check<'a> {
    system: &'a System,
    regions: &'a [Region],
    id: PartitionId,
}

impl Stage2Check<'_> {
    fn run(&self, plan: &Plan, read: &impl Fn(Pa) -> u64) -> Result<(), PlanError> {
        let stage2 = &plan.tables.stage2[self.id.0];
        let (leaves, tables) = contents(read, stage2.root)?;
        let mut reachable = RegionSet::default();
        for leaf in &leaves {
            self.check_leaf(leaf)?;
            reachable.insert(Range::sized(leaf.output.0, leaf.size));
        }
        for prepared in &stage2.prepared {
            let later = self.attached(prepared, read)?;
            self.check_leaf(&later)?;
            reachable.insert(Range::sized(later.output.0, later.size));
        }
        self.check_tables(plan, stage2.root, &tables)?;
        self.check_complete(&reachable)
    }

    fn fail(&self, what: &str) -> PlanError {
        PlanError::internal(format!(
            "partition `{}`: {what}",
            self.system.partition(self.id).name
        ))
    }

    /// Everything that a leaf reaches must be granted with just its rights.
    fn check_leaf(&self, leaf: &Leaf) -> Result<(), PlanError> {
        let range = Range::sized(leaf.output.0, leaf.size);
        let access = stage2::decode(leaf.attributes)
            .ok_or_else(|| self.fail(&format!("unknown attributes at {:#x}", leaf.input)))?;
        let touched = touched(self.regions, range);
        if !RegionSet::of(touched.iter().map(Region::range)).contains(range) {
            return Err(self.fail(&format!(
                "{:#x} reaches {}, nobody's",
                leaf.input, leaf.output
            )));
        }
        touched
            .iter()
            .try_for_each(|region| self.check_grant(leaf, access, region))
    }

    fn check_grant(&self, leaf: &Leaf, access: Access, region: &Region) -> Result<(), PlanError> {
        let granted = grant(self.system, self.id, region.purpose);
        if granted == Some(access) {
            return Ok(());
        }
        let what = format!(
            "{:#x} reaches {:?} with {access:?}, granted is {granted:?}",
            leaf.input, region.purpose
        );
        Err(self.fail(&what))
    }

    /// Addresses that an on-demand channel's entries will map; until then they must be empty.
    fn attached(&self, prepared: &Prepared, read: &impl Fn(Pa) -> u64) -> Result<Leaf, PlanError> {
        let pages = prepared.slot.size / PAGE;
        let in_use = (0..pages).find(|page| read(prepared.entry_pa.plus(page * 8)) != 0);
        if in_use.is_some() {
            return Err(self.fail("an on-demand channel is mapped already"));
        }
        let (output, attributes) = decode_page(prepared.entry_value);
        Ok(Leaf {
            input: prepared.slot.ipa.0,
            output,
            size: prepared.slot.size,
            attributes,
        })
    }

    /// Table pages must lie in the packed tables, coloured ones in their colours.
    fn check_tables(&self, plan: &Plan, root: Root, tables: &[Pa]) -> Result<(), PlanError> {
        let packed = Range::sized(plan.tables.arena.base().0, plan.table_bytes.len() as u64);
        let colours = crate::machine::colours_of(self.system, self.id);
        let fits = |pa: Pa, size: u64| {
            packed.contains(Range::sized(pa.0, size))
                && colours.as_ref().is_none_or(|colours| colours.allow(pa))
        };
        let aligned =
            root.pa.is_aligned(root.walk.root_size()) && fits(root.pa, root.walk.root_size());
        if aligned && tables.iter().all(|&table| fits(table, PAGE)) {
            return Ok(());
        }
        Err(self.fail("a translation table lies in the wrong place"))
    }

    /// Everything granted must be there, and memory in the right colours.
    fn check_complete(&self, reachable: &RegionSet) -> Result<(), PlanError> {
        let colours = crate::machine::colours_of(self.system, self.id);
        for region in self.regions {
            let granted = grant(self.system, self.id, region.purpose).is_some();
            if granted != reachable.overlaps(region.range())
                || granted && !reachable.contains(region.range())
            {
                return Err(self.fail(&format!("{:?} is not mapped as granted", region.purpose)));
            }
            let mut pages = (0..region.size / PAGE).map(|page| region.pa.plus(page * PAGE));
            let is_memory = region.purpose == Purpose::Memory(self.id);
            if is_memory
                && colours
                    .as_ref()
                    .is_some_and(|c| pages.any(|page| !c.allow(page)))
            {
                return Err(self.fail("a page of its memory has a foreign colour"));
            }
        }
        Ok(())
    }
}

/// All leaves and all tables below the root; a table entry that says more than where is an error.
pub(crate) fn contents(
    read: &impl Fn(Pa) -> u64,
    root: Root,
) -> Result<(Vec<Leaf>, Vec<Pa>), PlanError> {
    let (mut leaves, mut tables, mut strange) = (Vec::new(), Vec::new(), None);
    visit(read, root, &mut |seen| match seen {
        Visited::Leaf(leaf) => leaves.push(leaf),
        Visited::Table(table, 0) => tables.push(table),
        Visited::Table(table, _) => strange = Some(table),
    });
    match strange {
        None => Ok((leaves, tables)),
        Some(table) => Err(PlanError::internal(format!(
            "attributes on the table at {table}"
        ))),
    }
}

fn verify_el2(
    system: &System,
    inputs: &Inputs,
    regions: &[Region],
    plan: &Plan,
    read: &impl Fn(Pa) -> u64,
) -> Result<(), PlanError> {
    let (leaves, tables) = contents(read, plan.tables.el2)?;
    check_el2_tables(plan, &tables)?;
    check_el2_exact(system, inputs, plan, &leaves)?;
    let text = inputs
        .monitor
        .parts
        .iter()
        .filter(|part| part.access == el2::Access::ReadExecute);
    let text = RegionSet::of(text.map(crate::MonitorPart::pages));
    for leaf in &leaves {
        let range = Range::sized(leaf.output.0, leaf.size);
        let access = el2::decode(leaf.attributes);
        let fits = match access {
            Some(el2::Access::ReadExecute) => text.contains(range),
            Some(el2::Access::Device) => regions
                .iter()
                .all(|region| is_device(region.purpose) || !region.range().overlaps(range)),
            Some(access) => !text.overlaps(range) && el2_may(regions, range, access),
            None => false,
        };
        if !fits || leaf.input != leaf.output.0 {
            return Err(PlanError::internal(format!(
                "EL2 maps {} with {access:?}",
                leaf.output
            )));
        }
    }
    Ok(())
}

fn check_el2_tables(plan: &Plan, tables: &[Pa]) -> Result<(), PlanError> {
    let packed = Range::sized(plan.tables.arena.base().0, plan.table_bytes.len() as u64);
    let outside = tables
        .iter()
        .find(|table| !packed.contains(Range::sized(table.0, PAGE)));
    match outside {
        None => Ok(()),
        Some(table) => Err(PlanError::internal(format!("EL2 table at {table}"))),
    }
}

/// The monitor finds just what it works with, with just those rights.
fn check_el2_exact(
    system: &System,
    inputs: &Inputs,
    plan: &Plan,
    leaves: &[Leaf],
) -> Result<(), PlanError> {
    for (access, expected) in el2_map::ranges(system, inputs, &plan.view, &plan.machine) {
        let with_access = leaves
            .iter()
            .filter(|leaf| el2::decode(leaf.attributes) == Some(access));
        let mapped = RegionSet::of(with_access.map(|leaf| Range::sized(leaf.input, leaf.size)));
        if mapped != expected {
            return Err(PlanError::internal(format!(
                "EL2 maps too much or too little {access:?}"
            )));
        }
    }
    Ok(())
}

/// Returns `true` if the monitor may map a range so; memory without an owner it may map as it likes.
fn el2_may(regions: &[Region], range: Range, access: el2::Access) -> bool {
    touched(regions, range)
        .iter()
        .all(|region| match region.purpose {
            Purpose::Config | Purpose::Images => access == el2::Access::ReadOnly,
            Purpose::Boot
            | Purpose::Channel(_)
            | Purpose::Trace(_)
            | Purpose::ComponentLog(_)
            | Purpose::Device(_)
            | Purpose::Bus(_)
            | Purpose::Confining
            | Purpose::Events => false,
            _ => true,
        })
}

const fn is_device(purpose: Purpose) -> bool {
    matches!(
        purpose,
        Purpose::Device(_) | Purpose::Bus(_) | Purpose::Confining
    )
}
