//! Operations of the processor that the monitor uses
//!
//! Implemented by instructions at EL2 and by a model in the tests. Addresses are physical. The
//! implementation may rely on them, because they come from the configuration and boot has checked
//! its digest.

use crate::frame::Frame;
use crate::state::Core;

/// Operation of [`Machine::transfer`] on lines of 64 bytes, each of which leaves no copy in any cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// Copies them.
    Copy,
    /// Fills them with zeros.
    Zero,
    /// Leaves their content.
    Clean,
}

/// Registers of the GIC's CPU interface that both groups share (IHI 0069, section 12.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// `ICC_PMR_EL1`.
    PriorityMask,
    /// `ICC_RPR_EL1`, read only.
    RunningPriority,
    /// `ICC_CTLR_EL1`.
    Control,
    /// `ICC_DIR_EL1`, write only.
    Deactivate,
}

/// A processor core at EL2, with its exception registers and its GIC CPU interface.
pub trait Machine: Copy {
    /// The physical counter, ticks.
    fn counter(self) -> u64;
    /// Its frequency, Hz.
    fn frequency(self) -> u64;
    /// Lets others run, in a loop that waits for them.
    fn pause(self);
    /// Sleeps until an interrupt is pending that the guest's masks let through, or the monitor's own,
    /// which they cannot hold back. Takes none. The masks are the guest's again afterwards.
    fn wait(self, mask: u64);
    /// Has the monitor's interrupt pending on this core from when the counter reaches `ticks`;
    /// `u64::MAX` = never.
    fn alarm(self, ticks: u64);
    /// Makes everything written before visible to all cores and devices and ends their WFE.
    fn notify(self);
    /// Sends an inter-processor interrupt of the guests (`ICC_SGI1R_EL1`).
    fn send_ipi(self, value: u64);

    /// Reads 32 bits.
    fn read32(self, pa: u64) -> u32;
    /// Writes 32 bits.
    fn write32(self, pa: u64, value: u32);
    /// Writes 8 bits.
    fn write8(self, pa: u64, value: u8);
    /// Reads 64 bits.
    fn read64(self, pa: u64) -> u64;
    /// Writes 64 bits.
    fn write64(self, pa: u64, value: u64);
    /// Orders memory accesses before and after, for all cores.
    fn order(self);
    /// Returns the physical address of a writable guest-physical address; `None` if stage 2 does not map it. Only
    /// between [`Machine::reset`] and [`Machine::resume`], while stage 1 is off.
    fn translate(self, ipa: u64) -> Option<u64>;
    /// Treats `size` bytes at `to`, a multiple of 64, copying from `from`.
    fn transfer(self, what: Transfer, to: u64, from: u64, size: u64);
    /// Makes what was transferred visible to instruction fetches of all cores.
    fn publish(self);
    /// After a change of stage-2 tables: forgets all translations of that VMID, on all cores.
    fn forget_translations(self, vttbr: u64);
    /// Forgets the guest's stage-1 translations on this core.
    fn forget_stage1(self);
    /// Writes a register of the CPU interface, or reads it.
    fn interface(self, register: Interface, written: Option<u64>) -> u64;

    /// `VBAR_EL1`.
    fn vbar(self) -> u64;
    /// `SCTLR_EL1`.
    fn sctlr(self) -> u64;
    /// Sets `ESR_EL1`, and `FAR_EL1`, `ELR_EL1` and `SPSR_EL1` to those of EL2, as an exception does.
    fn set_el1_syndrome(self, esr: u64, frame: &Frame);
    /// Makes a virtual SError pending.
    fn raise_serror(self);

    /// Puts every register a guest can change on this core into its reset state: system registers of EL1
    /// and EL0, general registers in the frame, floating point, timers, performance monitor, debug, CPU
    /// interface.
    fn reset(self, core: &'static Core);
    /// Prevents interrupts of the guest from waking this core until it is reset, because no guest would take them.
    fn disown(self);
    /// Returns to the guest with the frame's registers.
    fn resume(self, core: &'static Core) -> !;
}
