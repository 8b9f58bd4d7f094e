//! The user-level switch on AArch64
//!
//! Steps are those of `models/dispatch.pml`, S1 to S7 on the way out, R1 and R2 on the way in; the
//! discipline is that of [`bulkhead_abi::dispatch`]. Callee-saved registers, integer and FP, are on
//! the thread's stack while it is away. Where the kernel resumes a thread from its block, the first
//! argument register is zero.
#![expect(unsafe_code, reason = "the switch is assembly")]

use crate::call::{Answer, call};
use bulkhead_abi::dispatch::{Dcb, KERNEL_RESUME_OFFSET, MAX_THREADS, Scb};
use bulkhead_abi::kernel::{KEEP, NEVER, Operation, SAME_TIME, SCB_ADDRESS};
use core::arch::global_asm;
use core::mem::offset_of;
use core::sync::atomic::Ordering::Relaxed;

global_asm!(
    r#"
// x0 = own block, x1 = next one's, x2 = its index, x3 = SCB, x4 = epoch of the decision,
// x5 = capability to the next thread.
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
    ldp     x6, x7, [x3, #{epoch}]      // epoch; events written and read
    eor     x7, x7, x7, ror #32
    cbnz    x7, 3f                      // events came
    cmp     x6, x4
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
    mov     x0, #{resumed}
    ldp     d8, d9, [sp, #96]           // R2, where the kernel resumes, x0 = 0
    ldp     d10, d11, [sp, #112]
    ldp     d12, d13, [sp, #128]
    ldp     d14, d15, [sp, #144]
    ldp     x19, x20, [sp, #16]
    ldp     x21, x22, [sp, #32]
    ldp     x23, x24, [sp, #48]
    ldp     x25, x26, [sp, #64]
    ldp     x27, x28, [sp, #80]
    ldp     x29, x30, [sp], #160
    ret
2:  mov     x19, x0                     // SLOW: it was preempted, or never ran
    mov     x0, x5
    mov     x1, #{dispatch}
    mov     x2, #-1                     // on the time that runs
    mov     x3, #{keep}                 // under the time-out that is set
    mov     x5, xzr
    mov     x6, xzr
    svc     #0                          // if it succeeds, this thread goes on at R1 or R2
    str     xzr, [x19, #8]              // SLOW_RETURN
    ldr     x19, [sp, #16]
3:  ldr     x29, [sp], #160
    mov     x0, #{refused}
    ret
"#,
    epoch = const offset_of!(Scb, epoch),
    current = const offset_of!(Scb, current),
    resumed = const RESUMED,
    dispatch = const Operation::Dispatch as u64,
    keep = const KEEP,
    refused = const REFUSED,
);

const RESUMED: u64 = 0;
const REFUSED: u64 = 1;

const _: () = assert!(SAME_TIME == u64::MAX);
const _: () = assert!(offset_of!(Scb, produced) == offset_of!(Scb, epoch) + 8);
const _: () = assert!(
    KERNEL_RESUME_OFFSET == 8,
    "R1 and R2 are two instructions apart"
);

unsafe extern "C" {
    fn bulkhead_switch(
        caller: &Dcb,
        next: &Dcb,
        index: u64,
        scb: &Scb,
        epoch: u64,
        thread: u64,
    ) -> u64;
}

/// How a switch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switched {
    /// The caller runs again.
    Resumed,
    /// An activation or an event came between decision and switch, or the thread cannot run: decide
    /// again.
    Refused,
}

/// Returns the scheduler control block that the kernel shares with the first component's scheduler.
#[must_use]
pub fn scb() -> &'static Scb {
    let scb: *const Scb = core::ptr::with_exposed_provenance(SCB_ADDRESS as usize);
    // SAFETY: mapped at boot for good; all of it is atomic.
    unsafe { &*scb }
}

/// The block of the first component's thread `index`, modulo their number.
#[inline(always)]
#[must_use]
pub fn dcb(index: usize) -> &'static Dcb {
    block(scb(), index)
}

/// Returns a dispatch control block behind the given core's SCB, which must be one that the kernel
/// mapped.
#[inline(always)]
#[must_use]
pub fn block(scb: &'static Scb, index: usize) -> &'static Dcb {
    let first = core::ptr::from_ref(scb).addr() + size_of::<Scb>();
    let place = first + index % MAX_THREADS * size_of::<Dcb>();
    let dcb: *const Dcb = core::ptr::with_exposed_provenance(place);
    // SAFETY: in the same page, behind the SCB.
    unsafe { &*dcb }
}

/// Takes all events as read.
pub fn consume_events(scb: &Scb) {
    scb.consumed.store(scb.produced.load(Relaxed), Relaxed);
}

/// A thread to switch to.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its block.
    pub dcb: &'static Dcb,
    /// Its index in the SCB.
    pub index: u64,
    /// The capability to it.
    pub thread: u64,
}

/// Switches from the running thread with the block `caller` to another one of the same scheduler: in
/// user mode, or through the kernel if that one was preempted or never ran.
///
/// # Safety
/// `caller` is the running thread's block, `next` another thread's, both under the scheduler that
/// shares `scb`.
#[inline(always)]
pub unsafe fn switch(caller: &Dcb, next: Target, scb: &Scb, epoch: u64) -> Switched {
    // SAFETY: the caller's promise.
    match unsafe { bulkhead_switch(caller, next.dcb, next.index, scb, epoch, next.thread) } {
        RESUMED => Switched::Resumed,
        _ => Switched::Refused,
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
