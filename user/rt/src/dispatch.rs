//! The user-level switch on AArch64
//!
//! Steps are those of `models/dispatch.pml`, S1 to S7 on the way out, R1 and R2 on the way in; the
//! discipline is that of [`bulkhead_abi::dispatch`]. Callee-saved registers, integer and FP, are on
//! the thread's stack while it is away.
#![expect(unsafe_code, reason = "the switch is assembly")]

use crate::call::{Answer, call};
use bulkhead_abi::dispatch::{Dcb, KERNEL_RESUME_OFFSET, Scb};
use bulkhead_abi::kernel::{NEVER, Operation};
use core::arch::global_asm;
use core::mem::offset_of;

global_asm!(
    r#"
// x0 = own block, x1 = next one's, x2 = its index, x3 = SCB, x4 = epoch of the decision.
.section .text.bulkhead_switch, "ax"
.global bulkhead_switch
.balign 16
bulkhead_switch:
    stp     x29, x30, [sp, #-160]!
    stp     x19, x20, [sp, #16]
    stp     x21, x22, [sp, #32]
    stp     x23, x24, [sp, #48]
    stp     x25, x26, [sp, #64]
    stp     x27, x28, [sp, #80]
    stp     d8, d9, [sp, #96]
    stp     d10, d11, [sp, #112]
    stp     d12, d13, [sp, #128]
    stp     d14, d15, [sp, #144]
    ldp     x5, x6, [x3, #{epoch}]      // epoch; events written and read
    eor     x6, x6, x6, ror #32
    cbnz    x6, 3f                      // events came
    cmp     x5, x4
    b.ne    3f                          // an activation came
    adr     x7, 1f
    str     x7, [x0]                    // S1
    mov     x8, sp
    str     x8, [x0, #8]                // S2
    ldr     x9, [x1, #8]                // S3
    cbz     x9, 2f                      // S4
    str     x2, [x3, #{current}]        // S5
    mov     sp, x9                      // S6
    ldr     x10, [x1]                   // S7
    br      x10
1:  str     xzr, [x1, #8]               // R1
    nop
    ldp     d8, d9, [sp, #96]           // R2, where the kernel resumes
    ldp     d10, d11, [sp, #112]
    ldp     d12, d13, [sp, #128]
    ldp     d14, d15, [sp, #144]
    ldp     x19, x20, [sp, #16]
    ldp     x21, x22, [sp, #32]
    ldp     x23, x24, [sp, #48]
    ldp     x25, x26, [sp, #64]
    ldp     x27, x28, [sp, #80]
    ldp     x29, x30, [sp], #160
    mov     x0, #{resumed}
    ret
2:  str     xzr, [x0, #8]               // SLOW: preempted, or never ran
    add     sp, sp, #160
    mov     x0, #{needs_kernel}
    ret
3:  add     sp, sp, #160
    mov     x0, #{stale}
    ret
"#,
    epoch = const offset_of!(Scb, epoch),
    current = const offset_of!(Scb, current),
    resumed = const RESUMED,
    needs_kernel = const NEEDS_KERNEL,
    stale = const STALE,
);

const RESUMED: u64 = 0;
const NEEDS_KERNEL: u64 = 1;
const STALE: u64 = 2;

const _: () = assert!(offset_of!(Scb, produced) == offset_of!(Scb, epoch) + 8);
const _: () = assert!(KERNEL_RESUME_OFFSET == 8, "R1 and R2 are two instructions apart");

unsafe extern "C" {
    fn bulkhead_switch(own: &Dcb, next: &Dcb, index: u64, scb: &Scb, epoch: u64) -> u64;
}

/// How a switch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switched {
    /// The caller runs again.
    Resumed,
    /// The next thread was preempted or never ran: the kernel must dispatch it.
    NeedsKernel,
    /// An activation or an event came between decision and switch: decide again.
    Stale,
}

/// Switches from the running thread to another one of the same scheduler.
///
/// # Safety
/// `own` is the running thread's block, `next` another thread's of index `index` under the scheduler
/// that shares `scb`.
#[inline(always)]
pub unsafe fn switch(own: &Dcb, next: &Dcb, index: u64, scb: &Scb, epoch: u64) -> Switched {
    // SAFETY: the caller's promise.
    match unsafe { bulkhead_switch(own, next, index, scb, epoch) } {
        RESUMED => Switched::Resumed,
        NEEDS_KERNEL => Switched::NeedsKernel,
        _ => Switched::Stale,
    }
}

/// Has the kernel run the thread behind the capability at `index`, on the time at `time` or
/// [`bulkhead_abi::kernel::SAME_TIME`], without a time-out.
///
/// # Errors
/// The kernel's refusal; stale decisions, too.
#[inline(always)]
pub fn through_kernel(index: u64, time: u64, epoch: u64) -> Answer {
    call(index, Operation::Dispatch, [time, NEVER, epoch])
}
