//! The processor at EL2: implementation of the core logic's [`Machine`]
//!
//! Addresses come from the configuration, after boot has checked its digest, or from the guest, translated by its stage
//! 2. Physical memory is mapped one to one, text read-only.
#![expect(unsafe_code, reason = "instructions and physical addresses")]

use bulkhead_arch::registers::{
    cntfrq_el0, cnthp_cval_el2, cntpct_el0, hcr_el2, icc_ctlr_el1, icc_dir_el1, icc_igrpen1_el1,
    icc_pmr_el1, icc_rpr_el1, icc_sgi1r_el1, sctlr_el1, vbar_el1,
};
use bulkhead_arch::{barrier, cache, tlb, wait};
use bulkhead_monitor_core::{Core, Frame, Interface, Machine, Transfer};
use core::ptr::{read_volatile, with_exposed_provenance_mut, write_volatile};

unsafe extern "C" {
    fn reset_guest(hcr: u64, frame: &Frame);
    fn wait_for_interrupt(mask: u64);
    fn forget_translations_of(vttbr: u64);
    fn take_to_el1(esr: u64, frame: &Frame);
    fn resume_guest(frame: &Frame) -> !;
    fn copy_lines(to: u64, from: u64, size: u64);
    fn zero_lines(to: u64, from: u64, size: u64);
    fn clean_lines(to: u64, from: u64, size: u64);
}

/// The core this runs on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processor;

fn place<T>(pa: u64) -> *mut T {
    with_exposed_provenance_mut(usize::try_from(pa).unwrap_or(0))
}

/// Sets a register that only the guest goes by.
macro_rules! set_guest {
    ($register:ident, $value:expr) => {
        // SAFETY: nothing of EL2 depends on this register.
        unsafe { $register::write($value) }
    };
}

impl Machine for Processor {
    #[inline(never)]
    fn counter(self) -> u64 {
        barrier::isb();
        cntpct_el0::read()
    }

    fn frequency(self) -> u64 {
        cntfrq_el0::read()
    }

    fn pause(self) {
        wait::pause();
    }

    fn wait(self, mask: u64) {
        // SAFETY: leaves everything as it was.
        unsafe { wait_for_interrupt(mask) }
    }

    fn alarm(self, ticks: u64) {
        set_guest!(cnthp_cval_el2, ticks);
        barrier::isb();
    }

    #[inline(never)]
    fn notify(self) {
        barrier::dsb_sy();
        wait::sev();
    }

    fn send_ipi(self, value: u64) {
        barrier::dsb_ishst();
        set_guest!(icc_sgi1r_el1, value);
    }

    fn read32(self, pa: u64) -> u32 {
        // SAFETY: mapped and aligned, as the configuration says.
        unsafe { read_volatile(place(pa)) }
    }

    fn write32(self, pa: u64, value: u32) {
        // SAFETY: as above.
        unsafe { write_volatile(place(pa), value) }
    }

    fn write8(self, pa: u64, value: u8) {
        // SAFETY: as above.
        unsafe { write_volatile(place(pa), value) }
    }

    fn read64(self, pa: u64) -> u64 {
        // SAFETY: as above.
        unsafe { read_volatile(place(pa)) }
    }

    fn write64(self, pa: u64, value: u64) {
        // SAFETY: as above.
        unsafe { write_volatile(place(pa), value) }
    }

    fn order(self) {
        barrier::dsb_ish();
    }

    fn translate(self, ipa: u64) -> Option<u64> {
        const FAILED: u64 = 1;
        const PAGE: u64 = 0xFFFF_FFFF_F000;
        let result = tlb::at_s12e1r(ipa);
        (result & FAILED == 0).then_some(result & PAGE | ipa & 0xFFF)
    }

    fn transfer(self, what: Transfer, to: u64, from: u64, size: u64) {
        let lines = match what {
            Transfer::Copy => copy_lines,
            Transfer::Zero => zero_lines,
            Transfer::Clean => clean_lines,
        };
        // SAFETY: `to` is memory of the stopped partition, `from` a pristine image.
        unsafe { lines(to, from, size) }
    }

    fn publish(self) {
        barrier::dsb_sy();
        cache::ic_ialluis();
        barrier::dsb_ish();
        barrier::isb();
    }

    fn forget_translations(self, vttbr: u64) {
        // SAFETY: invalidates, and leaves VTTBR_EL2 as it was.
        unsafe { forget_translations_of(vttbr) }
    }

    fn forget_stage1(self) {
        tlb::vmalle1();
        barrier::dsb_nsh();
    }

    fn interface(self, register: Interface, written: Option<u64>) -> u64 {
        match (register, written) {
            (Interface::PriorityMask, None) => return icc_pmr_el1::read(),
            (Interface::PriorityMask, Some(value)) => set_guest!(icc_pmr_el1, value),
            (Interface::Control, None) => return icc_ctlr_el1::read(),
            (Interface::Control, Some(value)) => set_guest!(icc_ctlr_el1, value),
            (Interface::RunningPriority, None) => return icc_rpr_el1::read(),
            (Interface::Deactivate, Some(value)) => set_guest!(icc_dir_el1, value),
            (Interface::RunningPriority, Some(_)) | (Interface::Deactivate, None) => {}
        }
        0
    }

    fn vbar(self) -> u64 {
        vbar_el1::read()
    }

    fn sctlr(self) -> u64 {
        sctlr_el1::read()
    }

    fn set_el1_syndrome(self, esr: u64, frame: &Frame) {
        // SAFETY: writes registers of EL1.
        unsafe { take_to_el1(esr, frame) }
    }

    fn raise_serror(self) {
        const VSE: u64 = 1 << 8;
        set_guest!(hcr_el2, hcr_el2::read() | VSE);
    }

    fn reset(self, core: &'static Core) {
        // SAFETY: changes what the guest goes by, and caller-saved registers.
        unsafe { reset_guest(core.hcr, &core.frame) }
    }

    fn disown(self) {
        set_guest!(icc_igrpen1_el1, 0);
    }

    fn resume(self, core: &'static Core) -> ! {
        // SAFETY: leaves EL2; the stack below the state starts anew at the next entry.
        unsafe { resume_guest(&core.frame) }
    }
}
