//! Sets of address ranges

use alloc::collections::BTreeMap;

/// A half-open range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Range {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
}

impl Range {
    /// The range of `size` bytes from `start`.
    #[must_use]
    pub const fn sized(start: u64, size: u64) -> Self {
        Self {
            start,
            end: start.saturating_add(size),
        }
    }

    /// Bytes.
    #[must_use]
    pub const fn size(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Returns whether the two share an address.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Returns whether all of `other` lies in it.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// A set of addresses, kept as disjoint ranges that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionSet {
    /// End by start.
    ranges: BTreeMap<u64, u64>,
}

impl RegionSet {
    /// The set of these ranges, which may overlap.
    pub fn of(ranges: impl IntoIterator<Item = Range>) -> Self {
        let mut set = Self::default();
        ranges.into_iter().for_each(|range| set.insert(range));
        set
    }

    /// Adds a range; what is in the set already stays.
    pub fn insert(&mut self, range: Range) {
        if range.start >= range.end {
            return;
        }
        let (mut start, mut end) = (range.start, range.end);
        while let Some((&other_start, &other_end)) = self.ranges.range(..=end).next_back() {
            if other_end < start {
                break;
            }
            start = start.min(other_start);
            end = end.max(other_end);
            self.ranges.remove(&other_start);
        }
        self.ranges.insert(start, end);
    }

    /// Takes a range out; what is not in the set does not matter.
    pub fn remove(&mut self, range: Range) {
        if range.start >= range.end {
            return;
        }
        while let Some((&start, &end)) = self.ranges.range(..range.end).next_back() {
            if end <= range.start {
                break;
            }
            self.ranges.remove(&start);
            if start < range.start {
                self.ranges.insert(start, range.start);
            }
            if range.end < end {
                self.ranges.insert(range.end, end);
            }
        }
    }

    /// Returns whether the whole range is in the set.
    #[must_use]
    pub fn contains(&self, range: Range) -> bool {
        let below = self.ranges.range(..=range.start).next_back();
        below.is_some_and(|(_, &end)| range.end <= end)
    }

    /// Returns whether any address of the range is in the set.
    #[must_use]
    pub fn overlaps(&self, range: Range) -> bool {
        let below = self.ranges.range(..range.end).next_back();
        range.start < range.end && below.is_some_and(|(_, &end)| range.start < end)
    }

    /// The ranges, ascending; no two touch.
    pub fn iter(&self) -> impl Iterator<Item = Range> + '_ {
        self.ranges
            .iter()
            .map(|(&start, &end)| Range { start, end })
    }

    /// The lowest start, a multiple of `alignment` (a power of two), of `size` bytes in the set.
    #[must_use]
    pub fn first_fit(&self, size: u64, alignment: u64) -> Option<u64> {
        self.iter().find_map(|range| {
            let start = crate::address::align_up(range.start, alignment)?;
            (start.checked_add(size)? <= range.end).then_some(start)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// A set as one bit per address, to compare with.
    fn bits(operations: &[(bool, u64, u64)]) -> u128 {
        operations.iter().fold(0, |bits, &(insert, start, size)| {
            let mask = (0..size).fold(0, |mask, i| mask | 1u128 << (start + i));
            if insert { bits | mask } else { bits & !mask }
        })
    }

    proptest! {
        #[test]
        fn behaves_as_a_set_of_addresses(
            operations in prop::collection::vec((any::<bool>(), 0u64..100, 0u64..20), 0..30),
            (start, size) in (0u64..100, 1u64..20),
        ) {
            let mut set = RegionSet::default();
            for &(insert, start, size) in &operations {
                let range = Range::sized(start, size);
                if insert { set.insert(range) } else { set.remove(range) }
            }
            let expected = bits(&operations);
            let asked = bits(&[(true, start, size)]);
            prop_assert_eq!(set.contains(Range::sized(start, size)), expected & asked == asked);
            prop_assert_eq!(set.overlaps(Range::sized(start, size)), expected & asked != 0);
            let ranges: Vec<Range> = set.iter().collect();
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
            let all = ranges.iter().fold(0, |b, r| b | bits(&[(true, r.start, r.size())]));
            prop_assert_eq!(all, expected);
        }

        #[test]
        fn first_fit_is_the_lowest(
            ranges in prop::collection::vec((0u64..100, 1u64..20), 0..10),
            size in 1u64..16,
            shift in 0u32..4,
        ) {
            let set = RegionSet::of(ranges.iter().map(|&(start, size)| Range::sized(start, size)));
            let fits = |start: &u64| set.contains(Range::sized(*start, size));
            let expected = (0..128).step_by(1 << shift).find(fits);
            prop_assert_eq!(set.first_fit(size, 1 << shift), expected);
        }
    }
}
