//! Attacks by masks, waits and registers of the CPU interface on the own core
#![expect(unsafe_code, reason = "hostile by purpose")]

use core::arch::{asm, global_asm};

global_asm!(
    ".section .text.exception_loop, \"ax\"",
    ".balign 2048",
    ".global exception_loop",
    "exception_loop:",
    ".rept 16",
    ".balign 128",
    "svc #0",
    ".endr",
    ".balign 128",
);

unsafe extern "C" {
    static exception_loop: u8;
}

/// Vectors each of which takes the next exception at once.
pub(crate) fn exception_loop_place() -> u64 {
    (&raw const exception_loop) as u64
}

macro_rules! instruction {
    ($(#[$doc:meta])* $function:ident, $($text:literal),+) => {
        $(#[$doc])*
        pub(crate) fn $function() {
            // SAFETY: an attack on this core's own state; memory is not touched.
            unsafe { asm!($($text),+, options(nostack)) }
        }
    };
}

macro_rules! register {
    ($(#[$doc:meta])* read $function:ident, $name:literal) => {
        $(#[$doc])*
        pub(crate) fn $function() -> u64 {
            let value: u64;
            // SAFETY: a register of this core.
            unsafe { asm!(concat!("mrs {}, ", $name), out(reg) value, options(nostack)) }
            value
        }
    };
    ($(#[$doc:meta])* write $function:ident, $name:literal) => {
        $(#[$doc])*
        pub(crate) fn $function(value: u64) {
            // SAFETY: an attack on this core's own state.
            unsafe { asm!(concat!("msr ", $name, ", {}"), "isb", in(reg) value, options(nostack)) }
        }
    };
}

instruction!(
    /// Masks everything that can be masked.
    mask_all, "msr daifset, #15"
);
instruction!(
    /// Masks interrupts.
    mask_interrupts, "msr daifset, #2"
);
instruction!(
    /// Lets interrupts in.
    unmask_interrupts, "msr daifclr, #2"
);
instruction!(
    /// Sleeps.
    sleep, "dsb sy", "wfi"
);
instruction!(
    /// Waits for an event.
    wait_for_event, "wfe"
);
instruction!(
    /// Calls EL1 from EL1.
    call_supervisor, "svc #0"
);
instruction!(
    /// Wakes all cores that wait for an event.
    send_event, "sev"
);
instruction!(
    /// Broadcasts the invalidation of everything this regime has cached.
    invalidate_everywhere, "dsb ishst", "tlbi vmalle1is", "dsb ish", "ic ialluis", "dsb ish", "isb"
);
instruction!(
    /// Cleans and invalidates level 1 by set and way, as old boot code does.
    clean_by_set_way, "mov x9, xzr", "dc cisw, x9", "dc csw, x9", "dc isw, x9", "dsb sy"
);

register!(
    /// ICC_AP1R0_EL1: active priorities of group 1.
    read active_priorities, "S3_0_C12_C9_0"
);
register!(
    /// ICC_AP1R0_EL1: active priorities of group 1.
    write set_active_priorities, "S3_0_C12_C9_0"
);
register!(
    /// ICC_AP0R0_EL1: active priorities of group 0.
    read active_priorities_0, "S3_0_C12_C8_4"
);
register!(
    /// ICC_AP0R0_EL1: active priorities of group 0.
    write set_active_priorities_0, "S3_0_C12_C8_4"
);
register!(
    /// ICC_BPR1_EL1.
    read binary_point, "S3_0_C12_C12_3"
);
register!(
    /// ICC_BPR1_EL1.
    write set_binary_point, "S3_0_C12_C12_3"
);
register!(
    /// ICC_PMR_EL1.
    read priority_mask, "S3_0_C4_C6_0"
);
register!(
    /// ICC_PMR_EL1.
    write set_priority_mask, "S3_0_C4_C6_0"
);
register!(
    /// ICC_CTLR_EL1.
    read interrupt_control, "S3_0_C12_C12_4"
);
register!(
    /// ICC_CTLR_EL1.
    write set_interrupt_control, "S3_0_C12_C12_4"
);
register!(
    /// ICC_IGRPEN1_EL1.
    read group_1, "S3_0_C12_C12_7"
);
register!(
    /// ICC_IGRPEN1_EL1.
    write set_group_1, "S3_0_C12_C12_7"
);
register!(
    /// ICC_IGRPEN0_EL1.
    read group_0, "S3_0_C12_C12_6"
);
register!(
    /// ICC_IGRPEN0_EL1.
    write set_group_0, "S3_0_C12_C12_6"
);
register!(
    /// CNTV_CTL_EL0.
    write set_virtual_timer, "cntv_ctl_el0"
);
register!(
    /// CNTP_CTL_EL0.
    write set_physical_timer, "cntp_ctl_el0"
);
register!(
    /// CNTP_CVAL_EL0.
    write set_physical_deadline, "cntp_cval_el0"
);
register!(
    /// VBAR_EL1.
    write set_vectors, "vbar_el1"
);
register!(
    /// SCTLR_EL1.
    read control, "sctlr_el1"
);
register!(
    /// SCTLR_EL1.
    write set_control, "sctlr_el1"
);
register!(
    /// TCR_EL1.
    read translation_control, "tcr_el1"
);
register!(
    /// TCR_EL1.
    write set_translation_control, "tcr_el1"
);
register!(
    /// TTBR1_EL1.
    write set_upper_tables, "ttbr1_el1"
);
register!(
    /// ICC_IAR1_EL1.
    read acknowledge, "S3_0_C12_C12_0"
);
