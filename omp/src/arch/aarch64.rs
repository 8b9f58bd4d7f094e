//! AArch64, AAPCS64.

use core::arch::{asm, global_asm, naked_asm};
use core::cell::Cell;

global_asm!(
    ".pushsection .tbss.bulkhead_omp_worker,\"awT\",@nobits",
    ".globl bulkhead_omp_worker",
    ".hidden bulkhead_omp_worker",
    ".type bulkhead_omp_worker, @object",
    ".size bulkhead_omp_worker, 16",
    ".p2align 4",
    "bulkhead_omp_worker:",
    ".zero 16",
    ".popsection",
);

/// The word that this kernel thread last passed to [`set_current_worker`]; null before.
///
/// Never cached by the compiler: after a switch the same code may run on another thread.
#[inline(always)]
pub fn current_worker() -> *const u8 {
    let worker: *const u8;
    // SAFETY: reads the thread's own word.
    unsafe {
        asm!(
            "mrs {1}, tpidr_el0",
            "adrp {0}, :gottprel:bulkhead_omp_worker",
            "ldr {0}, [{0}, :gottprel_lo12:bulkhead_omp_worker]",
            "ldr {0}, [{1}, {0}]",
            out(reg) worker,
            out(reg) _,
            options(nostack, preserves_flags, readonly),
        );
    }
    worker
}

/// Makes `worker` what [`current_worker`] returns on this kernel thread.
#[inline(always)]
pub fn set_current_worker(worker: *const u8) {
    // SAFETY: writes the thread's own word.
    unsafe {
        asm!(
            "mrs {1}, tpidr_el0",
            "adrp {0}, :gottprel:bulkhead_omp_worker",
            "ldr {0}, [{0}, :gottprel_lo12:bulkhead_omp_worker]",
            "str {2}, [{1}, {0}]",
            out(reg) _,
            out(reg) _,
            in(reg) worker,
            options(nostack, preserves_flags),
        );
    }
}

/// Address of the number of locks that the running stack holds: behind the worker's word.
#[inline(always)]
fn locks_word() -> *mut u32 {
    let word: *mut u32;
    // SAFETY: computes the address of the thread's own word.
    unsafe {
        asm!(
            "mrs {1}, tpidr_el0",
            "adrp {0}, :gottprel:bulkhead_omp_worker",
            "ldr {0}, [{0}, :gottprel_lo12:bulkhead_omp_worker]",
            "add {0}, {0}, {1}",
            "add {0}, {0}, #8",
            out(reg) word,
            out(reg) _,
            options(nostack, preserves_flags, readonly),
        );
    }
    word
}

/// Adds `CHANGE` to the number of locks that the running stack holds.
#[inline(always)]
pub fn count_lock<const CHANGE: i32>() {
    set_locks(locks().wrapping_add_signed(CHANGE));
}

/// Number of locks that the running stack holds.
#[inline(always)]
pub fn locks() -> u32 {
    // SAFETY: the thread's own word; volatile because the same code may run on another thread after a switch.
    unsafe { locks_word().read_volatile() }
}

/// Makes `locks` what [`locks`] returns, before a switch to the stack that holds them.
#[inline(always)]
pub fn set_locks(locks: u32) {
    // SAFETY: the thread's own word.
    unsafe { locks_word().write_volatile(locks) };
}

/// Address of `__cxa_get_globals`, 0 in programs that do not have it: stable Rust has no weak names.
pub fn exceptions_function() -> usize {
    let function;
    // SAFETY: reads the linker's table.
    unsafe {
        asm!(
            ".weak __cxa_get_globals",
            "adrp {0}, :got:__cxa_get_globals",
            "ldr {0}, [{0}, :got_lo12:__cxa_get_globals]",
            out(reg) function,
            options(nostack, preserves_flags, readonly, pure),
        );
    }
    function
}

