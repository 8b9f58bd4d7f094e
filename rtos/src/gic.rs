//! GICv3 as a guest sees it: its interrupts of the distributor, its redistributors
//!
//! Arm IHI 0069, chapter 12. The monitor answers these accesses (all of them before the partition
//! is up) and confines them to the partition's own interrupts.
#![expect(unsafe_code, reason = "registers of a device")]

use crate::{mmu, registers};
use core::arch::asm;

/// Bytes from a redistributor to the next.
const STRIDE: u64 = 0x2_0000;
const DISTRIBUTOR_BYTES: u64 = 0x1_0000;
const GICD_CTLR: u64 = 0x0000;
const GICD_ISENABLER: u64 = 0x0100;
const GICD_IPRIORITYR: u64 = 0x0400;
const GICD_IROUTER: u64 = 0x6000;
const GICR_TYPER: u64 = 0x0008;
const GICR_WAKER: u64 = 0x0014;
/// The SGI frame of a redistributor; its offsets are those of the distributor.
const SGI_FRAME: u64 = 0x1_0000;
/// ARE and group 1.
const CONTROL: u32 = 1 << 4 | 1 << 1;
const PROCESSOR_SLEEP: u32 = 1 << 1;
const CHILDREN_ASLEEP: u32 = 1 << 2;
/// The middle of what guests may use.
const PRIORITY: u8 = 0xa0;
/// INTIDs below are private to a core.
const FIRST_SHARED: u32 = 32;

/// Addresses of the partition's interrupt controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gic {
    distributor: u64,
    redistributors: u64,
}

impl Gic {
    pub(crate) const fn at([distributor, redistributors]: [u64; 2]) -> Self {
        Self {
            distributor,
            redistributors,
        }
    }

    /// Maps and wakes what the core of `rank` needs, and lets group 1 through.
    pub(crate) fn start_core(&self, rank: u32) {
        let frame = self.redistributor(rank);
        if rank == 0 {
            mmu::map_device(self.distributor, DISTRIBUTOR_BYTES);
            write(self.distributor + GICD_CTLR, CONTROL);
        }
        mmu::map_device(frame, STRIDE);
        let waker = read(frame + GICR_WAKER);
        write(frame + GICR_WAKER, waker & !PROCESSOR_SLEEP);
        while read(frame + GICR_WAKER) & CHILDREN_ASLEEP != 0 {
            registers::relax();
        }
        registers::set_gic_system_registers(7);
        registers::set_priority_mask(0xff);
        registers::set_binary_point(0);
        registers::set_interrupt_control(0);
        registers::enable_interrupt_group(1);
    }

    /// Enables `intid` for the core of `rank`, which is the calling one.
    pub(crate) fn enable(&self, intid: u32, rank: u32) {
        let private = intid < FIRST_SHARED;
        let frame = if private {
            self.redistributor(rank) + SGI_FRAME
        } else {
            self.distributor
        };
        write_byte(frame + GICD_IPRIORITYR + u64::from(intid), PRIORITY);
        if !private {
            let route = registers::affinity() & 0xff_00ff_ffff;
            write_double(frame + GICD_IROUTER + 8 * u64::from(intid), route);
        }
        write(
            frame + GICD_ISENABLER + u64::from(intid / 32 * 4),
            1 << (intid % 32),
        );
        registers::synchronize();
    }

    /// Affinity of the core of `rank`, as PSCI wants it: GICR_TYPER[63:32].
    pub(crate) fn affinity(&self, rank: u32) -> u64 {
        let frame = self.redistributor(rank);
        mmu::map_device(frame, STRIDE);
        let affinity = read_double(frame + GICR_TYPER) >> 32;
        (affinity & 0xff00_0000) << 8 | affinity & 0x00ff_ffff
    }

    fn redistributor(&self, rank: u32) -> u64 {
        self.redistributors + u64::from(rank) * STRIDE
    }
}

// The instruction is written in assembly, because a compiler may choose one with write-back or of a
// pair. The syndrome of these does not describe the access (ISV = 0), so the monitor refuses them.
macro_rules! access {
    ($function:ident, $instruction:literal, read $type:ty) => {
        fn $function(address: u64) -> $type {
            let value: u64;
            // SAFETY: a register of the interrupt controller, mapped by `start_core`.
            unsafe {
                asm!($instruction, in(reg) address, out(reg) value, options(nostack, preserves_flags));
            }
            value as $type
        }
    };
    ($function:ident, $instruction:literal, write $type:ty) => {
        fn $function(address: u64, value: $type) {
            // SAFETY: as above; what it does to interrupts is confined by the monitor.
            unsafe {
                asm!($instruction, in(reg) address, in(reg) u64::from(value),
                    options(nostack, preserves_flags));
            }
        }
    };
}

access!(read, "ldr {1:w}, [{0}]", read u32);
access!(read_double, "ldr {1}, [{0}]", read u64);
access!(write, "str {1:w}, [{0}]", write u32);
access!(write_double, "str {1}, [{0}]", write u64);
access!(write_byte, "strb {1:w}, [{0}]", write u8);
