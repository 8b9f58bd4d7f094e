//! x86-64, System V ABI.
//!
//! The thread's worker and its number of locks live in two initial-exec thread-local words: two loads,
//! no call to `__tls_get_addr`. They are written in assembly because stable Rust cannot choose a TLS model.

use core::arch::{asm, global_asm, naked_asm, x86_64};
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
    // SAFETY: reads the thread's own word; touches neither stack nor flags.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + bulkhead_omp_worker@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) worker,
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
            "mov {0}, qword ptr [rip + bulkhead_omp_worker@GOTTPOFF]",
            "mov qword ptr fs:[{0}], {1}",
            out(reg) _,
            in(reg) worker,
            options(nostack, preserves_flags),
        );
    }
}

/// Adds `CHANGE` to the number of locks that the running stack holds.
#[inline(always)]
pub fn count_lock<const CHANGE: i32>() {
    // SAFETY: changes the thread's own word.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + bulkhead_omp_worker@GOTTPOFF]",
            "add dword ptr fs:[{0} + 8], {1}",
            out(reg) _,
            const CHANGE,
            options(nostack),
        );
    }
}

/// Number of locks that the running stack holds.
#[inline(always)]
pub fn locks() -> u32 {
    let locks: u32;
    // SAFETY: reads the thread's own word.
    unsafe {
        asm!(
            "mov {0:r}, qword ptr [rip + bulkhead_omp_worker@GOTTPOFF]",
            "mov {0:e}, dword ptr fs:[{0:r} + 8]",
            out(reg) locks,
            options(nostack, preserves_flags, readonly),
        );
    }
    locks
}

/// Makes `locks` what [`locks`] returns, before a switch to the stack that holds them.
#[inline(always)]
pub fn set_locks(locks: u32) {
    // SAFETY: writes the thread's own word.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + bulkhead_omp_worker@GOTTPOFF]",
            "mov dword ptr fs:[{0} + 8], {1:e}",
            out(reg) _,
            in(reg) locks,
            options(nostack, preserves_flags),
        );
    }
}

/// Address of `__cxa_get_globals`, 0 in programs that do not have it: stable Rust has no weak names.
pub fn exceptions_function() -> usize {
    let function;
    // SAFETY: reads the linker's table.
    unsafe {
        asm!(
            ".weak __cxa_get_globals",
            "mov {0}, qword ptr [rip + __cxa_get_globals@GOTPCREL]",
            out(reg) function,
            options(nostack, preserves_flags, readonly, pure),
        );
    }
    function
}

/// Leaves the running stack, its top stored in `save`, for the one with the top `to`.
///
/// Callee-saved registers and the floating-point control words (which the ABI preserves across
/// calls) travel on the stack; everything else the compiler saves where it is live. It jumps: a
/// `ret` would miss the return predictor (22 instead of 5 cycles, `facts/openmp.md`).
///
/// # Safety
/// `to` comes from [`start_frame`] or an earlier `switch`, and is entered once.
#[inline(always)]
pub unsafe fn switch(save: &Cell<usize>, to: usize) {
    // SAFETY: the caller vouches for `to`; every register is saved here or declared clobbered.
    unsafe {
        asm!(
            "push rbx",
            "push rbp",
            "sub rsp, 8",
            "stmxcsr [rsp]",
            "fnstcw [rsp + 4]",
            "lea rax, [rip + 2f]",
            "push rax",
            "mov [rdi], rsp",
            "mov rsp, rsi",
            "pop rax",
            "jmp rax",
            "2:",
            "ldmxcsr [rsp]",
            "fldcw [rsp + 4]",
            "add rsp, 8",
            "pop rbp",
            "pop rbx",
            inout("rdi") save.as_ptr() => _,
            inout("rsi") to => _,
            lateout("r12") _,
            lateout("r13") _,
            lateout("r14") _,
            lateout("r15") _,
            clobber_abi("sysv64"),
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

/// First instruction of a fresh stack: calls what `start_frame` left above it; ends back traces.
#[unsafe(naked)]
extern "C" fn enter() -> ! {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined rip",
        "xor ebp, ebp",
        "mov rax, [rsp]",
        "add rsp, 8",
        "call rax",
        "ud2",
        ".cfi_endproc",
    )
}

/// Address near the top of the running stack.
#[inline(always)]
pub fn stack_pointer() -> usize {
    let sp: usize;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) sp, options(nostack, nomem, preserves_flags)) };
    sp
}

/// Tells the core that it spins.
#[inline(always)]
pub fn pause() {
    core::hint::spin_loop();
}

/// Time-stamp counter, in cycles of its own constant rate.
#[inline(always)]
pub fn cycles() -> u64 {
    // SAFETY: every x86-64 machine has the instruction.
    unsafe { x86_64::_rdtsc() }
}

/// The cycle counter, read after every earlier access has taken effect and before any later one begins.
#[cfg(feature = "trace")]
pub fn cycles_in_order() -> u64 {
    core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
    // SAFETY: every x86-64 machine has the instruction.
    unsafe { x86_64::_mm_lfence() };
    let now = cycles();
    // SAFETY: as above.
    unsafe { x86_64::_mm_lfence() };
    now
}
