//! Translation tables: build, walk, visit
//!
//! VMSAv8-64 with the 4 KiB granule, walks that start at level 0 or 1 (Arm ARM D8.2–D8.3). A
//! stage-2 root at level 1 with more than 39 input bits is several concatenated tables. What an
//! entry's attribute bits mean is the business of [`crate::stage2`] and [`crate::el2`]; here they
//! are bits to be put and found.

use crate::address::{BLOCK_1G, BLOCK_2M, PAGE, Pa};

/// Entries of a table.
pub const ENTRIES: u64 = 512;

const VALID: u64 = 1;
/// Bit 1: a table at levels 1 and 2, a page at level 3.
const TABLE_OR_PAGE: u64 = 1 << 1;
/// Bits 47:12, the output address.
const ADDRESS: u64 = 0x0000_FFFF_FFFF_F000;

/// The memory that tables are built in.
pub trait TableMemory {
    /// The entry at that physical address.
    fn entry(&self, at: Pa) -> u64;
    /// Changes the entry at that physical address.
    fn set_entry(&mut self, at: Pa, value: u64);
    /// A zeroed page for a further table; `None` when there is no more.
    fn new_table(&mut self) -> Option<Pa>;
}

/// Shape of a translation: input bits, and the level at which a walk starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Bits of an input address: 31 to 48.
    pub input_bits: u32,
    /// 0 or 1.
    pub first_level: u32,
}

impl Walk {
    /// Input bits of one table at level 1.
    pub const ONE_TABLE: u32 = 39;
    /// Input bits of sixteen concatenated tables at level 1, the most that stage 2 allows.
    const CONCATENATED: u32 = 43;

    /// A stage-1 walk: its root is one table (Arm ARM D8.2.6).
    #[must_use]
    pub const fn stage1(input_bits: u32) -> Self {
        Self {
            input_bits,
            first_level: (input_bits <= Self::ONE_TABLE) as u32,
        }
    }

    /// A stage-2 walk, which starts at level 1 wherever concatenation allows it (Arm ARM D8.2.7).
    #[must_use]
    pub const fn stage2(input_bits: u32) -> Self {
        Self {
            input_bits,
            first_level: (input_bits <= Self::CONCATENATED) as u32,
        }
    }

    /// Number of root entries in use.
    #[must_use]
    pub const fn entries(self) -> u64 {
        (1 << self.input_bits) / span(self.first_level)
    }

    /// Bytes of the root.
    #[must_use]
    pub const fn root_size(self) -> u64 {
        let size = self.entries() * 8;
        if size > PAGE { size } else { PAGE }
    }
}

/// The root of a translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// Its address, aligned to its size.
    pub pa: Pa,
    /// Shape of the translation.
    pub walk: Walk,
}

impl Root {
    const fn limit(self) -> u64 {
        1 << self.walk.input_bits
    }

    /// Address of the entry for `input` in the table of `level`.
    const fn entry_at(self, table: Pa, level: u32, input: u64) -> Pa {
        let index = input / span(level);
        let is_root = level == self.walk.first_level;
        table.plus(if is_root { index } else { index % ENTRIES } * 8)
    }
}

/// Code of the output size that tables of this granule have on a core with physical addresses
/// of that code.
pub(crate) const fn output_size(physical_range: u64) -> u64 {
    const BITS_48: u64 = 5;
    if physical_range > BITS_48 {
        BITS_48
    } else {
        physical_range
    }
}

/// A range to be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First input address.
    pub input: u64,
    /// First output address.
    pub output: Pa,
    /// Bytes.
    pub size: u64,
    /// Attribute bits of each leaf.
    pub attributes: u64,
}

/// A leaf as found in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// First input address it translates.
    pub input: u64,
    /// First output address.
    pub output: Pa,
    /// Bytes it covers: a page or a block.
    pub size: u64,
    /// Its attribute bits.
    pub attributes: u64,
}

/// Why a range was not mapped. What was mapped before the failure stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapError {
    /// An address or the size is no multiple of the page size.
    Unaligned,
    /// The range leaves the input or the output address space.
    OutOfRange,
    /// Something is mapped at this input address already.
    Overlap(u64),
    /// The memory for tables is used up.
    OutOfTables,
    /// The tables of a prepared range do not follow each other.
    Scattered,
}

/// Bytes that an entry of `level` covers.
const fn span(level: u32) -> u64 {
    match level {
        0 => ENTRIES * BLOCK_1G,
        1 => BLOCK_1G,
        2 => BLOCK_2M,
        _ => PAGE,
    }
}

const fn leaf_type(level: u32) -> u64 {
    if level == 3 {
        VALID | TABLE_OR_PAGE
    } else {
        VALID
    }
}

/// The value of a level-3 entry.
#[must_use]
pub const fn page_entry(output: Pa, attributes: u64) -> u64 {
    (output.0 & ADDRESS) | attributes | VALID | TABLE_OR_PAGE
}

/// Output address and attributes of a level-3 entry.
#[must_use]
pub const fn decode_page(entry: u64) -> (Pa, u64) {
    (Pa(entry & ADDRESS), attributes_of(entry, PAGE))
}

/// All but address and type; address bits below a block's size count as attributes, which no
/// encoder makes.
const fn attributes_of(entry: u64, size: u64) -> u64 {
    entry & !(ADDRESS & !(size - 1)) & !(VALID | TABLE_OR_PAGE)
}

