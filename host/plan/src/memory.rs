//! Assignment of physical memory to partitions
//!
//! Lowest fit in a fixed order, so that the same description always gets the same addresses.

use bulkhead_formats::address::{BLOCK_1G, BLOCK_2M, PAGE, Pa};
use bulkhead_formats::region::{Range, RegionSet};
use bulkhead_model::board::{Board, MemoryRange};

use crate::error::PlanError;
use crate::purpose::Purpose;

/// Machine memory grows in steps.
const MACHINE_STEP: u64 = 64 << 20;

/// A range that has been given away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First address.
    pub pa: Pa,
    /// Bytes.
    pub size: u64,
    /// Purpose.
    pub purpose: Purpose,
}

impl Region {
    /// The addresses.
    #[must_use]
    pub const fn range(&self) -> Range {
        Range::sized(self.pa.0, self.size)
    }
}

/// Page colours: page `n` of physical memory has colour `n % count`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Colours {
    /// Colours the cache has.
    pub count: u32,
    /// Pages that may be used.
    pub allowed: Vec<u32>,
}

impl Colours {
    /// Returns `true` if the page at `pa` has an allowed colour.
    #[must_use]
    pub fn allow(&self, pa: Pa) -> bool {
        self.allowed
            .contains(&((pa.0 / PAGE % u64::from(self.count.max(1))) as u32))
    }
}

/// The memory of the machine while it is being given away.
#[derive(Clone, Debug)]
pub struct PhysicalMemory {
    ranges: Vec<MemoryRange>,
    free: RegionSet,
    regions: Vec<Region>,
}

/// Alignment at which the largest blocks can map so many bytes.
#[must_use]
pub const fn block_alignment(size: u64) -> u64 {
    if size >= BLOCK_1G {
        BLOCK_1G
    } else if size >= BLOCK_2M {
        BLOCK_2M
    } else {
        PAGE
    }
}

impl PhysicalMemory {
    /// All of a board's memory, from the place of the boot image on.
    #[must_use]
    pub fn of(board: &Board) -> Self {
        let above = |range: &MemoryRange| Range {
            start: range.base.max(board.load),
            end: range.end(),
        };
        let ranges = board.memory.iter().map(above);
        Self {
            ranges: board.memory.clone(),
            free: RegionSet::of(ranges.filter(|range| range.start < range.end)),
            regions: Vec::new(),
        }
    }

    /// Gives away the lowest fitting range.
    ///
    /// # Errors
    /// No such range is left.
    pub fn take(&mut self, size: u64, alignment: u64, purpose: Purpose) -> Result<Pa, PlanError> {
        let pa = self.free.first_fit(size, alignment).ok_or_else(used_up)?;
        self.give(Range::sized(pa, size), purpose);
        Ok(Pa(pa))
    }

    /// Gives away the lowest pages of allowed colours.
    ///
    /// # Errors
    /// So many are not left.
    pub fn take_coloured(
        &mut self,
        size: u64,
        colours: &Colours,
        purpose: Purpose,
    ) -> Result<Vec<Range>, PlanError> {
        let pages = self.free.iter().flat_map(|range| {
            let first = range.start.next_multiple_of(PAGE);
            (first..range.end.saturating_sub(PAGE - 1)).step_by(PAGE as usize)
        });
        let count = (size / PAGE) as usize;
        let chosen: Vec<u64> = pages
            .filter(|&pa| colours.allow(Pa(pa)))
            .take(count)
            .collect();
        if chosen.len() < count {
            return Err(used_up());
        }
        let ranges: Vec<Range> = RegionSet::of(chosen.into_iter().map(|pa| Range::sized(pa, PAGE)))
            .iter()
            .collect();
        ranges.iter().for_each(|&range| self.give(range, purpose));
        Ok(ranges)
    }

    fn give(&mut self, range: Range, purpose: Purpose) {
        self.free.remove(range);
        self.regions.push(Region {
            pa: Pa(range.start),
            size: range.size(),
            purpose,
        });
    }

    /// Allocations, in their order.
    #[must_use]
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// Bytes the machine needs: all RAM up to the highest address given away.
    #[must_use]
    pub fn machine_size(&self, default: u64) -> u64 {
        let ends = self.regions.iter().map(|region| region.range().end);
        let top = ends.max().unwrap_or(0);
        let below = |range: &MemoryRange| top.saturating_sub(range.base).min(range.size);
        let needed: u64 = self.ranges.iter().map(below).sum();
        let all = self.ranges.iter().map(|range| range.size).sum();
        default.max(needed.next_multiple_of(MACHINE_STEP).min(all))
    }
}

fn used_up() -> PlanError {
    let help = "give partitions less memory, or coloured ones more colours";
    PlanError::new(
        "memory-used-up",
        "the partitions need more memory than there can be".into(),
        help,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> PhysicalMemory {
        let free = RegionSet::of([Range {
            start: 0x4020_0000,
            end: 1 << 40,
        }]);
        PhysicalMemory {
            ranges: vec![MemoryRange {
                base: 0x4000_0000,
                size: (1 << 40) - 0x4000_0000,
            }],
            free,
            regions: Vec::new(),
        }
    }

    #[test]
    fn ranges_are_lowest_and_disjoint() {
        let mut memory = memory();
        let small = memory.take(0x3000, PAGE, Purpose::Boot).expect("room");
        let large = memory
            .take(4 << 30, BLOCK_1G, Purpose::Config)
            .expect("room");
        let next = memory.take(0x1000, PAGE, Purpose::Images).expect("room");
        assert_eq!(
            (small, large, next),
            (Pa(0x4020_0000), Pa(0x8000_0000), Pa(0x4020_3000))
        );
        assert_eq!(memory.machine_size(1 << 30), 5 << 30);
    }

    #[test]
    fn coloured_pages_have_allowed_colours_only() {
        let mut memory = memory();
        let colours = Colours {
            count: 16,
            allowed: vec![3, 4, 9],
        };
        let ranges = memory
            .take_coloured(0x8000, &colours, Purpose::Boot)
            .expect("room");
        assert_eq!(ranges.iter().map(|range| range.size()).sum::<u64>(), 0x8000);
        assert_eq!(
            ranges[0],
            Range::sized(0x4020_3000, 0x2000),
            "neighbours are merged"
        );
        for range in ranges {
            assert!(
                (range.start..range.end)
                    .step_by(4096)
                    .all(|pa| colours.allow(Pa(pa)))
            );
        }
    }

    #[test]
    fn memory_above_a_gap_counts_from_the_end_of_the_range_below() {
        let ranges = vec![
            MemoryRange {
                base: 0,
                size: 2 << 30,
            },
            MemoryRange {
                base: 1 << 40,
                size: 8 << 30,
            },
        ];
        let free = ranges
            .iter()
            .map(|range| Range::sized(range.base, range.size));
        let mut memory = PhysicalMemory {
            free: RegionSet::of(free),
            ranges,
            regions: Vec::new(),
        };
        assert_eq!(memory.take(1 << 30, PAGE, Purpose::Boot), Ok(Pa(0)));
        let high = memory.take(2 << 30, PAGE, Purpose::Images);
        assert_eq!(high, Ok(Pa(1 << 40)), "no region reaches over a gap");
        assert_eq!(memory.machine_size(1 << 30), 4 << 30);
    }

    #[test]
    fn too_much_is_refused() {
        let error = memory()
            .take(1 << 40, PAGE, Purpose::Boot)
            .expect_err("no room");
        assert_eq!(error.id, "memory-used-up");
    }
}
