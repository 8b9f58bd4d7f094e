//! Exception syndrome
//!
//! Fields of `ESR_EL2` (Arm ARM D19.2.37) that the monitor goes by.

pub(crate) const WAIT: u64 = 0x01;
pub(crate) const HVC: u64 = 0x16;
pub(crate) const SMC: u64 = 0x17;
pub(crate) const SYSTEM_REGISTER: u64 = 0x18;
pub(crate) const FETCH_ABORT: u64 = 0x20;
pub(crate) const DATA_ABORT: u64 = 0x24;

/// Exception class.
pub(crate) const fn class(esr: u64) -> u64 {
    esr >> 26 & 0x3F
}

/// The instruction had 32 bits.
pub(crate) const IL: u64 = 1 << 25;
/// Data abort: the access is described.
const ISV: u64 = 1 << 24;
const SSE: u64 = 1 << 21;
const SF: u64 = 1 << 15;
/// Cache maintenance.
pub(crate) const CM: u64 = 1 << 8;
/// On a stage-1 table walk.
const S1PTW: u64 = 1 << 7;
/// A write.
pub(crate) const WNR: u64 = 1 << 6;

/// Kept in a bit that the syndrome of a data abort does not have.
const BIG_ENDIAN: u64 = 1 << 63;

/// A load or store of one general register, as the syndrome describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access(u64);

impl Access {
    /// The access of a data abort that the syndrome describes completely, that is aligned, and that
    /// faulted for want of a translation of its own address. `big_endian` is 1 if the guest's data is.
    pub(crate) fn decode(esr: u64, address: u64, big_endian: u64) -> Option<Self> {
        const STATUS: u64 = 0x3C;
        const TRANSLATION: u64 = 0x04;
        let is_complete = esr & (ISV | S1PTW | STATUS) == ISV | TRANSLATION;
        let access = Self(esr | big_endian << 63);
        (is_complete && address & access.bytes().wrapping_sub(1) == 0).then_some(access)
    }

    /// Bytes: 1, 2, 4 or 8.
    pub(crate) const fn bytes(self) -> u64 {
        1 << (self.0 >> 22 & 3)
    }

    /// The register; 31 is zero.
    pub(crate) const fn register(self) -> usize {
        register(self.0 >> 16)
    }

    pub(crate) const fn is_write(self) -> bool {
        self.0 & WNR != 0
    }

    /// Returns the register value after a load of this size.
    pub(crate) fn loaded(self, value: u64) -> u64 {
        let (top, unused) = self.top(value);
        if self.0 & SSE == 0 {
            return top >> unused;
        }
        let extended = (top.cast_signed() >> unused).cast_unsigned();
        if self.0 & SF != 0 {
            extended
        } else {
            extended & 0xFFFF_FFFF
        }
    }

    /// Returns the part of its register that a store of this size writes.
    pub(crate) fn stored(self, register: u64) -> u64 {
        let (top, unused) = self.top(register);
        top >> unused
    }

    /// The bytes of the access at the top of a word, in the order of the guest, and the bits below them.
    #[inline(never)]
    fn top(self, value: u64) -> (u64, u64) {
        let unused = 64_u64.wrapping_sub(self.bytes().wrapping_mul(8));
        let top = if self.0 & BIG_ENDIAN != 0 {
            value.swap_bytes()
        } else {
            value << unused
        };
        (top, unused)
    }
}

/// Five bits of a register number.
pub(crate) const fn register(bits: u64) -> usize {
    let [low, ..] = bits.to_le_bytes();
    (low & 31) as usize
}