/// Leaves the running stack, its top stored in `save`, for the one with the top `to`.
///
/// Callee-saved registers that cannot be declared clobbered (x19, x29) and the floating-point
/// control register travel on the stack; the compiler saves the rest where it is live.
///
/// # Safety
/// `to` comes from [`start_frame`] or an earlier `switch`, and is entered once.
#[inline(always)]
pub unsafe fn switch(save: &Cell<usize>, to: usize) {
    // SAFETY: the caller vouches for `to`; every register is saved here or declared clobbered.
    unsafe {
        asm!(
            "adr x9, 2f",
            "mrs x10, fpcr",
            "sub sp, sp, #32",
            "stp x19, x29, [sp, #16]",
            "stp x9, x10, [sp]",
            "mov x9, sp",
            "str x9, [x0]",
            "mov sp, x1",
            "ldr x9, [sp]",
            "br x9",
            "2:",
            "hint #36",
            "ldr x10, [sp, #8]",
            "msr fpcr, x10",
            "ldp x19, x29, [sp, #16]",
            "add sp, sp, #32",
            inout("x0") save.as_ptr() => _,
            inout("x1") to => _,
            lateout("x20") _, lateout("x21") _, lateout("x22") _, lateout("x23") _,
            lateout("x24") _, lateout("x25") _, lateout("x26") _, lateout("x27") _,
            lateout("x28") _,
            lateout("d8") _, lateout("d9") _, lateout("d10") _, lateout("d11") _,
            lateout("d12") _, lateout("d13") _, lateout("d14") _, lateout("d15") _,
            clobber_abi("C"),
        );
    }
}

/// Prepares the stack that ends below `high` so that switching to the result calls `main`.
///
/// # Safety
/// The 32 bytes below `high` are writable and the caller's alone; `main` never returns.
pub unsafe fn start_frame(high: usize, main: extern "C" fn() -> !) -> usize {
    let frame = ((high & !15) - 32) as *mut usize;
    // SAFETY: inside the 32 bytes the caller gives.
    unsafe { frame.write(enter as *const () as usize) };
    let argument = frame.wrapping_add(1);
    // SAFETY: inside the 32 bytes the caller gives.
    unsafe { argument.write(main as *const () as usize) };
    frame as usize
}

/// First instruction of a fresh stack: calls what `start_frame` left there; ends back traces.
#[unsafe(naked)]
extern "C" fn enter() -> ! {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined x30",
        "hint #36",
        "mov x29, xzr",
        "mov x30, xzr",
        "ldr x9, [sp, #8]",
        "add sp, sp, #32",
        "blr x9",
        "brk #1",
        ".cfi_endproc",
    )
}

/// Address near the top of the running stack.
#[inline(always)]
pub fn stack_pointer() -> usize {
    let sp: usize;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, sp", out(reg) sp, options(nostack, nomem, preserves_flags)) };
    sp
}

/// Tells the core that it spins; where that is emulated, another core then runs.
#[cfg(target_os = "none")]
#[inline(always)]
pub fn pause() {
    // SAFETY: a hint.
    unsafe { asm!("yield", options(nostack, nomem, preserves_flags)) };
}

/// Tells the core that it spins.
#[cfg(not(target_os = "none"))]
#[inline(always)]
pub fn pause() {
    core::hint::spin_loop();
}

/// Generic timer's virtual count, in ticks of CNTFRQ_EL0.
#[inline(always)]
pub fn cycles() -> u64 {
    let count: u64;
    // SAFETY: EL0 may read the virtual count (Linux and Bulkhead both allow it).
    unsafe { asm!("mrs {}, cntvct_el0", out(reg) count, options(nostack, nomem)) };
    count
}

/// The cycle counter, read after every earlier access has taken effect and before any later one begins.
#[cfg(feature = "trace")]
pub fn cycles_in_order() -> u64 {
    core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
    let count: u64;
    // SAFETY: EL0 may read the virtual count (Linux and Bulkhead both allow it).
    unsafe { asm!("isb", "mrs {}, cntvct_el0", "isb", out(reg) count, options(nostack)) };
    count
}
