//! Addresses that must not be confused

use core::fmt;

/// Bytes of a page, the translation granule.
pub const PAGE: u64 = 4096;
/// Bytes of a level-2 block.
pub const BLOCK_2M: u64 = 2 << 20;
/// Bytes of a level-1 block.
pub const BLOCK_1G: u64 = 1 << 30;

/// Sizes of physical addresses in bits, by their code in `ID_AA64MMFR0_EL1.PARange` and in the `PS`
/// fields of translation control registers (Arm ARM D19.2.64).
pub const PHYSICAL_SIZES: [u32; 7] = [32, 36, 40, 42, 44, 48, 52];

/// Code of a size of physical addresses; `None` where there is no such size.
#[must_use]
pub fn physical_range(bits: u32) -> Option<u64> {
    let index = PHYSICAL_SIZES.iter().position(|&size| size == bits)?;
    Some(index as u64)
}

/// Bits of addresses that reach everything below `end`.
#[must_use]
pub const fn bits_below(end: u64) -> u32 {
    u64::BITS - end.saturating_sub(1).leading_zeros()
}

/// A physical address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pa(pub u64);

/// A guest-physical (intermediate physical) address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ipa(pub u64);

macro_rules! address {
    ($name:ident) => {
        impl $name {
            /// The address `bytes` further on.
            #[must_use]
            pub const fn plus(self, bytes: u64) -> Self {
                Self(self.0.wrapping_add(bytes))
            }

            /// Returns whether the address is a multiple of `alignment`, a power of two.
            #[must_use]
            pub const fn is_aligned(self, alignment: u64) -> bool {
                self.0 & alignment.wrapping_sub(1) == 0
            }
        }

        impl fmt::LowerHex for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::LowerHex::fmt(&self.0, f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
    };
}

address!(Pa);
address!(Ipa);

/// `value` rounded up to a multiple of `alignment`, a power of two; `None` past the last address.
#[must_use]
pub const fn align_up(value: u64, alignment: u64) -> Option<u64> {
    let mask = alignment.wrapping_sub(1);
    match value.checked_add(mask) {
        Some(sum) => Some(sum & !mask),
        None => None,
    }
}
