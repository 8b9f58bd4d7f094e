//! Meaning of an exception syndrome in words
//!
//! ESR_EL1 (Arm ARM D24.2.40): the exception class in bits 31–26, for data aborts whether it was a
//! write in bit 6. Panics of programs of this project are undefined instructions with a number.

use core::fmt;
use core::ops::Range;

/// Faulting action of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// The program accessed the page below its stack.
    StackOverflow,
    /// The program read from this address.
    Read(u64),
    /// The program wrote to this address.
    Write(u64),
    /// The program jumped to this address, from which it may not execute.
    Jump(u64),
    /// The program executed an undefined instruction; a panic ends so.
    Undefined,
    /// The program executed a privileged instruction.
    Privileged,
    /// The program used an unaligned address or stack.
    Alignment(u64),
    /// Something else, by exception class.
    Other(u64),
}

/// Reads a syndrome; `guard` are the addresses below the stack that are kept free.
#[must_use]
pub fn deed(syndrome: u64, address: u64, guard: &Range<u64>) -> Deed {
    const WRITE: u64 = 1 << 6;
    match syndrome >> 26 & 0x3f {
        0x24 | 0x25 if guard.contains(&address) => Deed::StackOverflow,
        0x24 | 0x25 if syndrome & WRITE != 0 => Deed::Write(address),
        0x24 | 0x25 => Deed::Read(address),
        0x20 | 0x21 => Deed::Jump(address),
        0x22 | 0x26 => Deed::Alignment(address),
        0x00 | 0x3c => Deed::Undefined,
        0x18 => Deed::Privileged,
        other => Deed::Other(other),
    }
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StackOverflow => f.write_str("stack overflow"),
            Self::Read(address) => write!(f, "read of {address:#x}"),
            Self::Write(address) => write!(f, "write to {address:#x}"),
            Self::Jump(address) => write!(f, "jump to {address:#x}"),
            Self::Undefined => f.write_str("panic or undefined instruction"),
            Self::Privileged => f.write_str("privileged instruction"),
            Self::Alignment(address) => write!(f, "misaligned {address:#x}"),
            Self::Other(class) => write!(f, "exception of class {class:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, proptest};

    #[test]
    fn classes_are_those_of_the_manual() {
        let guard = 0x5f_9000..0x5f_a000;
        let decode = |class: u64, low, address| deed(class << 26 | low, address, &guard);
        assert_eq!(decode(0x24, 1 << 6, 0x5f_9ff8), Deed::StackOverflow);
        assert_eq!(decode(0x24, 1 << 6, 0x5f_a000), Deed::Write(0x5f_a000));
        assert_eq!(decode(0x24, 7, 8), Deed::Read(8));
        assert_eq!(decode(0x20, 7, 0x70), Deed::Jump(0x70));
        assert_eq!(decode(0x00, 0, 0), Deed::Undefined);
        assert_eq!(decode(0x18, 0, 0), Deed::Privileged);
        assert_eq!(decode(0x26, 0, 4), Deed::Alignment(4));
        assert_eq!(decode(0x2c, 0, 0), Deed::Other(0x2c));
    }

    proptest! {
        #[test]
        fn every_syndrome_has_a_word(syndrome in any::<u64>(), address in any::<u64>()) {
            let text = std::format!("{}", deed(syndrome, address, &(0..4096)));
            assert!(!text.is_empty());
        }
    }
}
