//! Attributes of stage-2 leaves
//!
//! Arm ARM D8.6 (stage 2 memory attributes) and D8.4 (stage 2 permissions), without FEAT_S2FWB
//! and FEAT_XNX, which the smallest supported core lacks.

use crate::tables::Walk;

/// `VTCR_EL2`: 4 KiB granule, inner-shareable write-back walks, output addresses of that size
/// code, of which this granule uses at most 48 bits (Arm ARM D19.2.160).
#[must_use]
pub const fn vtcr(walk: Walk, physical_range: u64) -> u64 {
    const RES1: u64 = 1 << 31;
    const WALKS_CACHED: u64 = 3 << 12 | 1 << 10 | 1 << 8;
    let start = 2 - walk.first_level as u64;
    let size = 64 - walk.input_bits as u64;
    RES1 | crate::tables::output_size(physical_range) << 16 | WALKS_CACHED | start << 6 | size
}

/// Rights of a guest to a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Device memory (nGnRE), else normal write-back memory.
    pub device: bool,
    /// True if it may write; reading is always allowed.
    pub write: bool,
    /// True if it may execute.
    pub execute: bool,
}

impl Access {
    /// A guest's own memory.
    pub const MEMORY: Self = Self {
        device: false,
        write: true,
        execute: true,
    };
    /// Shared memory of which it is a writer.
    pub const SHARED: Self = Self {
        device: false,
        write: true,
        execute: false,
    };
    /// Shared memory that it only reads.
    pub const READ_ONLY: Self = Self {
        device: false,
        write: false,
        execute: false,
    };
    /// A device.
    pub const DEVICE: Self = Self {
        device: true,
        write: true,
        execute: false,
    };
}

const MEM_ATTR_SHIFT: u32 = 2;
const NORMAL_WRITE_BACK: u64 = 0b1111;
const DEVICE_NGNRE: u64 = 0b0001;
const READ: u64 = 1 << 6;
const WRITE: u64 = 1 << 7;
const INNER_SHAREABLE: u64 = 3 << 8;
const ACCESS_FLAG: u64 = 1 << 10;
const EXECUTE_NEVER: u64 = 1 << 54;

/// Attribute bits of a leaf.
#[must_use]
pub const fn attributes(access: Access) -> u64 {
    let memory = if access.device {
        DEVICE_NGNRE
    } else {
        NORMAL_WRITE_BACK
    };
    let write = if access.write { WRITE } else { 0 };
    let never = if access.execute { 0 } else { EXECUTE_NEVER };
    memory << MEM_ATTR_SHIFT | READ | write | INNER_SHAREABLE | ACCESS_FLAG | never
}

/// Decodes attribute bits; `None` if [`attributes`] never encodes them.
#[must_use]
pub fn decode(bits: u64) -> Option<Access> {
    let access = Access {
        device: bits >> MEM_ATTR_SHIFT & 0b1111 == DEVICE_NGNRE,
        write: bits & WRITE != 0,
        execute: bits & EXECUTE_NEVER == 0,
    };
    (attributes(access) == bits).then_some(access)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_those_of_the_manual() {
        assert_eq!(attributes(Access::MEMORY), 0x7FC);
        assert_eq!(attributes(Access::READ_ONLY), 0x0040_0000_0000_077C);
        assert_eq!(attributes(Access::DEVICE), 0x0040_0000_0000_07C4);
    }

    #[test]
    fn control_registers_are_those_of_the_manual() {
        assert_eq!(vtcr(Walk::stage2(40), 2), 0x8002_3558);
        assert_eq!(vtcr(Walk::stage2(39), 2), 0x8002_3559);
        assert_eq!(vtcr(Walk::stage2(48), 6), 0x8005_3590);
    }

    #[test]
    fn decoding_reverses_encoding_and_refuses_the_rest() {
        for access in [
            Access::MEMORY,
            Access::SHARED,
            Access::READ_ONLY,
            Access::DEVICE,
        ] {
            assert_eq!(decode(attributes(access)), Some(access));
            assert_eq!(decode(attributes(access) ^ ACCESS_FLAG), None);
        }
    }
}
