//! System registers, barriers and waits of EL1
//!
//! Register names are those of the Arm ARM. Each function is one instruction or the shortest
//! sequence that the manual demands.
#![expect(unsafe_code, reason = "system instructions exist in assembly only")]

use core::arch::asm;

macro_rules! reader {
    ($(#[$doc:meta])* $function:ident, $register:literal) => {
        $(#[$doc])*
        #[inline]
        pub(crate) fn $function() -> u64 {
            let value: u64;
            // SAFETY: reads a register; memory and flags stay as they are.
            unsafe {
                asm!(concat!("mrs {}, ", $register), out(reg) value, options(nomem, nostack, preserves_flags));
            }
            value
        }
    };
}

macro_rules! writer {
    ($(#[$doc:meta])* $function:ident, $register:literal) => {
        $(#[$doc])*
        #[inline]
        pub(crate) fn $function(value: u64) {
            // SAFETY: the register steers timers, interrupts or tracing, not what memory means.
            unsafe {
                asm!(concat!("msr ", $register, ", {}"), "isb", in(reg) value, options(nostack, preserves_flags));
            }
        }
    };
}

reader!(
    /// CNTFRQ_EL0: ticks per second.
    counter_frequency, "cntfrq_el0"
);
reader!(
    /// MPIDR_EL1.
    affinity, "mpidr_el1"
);
reader!(
    /// ICC_IAR1_EL1: acknowledges the highest pending interrupt; INTID 1020 and above = none.
    acknowledge_interrupt, "S3_0_C12_C12_0"
);
reader!(
    /// DAIF.
    interrupt_mask, "daif"
);
writer!(
    /// ICC_EOIR1_EL1.
    end_interrupt, "S3_0_C12_C12_1"
);
writer!(
    /// ICC_SRE_EL1.
    set_gic_system_registers, "S3_0_C12_C12_5"
);
writer!(
    /// ICC_PMR_EL1.
    set_priority_mask, "S3_0_C4_C6_0"
);
writer!(
    /// ICC_BPR1_EL1.
    set_binary_point, "S3_0_C12_C12_3"
);
writer!(
    /// ICC_CTLR_EL1.
    set_interrupt_control, "S3_0_C12_C12_4"
);
writer!(
    /// ICC_IGRPEN1_EL1.
    enable_interrupt_group, "S3_0_C12_C12_7"
);
writer!(
    /// CNTV_CVAL_EL0.
    set_timer_deadline, "cntv_cval_el0"
);
writer!(
    /// CNTV_CTL_EL0: bit 0 enable, bit 1 mask.
    set_timer_control, "cntv_ctl_el0"
);

/// CNTVCT_EL0, after everything before it: the counter that all partitions share.
#[inline]
pub(crate) fn counter() -> u64 {
    let value: u64;
    // SAFETY: reads a register; the barrier only orders.
    unsafe {
        asm!("isb", "mrs {}, cntvct_el0", out(reg) value, options(nomem, nostack, preserves_flags));
    }
    value
}

/// Waits until an interrupt is pending, masked or not.
#[inline]
pub(crate) fn wait_for_interrupt() {
    // SAFETY: a hint; the barrier makes earlier stores visible before the core sleeps.
    unsafe { asm!("dsb sy", "wfi", options(nostack, preserves_flags)) }
}

/// Lets another core or the emulator run while spinning.
#[inline]
pub(crate) fn relax() {
    // SAFETY: a hint.
    unsafe { asm!("yield", options(nomem, nostack, preserves_flags)) }
}

/// Masks interrupts and gives what was masked before.
#[inline]
pub(crate) fn mask_interrupts() -> u64 {
    let before = interrupt_mask();
    // SAFETY: no handler runs until the mask is restored; nothing depends on one having run.
    unsafe { asm!("msr daifset, #2", options(nostack, preserves_flags)) }
    before
}

/// Puts back what [`mask_interrupts`] gave.
#[inline]
pub(crate) fn restore_interrupts(mask: u64) {
    // SAFETY: handlers share state with the program only under locks that mask them.
    unsafe { asm!("msr daif, {}", in(reg) mask, options(nostack, preserves_flags)) }
}

/// Lets interrupts and system errors in.
#[inline]
pub(crate) fn unmask_interrupts() {
    // SAFETY: the vectors are in place before the first call.
    unsafe { asm!("msr daifclr, #6", options(nostack, preserves_flags)) }
}

/// Makes stores to devices and to memory visible before what follows.
#[inline]
pub(crate) fn synchronize() {
    // SAFETY: barriers only.
    unsafe { asm!("dsb sy", "isb", options(nostack, preserves_flags)) }
}

/// `hvc #0`, SMCCC 64-bit: results in x0 and x1…x3.
#[inline]
pub(crate) fn hypervisor_call(function: u64, arguments: [u64; 3]) -> [u64; 4] {
    let [mut x1, mut x2, mut x3] = arguments;
    let mut x0 = function;
    // SAFETY: the monitor keeps the registers that the calling convention names; calls that end or
    // remap anything of this partition are offered by their own safe functions.
    unsafe {
        asm!("hvc #0", inout("x0") x0, inout("x1") x1, inout("x2") x2, inout("x3") x3,
            out("x4") _, out("x5") _, out("x6") _, out("x7") _, out("x8") _, out("x9") _,
            out("x10") _, out("x11") _, out("x12") _, out("x13") _, out("x14") _, out("x15") _,
            out("x16") _, out("x17") _, options(nostack));
    }
    [x0, x1, x2, x3]
}
