//! The switch
//!
//! Steps S1–S7, R1 and R2 are those of `models/dispatch.pml`: between any two of them a signal may
//! come and the thread may be resumed by the kernel instead.
#![expect(unsafe_code, reason = "the switch changes the stack pointer")]

use bulkhead_abi::dispatch::{Dcb, KERNEL_RESUME_OFFSET, Scb};
use core::mem::offset_of;

/// How a call of [`dispatch`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Outcome {
    /// The thread was switched away from and is back; others ran in between.
    Resumed = 0,
    /// Nothing was switched: the kernel activated a thread, or has events, since the decision.
    Stale = 1,
    /// Nothing was switched: the next thread was preempted, only the kernel can resume it.
    NeedsKernel = 2,
}

/// Switches from the thread of block `caller` to the thread `token` of block `next`, decided under
/// `epoch`.
///
/// # Safety
/// `caller` is the running thread's block and `next` another thread's, both of the core with SCB
/// `scb`; `next` holds zero in `sp` or what a thread stored there itself; the caller is not in a
/// signal handler.
#[inline(always)]
pub unsafe fn dispatch(caller: &Dcb, next: &Dcb, token: u64, scb: &Scb, epoch: u64) -> Outcome {
    // SAFETY: the contract is the caller's; the assembly keeps the C calling convention.
    let code = unsafe { dispatch_raw(caller, next, token, scb, epoch) };
    match code {
        0 => Outcome::Resumed,
        1 => Outcome::Stale,
        _ => Outcome::NeedsKernel,
    }
}

unsafe extern "C" {
    fn dispatch_raw(caller: &Dcb, next: &Dcb, token: u64, scb: &Scb, epoch: u64) -> u32;
}

const _: () = assert!(KERNEL_RESUME_OFFSET == 8, "length of instruction R1");

::core::arch::global_asm!(
    ".text",
    ".p2align 6",
    ".globl dispatch_raw",
    "dispatch_raw:",
    // Decided under another epoch, or events to read: let the scheduler decide again.
    "cmp r8, [rcx + {epoch}]",
    "jne 2f",
    "mov eax, [rcx + {produced}]",
    "cmp eax, [rcx + {consumed}]",
    "jne 2f",
    // What the callee must keep (System V ABI §3.2.1), control words included.
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "sub rsp, 8",
    "stmxcsr [rsp]",
    "fnstcw [rsp + 4]",
    "lea rax, [rip + 4f]",
    "mov [rdi + {ip}], rax",          // S1: ip before sp
    "mov [rdi + {sp}], rsp",          // S2: from here on the kernel may resume it at R2
    "mov rax, [rsi + {sp}]",          // S3
    "test rax, rax",                  // S4: preempted threads are the kernel's to resume
    "jz 3f",
    "mov [rcx + {current}], rdx",     // S5: from here on the kernel sees `next`
    "mov rsp, rax",                   // S6
    "jmp [rsi + {ip}]",               // S7
    ".p2align 3",
    "4:",
    "mov qword ptr [rsi + {sp}], 0",  // R1: arrived by a switch; eight bytes long
    // R2: arrived; the kernel resumes here, having cleared sp itself
    "xor eax, eax",
    "5:",
    "ldmxcsr [rsp]",
    "fldcw [rsp + 4]",
    "add rsp, 8",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    // Not `ret`: the return predictor knows nothing of this stack.
    "pop rcx",
    "jmp rcx",
    "3:",
    "mov qword ptr [rdi + {sp}], 0",
    "mov eax, 2",
    "jmp 5b",
    "2:",
    "mov eax, 1",
    "ret",
    ip = const offset_of!(Dcb, ip),
    sp = const offset_of!(Dcb, sp),
    current = const offset_of!(Scb, current),
    epoch = const offset_of!(Scb, epoch),
    produced = const offset_of!(Scb, produced),
    consumed = const offset_of!(Scb, consumed),
);

::core::arch::global_asm!(
    ".text",
    ".p2align 4",
    ".globl thread_start_raw",
    // A new thread's first arrival, by a switch (R1) or by the kernel (R2): its stack holds the
    // entry function and its argument.
    "thread_start_raw:",
    "mov qword ptr [rsi + {sp}], 0",  // R1
    "pop rax",                        // R2
    "pop rdi",
    "xor ebp, ebp",
    "call rax",
    "ud2",
    sp = const offset_of!(Dcb, sp),
);

unsafe extern "C" {
    fn thread_start_raw();
}

/// Address at which a new thread starts; its stack then holds entry function and argument, lowest first.
pub(crate) fn thread_start() -> u64 {
    thread_start_raw as *const () as u64
}
