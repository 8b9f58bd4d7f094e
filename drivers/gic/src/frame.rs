//! A 64 KiB frame of registers
#![expect(
    unsafe_code,
    reason = "device registers lie at addresses that the board tells"
)]

use bulkhead_formats::gicv3::FRAME_SIZE;
use core::ptr::{read_volatile, with_exposed_provenance_mut, write_volatile};

/// Registers at a base address; offsets outside of the frame wrap into it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    base: usize,
}

impl Frame {
    /// # Safety
    /// A frame of a GIC's registers is mapped at `base` as device memory while this exists.
    pub(crate) const unsafe fn new(base: usize) -> Self {
        Self { base }
    }

    fn register<T>(self, offset: u64) -> *mut T {
        let inside = (offset % FRAME_SIZE) as usize & !(size_of::<T>() - 1);
        with_exposed_provenance_mut(self.base + inside)
    }

    pub(crate) fn read32(self, offset: u64) -> u32 {
        // SAFETY: inside the frame and aligned, see `register`; mapped by the promise of `new`.
        unsafe { read_volatile(self.register(offset)) }
    }

    pub(crate) fn write32(self, offset: u64, value: u32) {
        // SAFETY: as in `read32`.
        unsafe { write_volatile(self.register(offset), value) }
    }

    pub(crate) fn write64(self, offset: u64, value: u64) {
        // SAFETY: as in `read32`.
        unsafe { write_volatile(self.register(offset), value) }
    }

    pub(crate) fn write8(self, offset: u64, value: u8) {
        // SAFETY: as in `read32`.
        unsafe { write_volatile(self.register(offset), value) }
    }
}
