//! Invocations and their entries
//!
//! A client keeps the integer registers that it wants back on its own stack: the kernel clears
//! them. A server has a stack for each invocation that is in it, claimed by the thread's number on
//! its core.
#![expect(
    unsafe_code,
    reason = "the calling conventions of invocations are assembly"
)]

use core::arch::global_asm;

global_asm!(
    r#"
.macro keep_registers
    stp     x29, x30, [sp, #-96]!
    stp     x19, x20, [sp, #16]
    stp     x21, x22, [sp, #32]
    stp     x23, x24, [sp, #48]
    stp     x25, x26, [sp, #64]
    stp     x27, x28, [sp, #80]
.endm
.macro recover_registers
    ldp     x19, x20, [sp, #16]
    ldp     x21, x22, [sp, #32]
    ldp     x23, x24, [sp, #48]
    ldp     x25, x26, [sp, #64]
    ldp     x27, x28, [sp, #80]
    ldp     x29, x30, [sp], #96
.endm

.section .text.bulkhead_invocation, "ax"
.global bulkhead_invocation
bulkhead_invocation:
    keep_registers
    svc     #0
    recover_registers
    ret
"#
);

#[doc(hidden)]
pub const IN_USE: u64 = bulkhead_abi::kernel::Status::InUse as u64;

/// `x0` and `x1` after an invocation: a [`bulkhead_abi::kernel::Status`] and the server's answer.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// 0, or the reason for which the invocation failed.
    pub status: u64,
    /// The answer.
    pub value: u64,
}

unsafe extern "C" {
    fn bulkhead_invocation(
        index: u64,
        x1: u64,
        x2: u64,
        x3: u64,
        x4: u64,
        x5: u64,
        x6: u64,
    ) -> Reply;
}

/// Invokes the server behind the capability at `index` with a message of five words. The kernel
/// keeps the FP registers that a function preserves.
#[inline(always)]
#[must_use]
pub fn invoke(index: u64, words: [u64; 5]) -> Reply {
    // SAFETY: keeps what a function keeps.
    unsafe { bulkhead_invocation(index, words[0], words[1], words[2], words[3], words[4], 0) }
}

/// Calls a capability that may invoke a server.
#[must_use]
pub fn call_or_invoke(index: u64, operation: u64, words: [u64; 5]) -> Reply {
    let [x2, x3, x4, x5, x6] = words;
    // SAFETY: keeps what a function keeps.
    unsafe { bulkhead_invocation(index, operation, x2, x3, x4, x5, x6) }
}

/// Runs invocations of the component as `$handler(token, message) -> value`, each on a stack of its
/// own of `$bytes` bytes: `$threads` stacks, for threads of one core, or so many for each core with
/// a rank below `$cores`. An invocation that finds no free stack faults, and its client gets an
/// error.
///
/// Without `threads` there is one stack, for threads of all cores: a client that comes while it is
/// in use is answered [`Status::InUse`](bulkhead_abi::kernel::Status::InUse).
///
/// A stack is claimed by a word at its upper end: the depth of the invocation above rank and number
/// of the thread, which no other thread of the partition has. A claim outlives an invocation that
/// faulted, and one of a retired thread. A thread that comes at the claim's depth or further out
/// has left that invocation, and takes the stack over. A thread that comes from further inside has
/// another stack.
#[macro_export]
macro_rules! serve {
    ($handler:ident, stack: $bytes:literal) => {
        $crate::serve!(@stacks $handler, 1, 1, 1, $bytes, bulkhead_invoked);
    };
    ($handler:ident, threads: $threads:expr, stack: $bytes:literal) => {
        $crate::serve!(@stacks $handler, $threads, 1, 0, $bytes, bulkhead_invoked);
    };
    // Under another name, for a program that may serve.
    ($handler:ident, threads: $threads:expr, stack: $bytes:literal, entry: $entry:ident) => {
        $crate::serve!(@stacks $handler, $threads, 1, 0, $bytes, $entry);
    };
    ($handler:ident, threads: $threads:expr, cores: $cores:expr, stack: $bytes:literal) => {
        $crate::serve!(@stacks $handler, $threads, $cores, 0, $bytes, bulkhead_invoked);
    };
    (@stacks $handler:ident, $threads:expr, $cores:expr, $answers:literal, $bytes:literal, $entry:ident) => {
        mod served {
            #![expect(unsafe_code, reason = "an entry is assembly")]

            #[repr(C, align(16))]
            struct Stacks(core::cell::UnsafeCell<[[[u8; $bytes]; $threads]; $cores]>);

            // SAFETY: an invocation runs on the element that it has claimed.
            unsafe impl Sync for Stacks {}

            static STACKS: Stacks =
                Stacks(core::cell::UnsafeCell::new([[[0; $bytes]; $threads]; $cores]));

            const _: () = assert!($bytes % 16 == 0, "the ABI's alignment");

            extern "C" fn handle(token: u64, x1: u64, x2: u64, x3: u64, x4: u64, x5: u64) -> u64 {
                super::$handler(token, [x1, x2, x3, x4, x5])
            }

            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            extern "C" fn $entry() {
                core::arch::naked_asm!(
                    "mrs x9, tpidrro_el0",
                    "orr x6, x6, x9, lsl #16",      // the claim
                    "adrp x7, {stacks}",
                    "add x7, x7, :lo12:{stacks}",
                    "mov x8, #{bytes}",
                    "mov x10, #{threads}",
                    ".if {cores} > 1",
                    "cmp x9, #{cores}",
                    "b.hs 5f",
                    "mul x11, x10, x8",
                    "madd x7, x9, x11, x7",
                    ".endif",
                    "mov w11, w6",
                    "udiv x12, x11, x10",
                    "msub x12, x12, x10, x11",
                    "mov x13, x10",                 // stacks that were not searched yet
                    "1: madd x14, x12, x8, x7",
                    "add x14, x14, x8",
                    "sub x14, x14, #16",
                    "2: ldaxr x15, [x14]",
                    "cbnz x15, 4f",
                    "3: stxr w16, x6, [x14]",
                    "cbnz w16, 2b",
                    "mov sp, x14",
                    "bl {handle}",
                    "mov x1, x0",
                    "mov x0, xzr",
                    "stlr xzr, [sp]",
                    "svc #0",
                    "udf #2",
                    "4: cmp w15, w6",
                    "b.ne 6f",
                    "cmp x15, x6",
                    "b.hs 3b",                      // of an invocation that this thread has left
                    "6: clrex",
                    "add x12, x12, #1",
                    "cmp x12, x10",
                    "csel x12, xzr, x12, eq",
                    "subs x13, x13, #1",
                    "b.ne 1b",
                    "5:",
                    ".if {answers}",
                    "mov x1, #{in_use}",
                    "mov x0, xzr",
                    "svc #0",
                    ".endif",
                    "udf #2",
                    stacks = sym STACKS,
                    handle = sym handle,
                    threads = const $threads,
                    cores = const $cores,
                    answers = const $answers,
                    bytes = const $bytes,
                    in_use = const $crate::invocation::IN_USE,
                );
            }
        }
    };
}

const _: () = assert!(
    bulkhead_abi::kernel::CALLER_DEPTH_SHIFT == 32,
    "as `serve!` shifts"
);
