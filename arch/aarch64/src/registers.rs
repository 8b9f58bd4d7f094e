//! System registers
#![expect(unsafe_code, reason = "system registers are accessed by instructions")]

macro_rules! registers {
    ($($(#[$doc:meta])* $module:ident = $name:literal;)*) => {$(
        $(#[$doc])*
        pub mod $module {
            use core::arch::asm;

            /// Reads the register.
            #[inline(always)]
            #[must_use]
            pub fn read() -> u64 {
                let value;
                // SAFETY: reading changes nothing a program depends on. It is not `pure`: hardware
                // changes registers.
                unsafe {
                    asm!(concat!("mrs {}, ", $name), out(reg) value, options(nostack, preserves_flags));
                }
                value
            }

            /// Writes the register.
            ///
            /// # Safety
            /// The running program keeps what it relies on: translation, vectors, stack, privileges.
            /// Registers of a lower exception level are not among them.
            #[inline(always)]
            pub unsafe fn write(value: u64) {
                // SAFETY: the caller's promise.
                unsafe {
                    asm!(concat!("msr ", $name, ", {}"), in(reg) value, options(nostack, preserves_flags));
                }
            }
        }
    )*};
}

registers! {
    /// Exception level of the program.
    current_el = "CurrentEL";
    /// Identification of the core model.
    midr_el1 = "midr_el1";
    /// Affinity of the core.
    mpidr_el1 = "mpidr_el1";
    /// Cache line sizes.
    ctr_el0 = "ctr_el0";
    /// Physical counter.
    cntpct_el0 = "cntpct_el0";
    /// Its frequency, Hz.
    cntfrq_el0 = "cntfrq_el0";
    /// Number of event counters, and the reset bits of the performance monitor.
    pmcr_el0 = "pmcr_el0";
    /// EL1 physical timer: when it fires.
    cntp_cval_el0 = "cntp_cval_el0";
    /// EL1 physical timer: control.
    cntp_ctl_el0 = "cntp_ctl_el0";
    /// EL1 virtual timer: when it fires.
    cntv_cval_el0 = "cntv_cval_el0";
    /// EL1 virtual timer: control.
    cntv_ctl_el0 = "cntv_ctl_el0";
    /// EL2 physical timer: when it fires.
    cnthp_cval_el2 = "cnthp_cval_el2";
    /// EL2 physical timer: control.
    cnthp_ctl_el2 = "cnthp_ctl_el2";
    /// Hypervisor configuration: traps and routing to EL2.
    hcr_el2 = "hcr_el2";
    /// Traps of debug and performance monitor to EL2.
    mdcr_el2 = "mdcr_el2";
    /// Root and VMID of stage 2.
    vttbr_el2 = "vttbr_el2";
    /// Base of the stack of EL2's own data.
    tpidr_el2 = "tpidr_el2";
    /// Pending physical interrupts, as seen by EL2.
    isr_el1 = "isr_el1";
    /// Vectors of EL2.
    vbar_el2 = "vbar_el2";
    /// Syndrome of an exception taken to EL2.
    esr_el2 = "esr_el2";
    /// Faulting virtual address of an exception taken to EL2.
    far_el2 = "far_el2";
    /// Faulting guest-physical page of a stage-2 fault.
    hpfar_el2 = "hpfar_el2";
    /// Return address of ERET.
    elr_el2 = "elr_el2";
    /// Processor state ERET restores.
    spsr_el2 = "spsr_el2";
    /// Control of the EL1 regime.
    sctlr_el1 = "sctlr_el1";
    /// Vectors of EL1.
    vbar_el1 = "vbar_el1";
    /// Syndrome of an exception taken to EL1.
    esr_el1 = "esr_el1";
    /// Faulting virtual address of an exception taken to EL1.
    far_el1 = "far_el1";
    /// Return address of an exception taken to EL1.
    elr_el1 = "elr_el1";
    /// Processor state before an exception taken to EL1.
    spsr_el1 = "spsr_el1";
    /// GIC: whether EL2 uses system registers.
    icc_sre_el2 = "s3_4_c12_c9_5";
    /// GIC: control of the CPU interface.
    icc_ctlr_el1 = "s3_0_c12_c12_4";
    /// GIC: active priorities of group 1.
    icc_ap1r0_el1 = "s3_0_c12_c9_0";
    /// GIC: whether interrupts of group 1 are signalled.
    icc_igrpen1_el1 = "s3_0_c12_c12_7";
    /// GIC: priority mask.
    icc_pmr_el1 = "s3_0_c4_c6_0";
    /// GIC: running priority.
    icc_rpr_el1 = "s3_0_c12_c11_3";
    /// GIC: deactivates an interrupt.
    icc_dir_el1 = "s3_0_c12_c11_1";
    /// GIC: sends a software-generated interrupt of group 1.
    icc_sgi1r_el1 = "s3_0_c12_c11_5";
}
