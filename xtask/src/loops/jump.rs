//! Targets of jumps through a register: tables that a compiler made of a `match`
//!
//! The target is a base plus an entry of a table, and both addresses stand in the instructions before
//! the jump. A table ends where another one begins, or an entry leaves the function or leads into the
//! middle of the jump itself, which no entry of the table does. A false entry beyond the end only adds
//! an edge, so no loop stays hidden.

use super::decode::{Flow, Register, flow, signed};
use super::image::Image;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Instructions before the jump among which its parts stand.
const REACH: u64 = 24;
/// From the base's instruction to the sum's, bytes, where they were made as one.
const TOGETHER: u64 = 8;
/// More cases than any `match` has.
const LARGEST: u64 = 4096;

/// Bytes of an entry, and by how much it is shifted to the left.
#[derive(Clone, Copy)]
enum Entry {
    Signed32,
    Unsigned16,
    Unsigned8,
}

/// Returns the start of each table, from the jumps of the whole executable.
pub(super) fn tables(image: &Image) -> BTreeSet<u64> {
    let jump = |at| match flow(image.word(at)?, at) {
        Flow::JumpTo(register) => Some(Parts::of(image, at, register)?.table),
        _ => None,
    };
    image.places().filter_map(jump).collect()
}

/// Targets of `br register` at an address; `None` where it is no table's.
pub(super) fn targets(
    image: &Image,
    tables: &BTreeSet<u64>,
    at: u64,
    register: Register,
) -> Option<Vec<u64>> {
    let parts = Parts::of(image, at, register)?;
    let found: Vec<u64> = (0..LARGEST)
        .map(|index| parts.table + parts.kind.bytes() * index)
        .take_while(|&entry| entry == parts.table || !tables.contains(&entry))
        .map_while(|entry| parts.kind.offset(image, entry))
        .map(|offset| parts.base.wrapping_add_signed(offset))
        .take_while(|&target| target % 4 == 0 && image.same_function(target, at))
        .take_while(|target| !parts.jump.contains(target))
        .collect();
    (!found.is_empty()).then_some(found)
}

/// Parts of a jump through a table.
struct Parts {
    table: u64,
    kind: Entry,
    base: u64,
    /// The instructions that were made as one: no case begins among them.
    jump: RangeInclusive<u64>,
}

impl Parts {
    fn of(image: &Image, at: u64, register: Register) -> Option<Self> {
        let back = Back { image, at };
        let (sum, at_sum) = back.find(at, |word| is_sum(word) && word & 31 == register)?;
        let sides = [sum >> 5 & 31, sum >> 16 & 31];
        let (base, at_base, loaded) = [(sides[0], sides[1]), (sides[1], sides[0])]
            .into_iter()
            .find_map(|(base, loaded)| {
                let (base, at_base) = back.address(at_sum, base)?;
                Some((base, at_base, loaded))
            })?;
        let loads = |word| Entry::of(word).is_some() && word & 31 == loaded;
        let (load, at_load) = back.find(at_sum, loads)?;
        let (table, _) = back.address(at_load, load >> 5 & 31)?;
        let is_adjacent = at_sum - at_base <= TOGETHER;
        Some(Self {
            table,
            kind: Entry::of(load)?,
            base,
            jump: if is_adjacent { at_base } else { at_sum }..=at_sum,
        })
    }
}

struct Back<'i> {
    image: &'i Image,
    at: u64,
}

impl Back<'_> {
    /// The last instruction before `end` that is like that, and where it is.
    fn find(&self, end: u64, like: impl Fn(u32) -> bool) -> Option<(u32, u64)> {
        let places = (1..=REACH)
            .map(|back| self.at.wrapping_sub(4 * back))
            .filter(|&at| at < end);
        places
            .filter_map(|at| Some((self.image.word(at)?, at)))
            .find(|&(word, _)| like(word))
    }

    /// The address that `adr`, or `adrp` and `add`, leave in a register before `end`, and where.
    fn address(&self, end: u64, register: Register) -> Option<(u64, u64)> {
        let defines = |word: u32| {
            word & 31 == register && (word & 0x1f00_0000 == 0x1000_0000 || is_offset(word))
        };
        let (word, at) = self.find(end, defines)?;
        if !is_offset(word) {
            return Some((page_or_place(word, at), at));
        }
        let source = word >> 5 & 31;
        let page = |word: u32| word & 0x9f00_001f == 0x9000_0000 | source;
        let (page, at_page) = self.find(at, page)?;
        let offset = u64::from(word >> 10 & 0xfff);
        Some((page_or_place(page, at_page) + offset, at))
    }
}

/// `add x, x, #number`.
fn is_offset(word: u32) -> bool {
    word & 0xffc0_0000 == 0x9100_0000
}

/// `add x, x, x`, perhaps shifted to the left by 2.
fn is_sum(word: u32) -> bool {
    matches!(word & 0xffe0_fc00, 0x8b00_0000 | 0x8b00_0800)
}

impl Entry {
    fn of(load: u32) -> Option<Self> {
        match load & 0xffe0_fc00 {
            0xb8a0_7800 | 0xb8a0_5800 => Some(Self::Signed32),
            0x7860_7800 | 0x7860_5800 => Some(Self::Unsigned16),
            0x3860_6800 | 0x3860_4800 | 0x3860_7800 => Some(Self::Unsigned8),
            _ => None,
        }
    }

    const fn bytes(self) -> u64 {
        match self {
            Self::Signed32 => 4,
            Self::Unsigned16 => 2,
            Self::Unsigned8 => 1,
        }
    }

    /// Bytes from the base to the target; narrow entries count instructions.
    fn offset(self, image: &Image, entry: u64) -> Option<i64> {
        Some(match self {
            Self::Signed32 => i64::from(i32::from_le_bytes(image.bytes(entry)?)),
            Self::Unsigned16 => 4 * i64::from(u16::from_le_bytes(image.bytes(entry)?)),
            Self::Unsigned8 => 4 * i64::from(u8::from_le_bytes(image.bytes(entry)?)),
        })
    }
}

/// Returns the result of `adr` or `adrp` at an address.
fn page_or_place(word: u32, at: u64) -> u64 {
    let offset = signed(word, 5, 19) << 2 | i64::from(word >> 29 & 0b11);
    if word >> 31 == 0 {
        at.wrapping_add_signed(offset)
    } else {
        (at & !0xfff).wrapping_add_signed(offset << 12)
    }
}
