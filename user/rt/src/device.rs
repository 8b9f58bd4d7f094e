//! Registers of the PCIe function that a component drives
//!
//! PCI Local Bus Specification 3.0, chapter 6. The function's owner sets its base address
//! registers; nothing outside of its partition can be reached, whatever they hold.
#![expect(unsafe_code, reason = "registers of a device")]

use bulkhead_abi::guest::{BARS, Function};
use core::ptr::with_exposed_provenance_mut;

const COMMAND: usize = 0x04;
const FIRST_BAR: usize = 0x10;
/// The function answers at its ports and its memory.
const DECODE: u32 = 1 << 0 | 1 << 1;
/// The function may access memory as a bus master.
const MASTER: u32 = 1 << 2;
/// The upper half of the command register is the status, of which a bit is cleared by writing one.
const STATUS: u32 = 0xffff_0000;

/// The function differs from the description; the first word of its configuration page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Other(pub u32);

/// A range of registers that is mapped.
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    base: usize,
    bytes: usize,
}

/// A function that answers.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    configuration: Registers,
    bars: [Registers; BARS],
}

macro_rules! access {
    ($read:ident, $write:ident, $type:ty) => {
        /// Reads a register; ones where there is none.
        #[must_use]
        pub fn $read(self, offset: usize) -> $type {
            match self.place::<$type>(offset) {
                // SAFETY: a register of the device, mapped for good.
                Some(place) => unsafe { place.read_volatile() },
                None => <$type>::MAX,
            }
        }

        /// Writes a register, if there is one.
        pub fn $write(self, offset: usize, value: $type) {
            if let Some(place) = self.place::<$type>(offset) {
                // SAFETY: the caller of `map` guarantees that registers are mapped here for good.
                unsafe { place.write_volatile(value) };
            }
        }
    };
}

impl Registers {
    /// Registers that are mapped at `base`.
    ///
    /// # Safety
    /// They are, for good, as device memory.
    #[must_use]
    pub const unsafe fn at(base: u64, bytes: u64) -> Self {
        Self {
            base: base as usize,
            bytes: bytes as usize,
        }
    }

    /// Address at which they are mapped.
    #[must_use]
    pub const fn base(self) -> u64 {
        self.base as u64
    }

    fn place<T>(self, offset: usize) -> Option<*mut T> {
        let fits = offset.checked_add(size_of::<T>())? <= self.bytes;
        (fits && offset.is_multiple_of(size_of::<T>()))
            .then(|| with_exposed_provenance_mut(self.base + offset))
    }

    access!(read, write, u8);
    access!(read_half, write_half, u16);
    access!(read_word, write_word, u32);
}

impl Device {
    /// Sets the function's base address registers and lets it answer.
    ///
    /// # Errors
    /// [`Other`].
    ///
    /// # Safety
    /// `function` names what is mapped for it, for good.
    pub unsafe fn open(function: &Function) -> Result<Self, Other> {
        let page = bulkhead_abi::PAGE_SIZE;
        // SAFETY: the caller's.
        let configuration = unsafe { Registers::at(function.configuration, page) };
        let found = configuration.read_word(0);
        if found != function.identity {
            return Err(Other(found));
        }
        for (number, bar) in function
            .bars
            .iter()
            .enumerate()
            .filter(|(_, bar)| bar.size != 0)
        {
            configuration.write_word(FIRST_BAR + 4 * number, bar.value);
        }
        let command = configuration.read_word(COMMAND) & !STATUS;
        configuration.write_word(COMMAND, command | DECODE);
        // SAFETY: the caller's.
        let bars = function
            .bars
            .map(|bar| unsafe { Registers::at(bar.address, bar.size.into()) });
        Ok(Self {
            configuration,
            bars,
        })
    }

    /// The registers behind base address register `number`, if there are any.
    #[must_use]
    pub fn bar(&self, number: usize) -> Registers {
        let none = Registers { base: 0, bytes: 0 };
        self.bars.get(number).copied().unwrap_or(none)
    }

    /// Its configuration page.
    #[must_use]
    pub const fn configuration(&self) -> Registers {
        self.configuration
    }

    /// Allows it to access memory, within the limits of an SMMU.
    pub fn allow_memory(&self) {
        let command = self.configuration.read_word(COMMAND) & !STATUS;
        self.configuration.write_word(COMMAND, command | MASTER);
    }
}
