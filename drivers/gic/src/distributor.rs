//! The distributor, shared by all cores
#![expect(unsafe_code, reason = "constructed from an address")]

use crate::frame::Frame;
use bulkhead_formats::gicv3::{
    AFFINITY_ROUTING, DEFAULT_PRIORITY, DISABLE_SECURITY, ENABLE_GROUP_1, GICD_CTLR, GICD_IROUTER,
    GICD_TYPER, ICACTIVER, ICENABLER, ICFGR, ICPENDR, IGROUPR, IGRPMODR, IPRIORITYR, PIDR2,
    REGISTER_WRITE_PENDING,
};

/// A GICv3 distributor.
#[derive(Clone, Copy, Debug)]
pub struct Distributor {
    frame: Frame,
}

impl Distributor {
    /// # Safety
    /// A GICv3 distributor is mapped at `base` as device memory, and no other driver uses it meanwhile.
    #[must_use]
    pub const unsafe fn new(base: usize) -> Self {
        // SAFETY: the caller's promise.
        let frame = unsafe { Frame::new(base) };
        Self { frame }
    }

    /// First INTID beyond the SPIs that exist.
    #[must_use]
    pub fn intids(self) -> u32 {
        (32 * ((self.frame.read32(GICD_TYPER) & 0x1F) + 1)).min(1020)
    }

    /// Returns true if the controller has one security state only.
    #[must_use]
    pub fn single_security_state(self) -> bool {
        self.frame.read32(GICD_CTLR) & DISABLE_SECURITY != 0
    }

    /// Architecture version of the controller: 3 or 4 (IHI 0069, 12.9.26).
    #[must_use]
    pub fn version(self) -> u32 {
        self.frame.read32(PIDR2) >> 4 & 0xF
    }

    /// Silences every SPI: disabled, not pending, not active, group 1, middle priority, level.
    pub fn reset(self) {
        self.control(0);
        for word in 1..self.intids().div_ceil(32) {
            for bank in [ICENABLER, ICPENDR, ICACTIVER, IGROUPR] {
                self.frame.write32(bank + u64::from(word) * 4, u32::MAX);
            }
            self.frame.write32(IGRPMODR + u64::from(word) * 4, 0);
        }
        for intid in 32..self.intids() {
            self.frame
                .write8(IPRIORITYR + u64::from(intid), DEFAULT_PRIORITY);
        }
        for word in 2..self.intids().div_ceil(16) {
            self.frame.write32(ICFGR + u64::from(word) * 4, 0);
        }
    }

    /// Sets the trigger mode of an SPI that is disabled.
    pub fn set_edge(self, intid: u32, edge: bool) {
        let offset = ICFGR + u64::from(intid / 16) * 4;
        let bit = 2 << (intid % 16 * 2);
        let others = self.frame.read32(offset) & !bit;
        self.frame
            .write32(offset, if edge { others | bit } else { others });
    }

    /// Sends an SPI to the core of that affinity (layout of `MPIDR_EL1`).
    pub fn route(self, intid: u32, affinity: u64) {
        self.frame
            .write64(GICD_IROUTER + u64::from(intid) * 8, affinity);
    }

    /// Forwards group 1 by affinity. The non-secure view of two security states has the same bits
    /// (IHI 0069, section 12.9.4).
    pub fn enable(self) {
        self.control(AFFINITY_ROUTING);
        self.control(AFFINITY_ROUTING | ENABLE_GROUP_1);
    }

    fn control(self, value: u32) {
        self.frame.write32(GICD_CTLR, value);
        while self.frame.read32(GICD_CTLR) & REGISTER_WRITE_PENDING != 0 {
            core::hint::spin_loop();
        }
    }
}
