//! Translation tables of components
//!
//! 4 KiB granule, 39 bits of user address: three levels of 512 entries (Arm ARM D8.3). Every entry
//! of a component is not global; EL1 never executes what EL0 maps, and reaches user memory only
//! through its own linear map.

use bulkhead_abi::kernel::Rights;

/// Bits of a user address.
pub const ADDRESS_BITS: u64 = 39;
/// First bit of the identity of the address space (ASID) in TTBR0_EL1.
const IDENTITY_SHIFT: u32 = 48;
const ADDRESS: u64 = ((1 << 48) - 1) & !(crate::frame::PAGE - 1);

const VALID: u64 = 1;
/// Mark of an invalid entry: hardware ignores all its bits but the lowest.
const RESTING: u64 = 1 << 1;
const RESTING_SHIFT: u32 = 8;
const TABLE_OR_PAGE: u64 = 1 << 1;
/// Attribute 1 of MAIR_EL1.
const DEVICE: u64 = 1 << 2;
const USER: u64 = 1 << 6;
const READ_ONLY: u64 = 1 << 7;
const INNER_SHAREABLE: u64 = 3 << 8;
const ACCESSED: u64 = 1 << 10;
const NOT_GLOBAL: u64 = 1 << 11;
const PRIVILEGED_NEVER_EXECUTES: u64 = 1 << 53;
const USER_NEVER_EXECUTES: u64 = 1 << 54;

/// Entry of level 1 or 2 that names the next table.
#[must_use]
pub const fn table(physical: u64) -> u64 {
    physical & ADDRESS | TABLE_OR_PAGE | VALID
}

/// Entry of level 3 that maps a page of memory, or of a device.
#[must_use]
pub const fn page(physical: u64, rights: Rights, device: bool) -> u64 {
    let kind = if device { DEVICE } else { 0 };
    let common = VALID | TABLE_OR_PAGE | USER | INNER_SHAREABLE | ACCESSED | NOT_GLOBAL;
    let rights = match rights {
        Rights::Read => READ_ONLY | USER_NEVER_EXECUTES,
        Rights::Write => USER_NEVER_EXECUTES,
        Rights::Execute => READ_ONLY,
    };
    physical & ADDRESS | kind | common | PRIVILEGED_NEVER_EXECUTES | rights
}

/// Rights in an entry of level 3.
#[must_use]
pub const fn rights(entry: u64) -> Rights {
    match (entry & READ_ONLY, entry & USER_NEVER_EXECUTES) {
        (0, _) => Rights::Write,
        (_, 0) => Rights::Execute,
        _ => Rights::Read,
    }
}

/// An invalid entry that was valid until `rest`: no table walk finds anything in it.
#[must_use]
pub const fn resting(rest: u64) -> u64 {
    rest << RESTING_SHIFT | RESTING
}

/// Since when an invalid entry rests, if it was ever valid.
#[must_use]
pub const fn rest(entry: u64) -> Option<u64> {
    if entry & (VALID | RESTING) == RESTING {
        Some(entry >> RESTING_SHIFT)
    } else {
        None
    }
}

/// Returns true if a table walk ends here without a translation.
#[must_use]
pub const fn is_invalid(entry: u64) -> bool {
    entry & VALID == 0
}

/// Physical address in an entry.
#[must_use]
pub const fn physical(entry: u64) -> u64 {
    entry & ADDRESS
}

/// `TTBR0_EL1` of an address space.
#[must_use]
pub const fn space(root_physical: u64, identity: u64) -> u64 {
    root_physical & ADDRESS | identity << IDENTITY_SHIFT
}

/// Its identity.
#[must_use]
pub const fn identity(space: u64) -> u64 {
    space >> IDENTITY_SHIFT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_those_of_the_manual() {
        assert_eq!(
            page(0x4000_1000, Rights::Execute, false),
            0x0020_0000_4000_1fc3
        );
        assert_eq!(
            page(0x4000_1000, Rights::Write, false),
            0x0060_0000_4000_1f43
        );
        assert_eq!(
            page(0x4000_1000, Rights::Read, false),
            0x0060_0000_4000_1fc3
        );
        assert_eq!(table(0x4000_3000), 0x4000_3003);
        assert_eq!(
            physical(page(0x12_3456_7000, Rights::Write, true)),
            0x12_3456_7000
        );
        assert_eq!(identity(space(0x4000_2000, 7)), 7);
    }

    #[test]
    fn nothing_is_writable_and_executable() {
        for &rights in Rights::ALL {
            let entry = page(0, rights, false);
            let writable = entry & READ_ONLY == 0;
            let executable = entry & USER_NEVER_EXECUTES == 0;
            assert!(!(writable && executable));
            assert_ne!(entry & PRIVILEGED_NEVER_EXECUTES, 0);
        }
    }
}
