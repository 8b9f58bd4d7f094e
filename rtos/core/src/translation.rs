//! Stage-1 descriptors of the EL1&0 regime
//!
//! 4 KiB granule, 32-bit virtual addresses (T0SZ = 32, start at level 1: four entries), Arm ARM
//! D8.3. Identity mapping, write or execute but never both, nothing executable at EL0.

/// Bytes of a page.
pub const PAGE: u64 = 4096;
/// Bytes of a level-2 block.
pub const BLOCK: u64 = 2 << 20;
/// Bytes of a level-1 block.
pub const GIGABYTE: u64 = 1 << 30;
/// Entries of a table.
pub const ENTRIES: usize = 512;
/// End of what T0SZ = 32 can address.
pub const LIMIT: u64 = 1 << 32;

/// MAIR_EL1: 0 = normal write-back read/write-allocate, 1 = device nGnRE.
pub const MAIR: u64 = 0x04ff;
/// TCR_EL1: T0SZ = 32, inner and outer write-back, inner shareable, no TTBR1, 40-bit output.
pub const TCR: u64 = 32 | 1 << 8 | 1 << 10 | 3 << 12 | 1 << 23 | 2 << 32;

/// Purpose of a memory region, which gives its permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Instructions: executable, read-only.
    Text,
    /// Constants.
    ReadOnly,
    /// Everything written, shared pages too.
    Data,
    /// Registers of a device.
    Device,
}

const VALID: u64 = 1;
const TABLE_OR_PAGE: u64 = 1 << 1;
const DEVICE_INDEX: u64 = 1 << 2;
const READ_ONLY: u64 = 2 << 6;
const INNER_SHAREABLE: u64 = 3 << 8;
const ACCESSED: u64 = 1 << 10;
const NOT_GLOBAL: u64 = 1 << 11;
const PRIVILEGED_NEVER_EXECUTES: u64 = 1 << 53;
const USER_NEVER_EXECUTES: u64 = 1 << 54;

const fn attributes(purpose: Use) -> u64 {
    let common = VALID | INNER_SHAREABLE | ACCESSED | NOT_GLOBAL | USER_NEVER_EXECUTES;
    common
        | match purpose {
            Use::Text => READ_ONLY,
            Use::ReadOnly => READ_ONLY | PRIVILEGED_NEVER_EXECUTES,
            Use::Data => PRIVILEGED_NEVER_EXECUTES,
            Use::Device => DEVICE_INDEX | PRIVILEGED_NEVER_EXECUTES,
        }
}

/// Level-3 entry that maps the page at `address`.
#[must_use]
pub const fn page(address: u64, purpose: Use) -> u64 {
    address & !(PAGE - 1) | attributes(purpose) | TABLE_OR_PAGE
}

/// Level-1 or level-2 entry that maps the block at `address`.
#[must_use]
pub const fn block(address: u64, purpose: Use) -> u64 {
    address & !(BLOCK - 1) | attributes(purpose)
}

/// Entry that names the next table.
#[must_use]
pub const fn table(address: u64) -> u64 {
    address & !(PAGE - 1) | VALID | TABLE_OR_PAGE
}

/// The one entry under which an image runs until it has tables of its own: a gigabyte, cacheable,
/// writable and executable.
#[must_use]
pub const fn boot_block(address: u64) -> u64 {
    address & !(GIGABYTE - 1) | attributes(Use::Data) & !PRIVILEGED_NEVER_EXECUTES
}

/// Indices at levels 1, 2 and 3 of an address below [`LIMIT`].
#[must_use]
pub const fn indices(address: u64) -> [usize; 3] {
    [
        (address >> 30) as usize & 3,
        (address >> 21) as usize & 511,
        (address >> 12) as usize & 511,
    ]
}

#[cfg(test)]
mod tests {
    use super::{Use, attributes, block, boot_block, indices, page, table};

    #[test]
    fn write_and_execute_exclude_each_other() {
        for purpose in [Use::Text, Use::ReadOnly, Use::Data, Use::Device] {
            let bits = attributes(purpose);
            let writable = bits & 1 << 7 == 0;
            let executable = bits & 1 << 53 == 0;
            assert!(!(writable && executable), "{purpose:?}");
            assert!(bits & 1 << 54 != 0, "nothing runs at EL0");
        }
    }

    #[test]
    fn descriptors_are_those_of_the_manual() {
        assert_eq!(page(0x4000_1234, Use::Text), 0x0040_0000_4000_1f83);
        assert_eq!(page(0x4000_2000, Use::Data), 0x0060_0000_4000_2f03);
        assert_eq!(block(0x0800_0000, Use::Device), 0x0060_0000_0800_0f05);
        assert_eq!(table(0x4000_3000), 0x4000_3003);
        assert_eq!(boot_block(0x4001_0000), 0x0040_0000_4000_0f01);
        assert_eq!(indices(0x0c20_3000), [0, 97, 3]);
        assert_eq!(indices(0x4000_0000), [1, 0, 0]);
    }
}