fn check(root: Root, mapping: &Mapping) -> Result<(), MapError> {
    let aligned = (mapping.input | mapping.output.0 | mapping.size).is_multiple_of(PAGE);
    if !aligned {
        return Err(MapError::Unaligned);
    }
    let input_end = mapping
        .input
        .checked_add(mapping.size)
        .ok_or(MapError::OutOfRange)?;
    let output_end = mapping
        .output
        .0
        .checked_add(mapping.size)
        .ok_or(MapError::OutOfRange)?;
    if input_end > root.limit() || output_end > 1 << 48 {
        return Err(MapError::OutOfRange);
    }
    Ok(())
}

/// The lowest level, counted as in the manual, with a block that fits at the start of the rest.
fn level_for(input: u64, output: Pa, rest: u64) -> u32 {
    let fits = |level: u32| (input | output.0).is_multiple_of(span(level)) && rest >= span(level);
    if fits(1) {
        1
    } else if fits(2) {
        2
    } else {
        3
    }
}

/// The table of `level` that translates `input`; missing ones are added.
fn table_of(
    memory: &mut impl TableMemory,
    root: Root,
    input: u64,
    level: u32,
) -> Result<Pa, MapError> {
    let mut table = root.pa;
    for above in root.walk.first_level..level {
        let at = root.entry_at(table, above, input);
        let entry = memory.entry(at);
        table = if entry & VALID == 0 {
            let new = memory.new_table().ok_or(MapError::OutOfTables)?;
            memory.set_entry(at, new.0 | VALID | TABLE_OR_PAGE);
            new
        } else if entry & TABLE_OR_PAGE != 0 {
            Pa(entry & ADDRESS)
        } else {
            return Err(MapError::Overlap(input));
        };
    }
    Ok(table)
}

/// Maps a range with the largest blocks that fit.
///
/// # Errors
/// See [`MapError`].
pub fn map(memory: &mut impl TableMemory, root: Root, mapping: &Mapping) -> Result<(), MapError> {
    check(root, mapping)?;
    let mut done = 0;
    while done < mapping.size {
        let (input, output) = (mapping.input + done, mapping.output.plus(done));
        let level = level_for(input, output, mapping.size - done);
        let at = root.entry_at(table_of(memory, root, input, level)?, level, input);
        if memory.entry(at) != 0 {
            return Err(MapError::Overlap(input));
        }
        memory.set_entry(at, output.0 | mapping.attributes | leaf_type(level));
        done += span(level);
    }
    Ok(())
}

/// Adds the tables for a range that is mapped later, page by page, and answers where its first
/// level-3 entry lies; the others follow it.
///
/// # Errors
/// See [`MapError`]; [`MapError::Overlap`] where an entry of the range is in use.
pub fn prepare(
    memory: &mut impl TableMemory,
    root: Root,
    input: u64,
    size: u64,
) -> Result<Pa, MapError> {
    check(
        root,
        &Mapping {
            input,
            output: Pa(0),
            size,
            attributes: 0,
        },
    )?;
    let first = root.entry_at(table_of(memory, root, input, 3)?, 3, input);
    for page in 0..size / PAGE {
        let at = root.entry_at(
            table_of(memory, root, input + page * PAGE, 3)?,
            3,
            input + page * PAGE,
        );
        if at != first.plus(page * 8) {
            return Err(MapError::Scattered);
        }
        if memory.entry(at) != 0 {
            return Err(MapError::Overlap(input + page * PAGE));
        }
    }
    Ok(first)
}

/// Finds the leaf that translates `input`, as the hardware would; `None` = a translation fault.
pub fn walk(entry: impl Fn(Pa) -> u64, root: Root, input: u64) -> Option<Leaf> {
    if input >= root.limit() {
        return None;
    }
    let mut table = root.pa;
    for level in root.walk.first_level..=3 {
        let value = entry(root.entry_at(table, level, input));
        if let Some(leaf) = leaf_of(value, level, input) {
            return Some(leaf);
        }
        table = next_table(value, level)?;
    }
    None
}

/// The leaf that `value` is at `level`; `None` where it is a table, or invalid.
fn leaf_of(value: u64, level: u32, input: u64) -> Option<Leaf> {
    let kind = value & (VALID | TABLE_OR_PAGE);
    let size = span(level);
    // Level 0 has no blocks with this granule.
    (level > 0 && kind == leaf_type(level)).then_some(Leaf {
        input: input & !(size - 1),
        output: Pa(value & ADDRESS & !(size - 1)),
        size,
        attributes: attributes_of(value, size),
    })
}

fn next_table(value: u64, level: u32) -> Option<Pa> {
    let table = VALID | TABLE_OR_PAGE;
    (level < 3 && value & table == table).then_some(Pa(value & ADDRESS))
}

/// An entry in a set of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visited {
    /// A leaf.
    Leaf(Leaf),
    /// A table below the root: where it lies, and attribute bits of the entry that names it.
    Table(Pa, u64),
}

/// Shows every leaf, and every table below the root, in the order of input addresses.
pub fn visit(entry: &impl Fn(Pa) -> u64, root: Root, see: &mut impl FnMut(Visited)) {
    visit_table(
        entry,
        (root.pa, root.walk.entries()),
        root.walk.first_level,
        0,
        see,
    );
}

fn visit_table(
    entry: &impl Fn(Pa) -> u64,
    (table, entries): (Pa, u64),
    level: u32,
    base: u64,
    see: &mut impl FnMut(Visited),
) {
    for index in 0..entries {
        let value = entry(table.plus(index * 8));
        let input = base + index * span(level);
        if let Some(leaf) = leaf_of(value, level, input) {
            see(Visited::Leaf(leaf));
        } else if let Some(next) = next_table(value, level) {
            see(Visited::Table(next, attributes_of(value, PAGE)));
            visit_table(entry, (next, ENTRIES), level + 1, input, see);
        }
    }
}
