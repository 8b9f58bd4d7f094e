//! The redistributor of one core
#![expect(unsafe_code, reason = "constructed from an address")]

use crate::frame::Frame;
use bulkhead_formats::gicv3::{
    CHILDREN_ASLEEP, DEFAULT_PRIORITY, FRAME_SIZE, GICR_TYPER, GICR_WAKER, ICACTIVER, ICENABLER,
    ICPENDR, IGROUPR, IGRPMODR, IPRIORITYR, ISENABLER, ISPENDR, PROCESSOR_SLEEP,
};

/// A GICv3 redistributor: its own frame and that of the core's private interrupts.
#[derive(Clone, Copy, Debug)]
pub struct Redistributor {
    control: Frame,
    private: Frame,
}

impl Redistributor {
    /// # Safety
    /// A GICv3 redistributor is mapped at `base` as device memory, and no other driver uses it meanwhile.
    #[must_use]
    pub const unsafe fn new(base: usize) -> Self {
        // SAFETY: the caller's promise.
        let control = unsafe { Frame::new(base) };
        // SAFETY: the caller's promise; the second frame follows the first.
        let private = unsafe { Frame::new(base + FRAME_SIZE as usize) };
        Self { control, private }
    }

    /// Wakes the redistributor, at most so many polls; whether it came.
    #[must_use]
    pub fn wake(self, polls: u32) -> bool {
        let waker = self.control.read32(GICR_WAKER) & !PROCESSOR_SLEEP;
        self.control.write32(GICR_WAKER, waker);
        (0..polls).any(|_| self.control.read32(GICR_WAKER) & CHILDREN_ASLEEP == 0)
    }

    /// Enables the private interrupts of `mask` and makes them pending, or neither.
    pub fn raise(self, mask: u32, on: bool) {
        let banks = if on {
            [ISENABLER, ISPENDR]
        } else {
            [ICENABLER, ICPENDR]
        };
        banks
            .iter()
            .for_each(|&bank| self.private.write32(bank, mask));
    }

    /// Private interrupts that are pending, enabled or not.
    #[must_use]
    pub fn pending(self) -> u32 {
        self.private.read32(ISPENDR)
    }

    /// Affinity of the core that it serves (layout of `MPIDR_EL1`).
    #[must_use]
    pub fn affinity(self) -> u64 {
        let packed = u64::from(self.control.read32(GICR_TYPER + 4));
        packed >> 24 << 32 | packed & 0x00FF_FFFF
    }

    /// Silences every private interrupt and makes all of them group 1; those of `highest` get the highest
    /// priority.
    pub fn reset(self, highest: u32) {
        for bank in [ICENABLER, ICPENDR, ICACTIVER] {
            self.private.write32(bank, u32::MAX);
        }
        self.private.write32(IGRPMODR, 0);
        self.private.write32(IGROUPR, u32::MAX);
        for intid in 0..32 {
            let priority = if highest >> intid & 1 == 1 {
                0
            } else {
                DEFAULT_PRIORITY
            };
            self.private.write8(IPRIORITYR + intid, priority);
        }
    }

    /// Tries to enable the private interrupts of `mask` and disables them again; false if one belongs to the
    /// secure state.
    #[must_use]
    pub fn can_enable(self, mask: u32) -> bool {
        self.private.write32(ISENABLER, mask);
        let enabled = self.private.read32(ISENABLER);
        self.private.write32(ICENABLER, mask);
        enabled & mask == mask
    }
}
