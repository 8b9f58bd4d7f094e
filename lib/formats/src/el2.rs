//! Attributes of leaves in the monitor's own tables
//!
//! Stage 1 of the EL2 regime (Arm ARM D8.4, D8.5): AP\[1\] is RES1, there is one execute-never bit.
//! The attribute indices are those of `MAIR_EL2` in the boot interface: 0 is normal write-back
//! memory, 1 device nGnRE.

use crate::tables::Walk;

/// `TCR_EL2`: 4 KiB granule, inner-shareable write-back walks, output addresses of that size code
/// (Arm ARM D19.2.140).
#[must_use]
pub const fn tcr(walk: Walk, physical_range: u64) -> u64 {
    const RES1: u64 = 1 << 31 | 1 << 23;
    const WALKS_CACHED: u64 = 3 << 12 | 1 << 10 | 1 << 8;
    let size = 64 - walk.input_bits as u64;
    RES1 | crate::tables::output_size(physical_range) << 16 | WALKS_CACHED | size
}

/// Rights of the monitor to a range; write and execute at once cannot be expressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Text.
    ReadExecute,
    /// Constants.
    ReadOnly,
    /// Data, and the memory of partitions.
    ReadWrite,
    /// Device registers.
    Device,
}

const DEVICE_INDEX: u64 = 1 << 2;
const AP_RES1: u64 = 1 << 6;
const READ_ONLY: u64 = 1 << 7;
const INNER_SHAREABLE: u64 = 3 << 8;
const ACCESS_FLAG: u64 = 1 << 10;
const EXECUTE_NEVER: u64 = 1 << 54;

/// Attribute bits of a leaf.
#[must_use]
pub const fn attributes(access: Access) -> u64 {
    let common = AP_RES1 | INNER_SHAREABLE | ACCESS_FLAG;
    common
        | match access {
            Access::ReadExecute => READ_ONLY,
            Access::ReadOnly => READ_ONLY | EXECUTE_NEVER,
            Access::ReadWrite => EXECUTE_NEVER,
            Access::Device => DEVICE_INDEX | EXECUTE_NEVER,
        }
}

/// Decodes attribute bits; `None` if [`attributes`] never encodes them.
#[must_use]
pub fn decode(bits: u64) -> Option<Access> {
    [
        Access::ReadExecute,
        Access::ReadOnly,
        Access::ReadWrite,
        Access::Device,
    ]
    .into_iter()
    .find(|&access| attributes(access) == bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_those_of_the_manual() {
        assert_eq!(attributes(Access::ReadExecute), 0x7C0);
        assert_eq!(attributes(Access::ReadWrite), 0x0040_0000_0000_0740);
        assert_eq!(attributes(Access::Device), 0x0040_0000_0000_0744);
    }

    #[test]
    fn control_registers_are_those_of_the_manual() {
        assert_eq!(tcr(Walk::stage1(39), 2), 0x8082_3519);
        assert_eq!(tcr(Walk::stage1(41), 5), 0x8085_3517);
    }

    #[test]
    fn nothing_writable_is_executable() {
        let writable_and_executable = attributes(Access::ReadExecute) & !READ_ONLY;
        assert_eq!(decode(writable_and_executable), None);
    }
}
