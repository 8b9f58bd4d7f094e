//! System registers and instructions of EL1
#![expect(unsafe_code, reason = "system instructions exist in assembly only")]

use core::arch::asm;

macro_rules! readers {
    ($($(#[$doc:meta])* $name:ident = $register:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub(crate) fn $name() -> u64 {
            let value: u64;
            // SAFETY: reads a register.
            unsafe {
                asm!(concat!("mrs {}, ", $register), out(reg) value,
                    options(nomem, nostack, preserves_flags));
            }
            value
        }
    )*};
}

macro_rules! writers {
    ($($(#[$doc:meta])* $name:ident = $register:literal $(, $barrier:literal)?;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub(crate) fn $name(value: u64) {
            // SAFETY: a register of user space, timers or interrupts, on which no kernel code rests.
            unsafe {
                asm!(concat!("msr ", $register, ", {}"), $($barrier,)? in(reg) value,
                    options(nostack, preserves_flags));
            }
        }
    )*};
}

/// The core's page. It is written once, before the kernel decides anything ([`set_core_page`]), so the compiler
/// may take what it has read for what it would read again: a path asks once instead of ten times.
#[inline(always)]
pub(crate) fn core_page() -> u64 {
    let value: u64;
    // SAFETY: reads a register.
    unsafe {
        asm!("mrs {}, tpidr_el1", out(reg) value, options(pure, nomem, nostack, preserves_flags));
    }
    value
}

readers! {
    /// Ticks of the counter that all partitions share.
    counter = "cntvct_el0";
    /// PC of the user context.
    user_pc = "elr_el1";
    /// Its stack pointer.
    user_sp = "sp_el0";
    /// Its thread pointer.
    thread_pointer = "tpidr_el0";
    /// Acknowledges the highest pending interrupt.
    acknowledge = "S3_0_C12_C12_0";
    /// Affinity of the core.
    affinity = "mpidr_el1";
    /// Ticks of the counter in a second.
    counter_frequency = "cntfrq_el0";
    /// Lines and policy of the caches.
    cache_type = "ctr_el0";
    /// Features of the memory system.
    memory_features = "id_aa64mmfr0_el1";
}

writers! {
    /// PC at which the user context continues.
    set_user_pc = "elr_el1";
    /// Its stack pointer.
    set_user_sp = "sp_el0";
    /// Its thread pointer.
    set_thread_pointer = "tpidr_el0";
    /// Root and identity of user translation.
    set_user_root = "ttbr0_el1", "isb";
    /// Floating point: 1 << 20 traps user space, 3 << 20 lets it.
    set_floating_point = "cpacr_el1";
    /// When the virtual timer fires.
    set_timer_deadline = "cntv_cval_el0";
    /// Enables and masks the virtual timer.
    set_timer_control = "cntv_ctl_el0";
    /// Access of user space to counters.
    set_counter_access = "cntkctl_el1";
    /// The core's page. To be followed by calls of functions that are not inlined, which alone read it.
    set_core_page = "tpidr_el1";
    /// The core's rank, which user space may read.
    set_core_rank = "tpidrro_el0";
    /// Ends an interrupt.
    end_interrupt = "S3_0_C12_C12_1";
    /// ICC_SRE_EL1.
    set_gic_system_registers = "S3_0_C12_C12_5", "isb";
    /// ICC_PMR_EL1.
    set_priority_mask = "S3_0_C4_C6_0";
    /// ICC_BPR1_EL1.
    set_binary_point = "S3_0_C12_C12_3";
    /// ICC_CTLR_EL1.
    set_interrupt_control = "S3_0_C12_C12_4";
    /// ICC_IGRPEN1_EL1.
    enable_interrupt_group = "S3_0_C12_C12_7", "isb";
    /// MDSCR_EL1: access of user space to the debug communications channel.
    set_debug_control = "mdscr_el1";
    /// Access of user space to the cycle counter.
    set_cycle_counter_access = "pmuserenr_el0";
    /// Which counters count.
    enable_counters = "pmcntenset_el0";
    /// At which levels the cycle counter counts: all.
    set_cycle_counter_filter = "pmccfiltr_el0";
    /// Starts the counters.
    set_counter_control = "pmcr_el0", "isb";
}

/// Stage-1 translations of this core are forgotten.
pub(crate) fn forget_translations() {
    // SAFETY: tables say what they said; less is cached.
    unsafe {
        asm!(
            "dsb ishst",
            "tlbi vmalle1",
            "dsb nsh",
            "isb",
            options(nostack, preserves_flags)
        );
    }
}

/// Sends a software-generated interrupt, `ICC_SGI1R_EL1`, after everything written before.
pub(crate) fn send_interrupt(value: u64) {
    // SAFETY: interrupts a core of the partition; the monitor sees to that.
    unsafe {
        asm!("dsb ishst", "msr S3_0_C12_C11_5, {}", in(reg) value, options(nostack, preserves_flags));
    }
}

/// Everything written before can be read by other cores, before anything that follows.
pub(crate) fn synchronize() {
    // SAFETY: barriers.
    unsafe { asm!("dsb ish", "isb", options(nostack, preserves_flags)) }
}

/// Writes back a line of data, so that instruction fetches find it.
pub(crate) fn clean_line(address: u64) {
    // SAFETY: cache maintenance on an address of the linear map.
    unsafe { asm!("dc cvau, {}", in(reg) address, options(nostack, preserves_flags)) }
}

/// No core fetches what it has of a line of instructions.
pub(crate) fn forget_instruction_line(address: u64) {
    // SAFETY: less is cached.
    unsafe { asm!("ic ivau, {}", in(reg) address, options(nostack, preserves_flags)) }
}

/// No core fetches instructions that it has: for caches in which an address has aliases.
pub(crate) fn forget_all_instructions() {
    // SAFETY: less is cached.
    unsafe { asm!("ic ialluis", options(nostack, preserves_flags)) }
}

/// Waits for an interrupt.
pub(crate) fn wait_for_interrupt() {
    // SAFETY: a hint.
    unsafe { asm!("wfi", options(nostack, preserves_flags)) }
}

/// `hvc #0` with up to three arguments; the result.
pub(crate) fn hypervisor_call<const N: usize>(function: u64, arguments: [u64; N]) -> u64 {
    let argument = |number: usize| arguments.get(number).copied().unwrap_or(0);
    let result: u64;
    // SAFETY: the monitor keeps what the calling convention names; none of the functions used
    // remaps memory.
    unsafe {
        asm!("hvc #0", inout("x0") function => result, inout("x1") argument(0) => _,
            inout("x2") argument(1) => _, inout("x3") argument(2) => _, out("x4") _, out("x5") _, out("x6") _, out("x7") _,
            out("x8") _, out("x9") _, out("x10") _, out("x11") _, out("x12") _, out("x13") _,
            out("x14") _, out("x15") _, out("x16") _, out("x17") _, options(nostack));
    }
    result
}
