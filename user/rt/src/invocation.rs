//! Invocations and their entries
//!
//! A client keeps what it wants back on its own stack: the kernel keeps PC and SP alone. A server
//! has one stack per thread, chosen by the thread's index.
#![expect(
    unsafe_code,
    reason = "the calling conventions of invocations are assembly"
)]

use core::arch::global_asm;

global_asm!(
    r#"
.macro keep_registers
    stp     x29, x30, [sp, #-160]!
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
    ldp     x29, x30, [sp], #160
.endm

.section .text.bulkhead_invoke, "ax"
.global bulkhead_invoke
bulkhead_invoke:
    keep_registers
    svc     #0
    recover_registers
    ret

.section .text.bulkhead_invoke_fp, "ax"
.global bulkhead_invoke_fp
bulkhead_invoke_fp:
    keep_registers
    stp     d8, d9, [sp, #96]
    stp     d10, d11, [sp, #112]
    stp     d12, d13, [sp, #128]
    stp     d14, d15, [sp, #144]
    svc     #0
    ldp     d8, d9, [sp, #96]
    ldp     d10, d11, [sp, #112]
    ldp     d12, d13, [sp, #128]
    ldp     d14, d15, [sp, #144]
    recover_registers
    ret
"#
);

/// `x0` and `x1` after an invocation: a [`bulkhead_abi::kernel::Status`] and the server's answer.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// 0, or why the invocation failed.
    pub status: u64,
    /// The answer.
    pub value: u64,
}

unsafe extern "C" {
    fn bulkhead_invoke(index: u64, x1: u64, x2: u64, x3: u64, x4: u64, x5: u64) -> Reply;
    fn bulkhead_invoke_fp(index: u64, x1: u64, x2: u64, x3: u64, x4: u64, x5: u64) -> Reply;
}

/// Invokes the server behind the capability at `index` with a message of five words. The server must
/// be known to leave `d8` to `d15` alone, or the client to keep nothing there.
#[inline(always)]
#[must_use]
pub fn invoke(index: u64, words: [u64; 5]) -> Reply {
    // SAFETY: keeps what a function keeps, but for FP registers, which the contract is about.
    unsafe { bulkhead_invoke(index, words[0], words[1], words[2], words[3], words[4]) }
}

/// The same, keeping FP registers as a function does.
#[inline(always)]
#[must_use]
pub fn invoke_keeping_fp(index: u64, words: [u64; 5]) -> Reply {
    // SAFETY: keeps what a function keeps.
    unsafe { bulkhead_invoke_fp(index, words[0], words[1], words[2], words[3], words[4]) }
}

/// Has invocations of the component run `$handler(token, message) -> value`, on stacks of `$bytes`
/// bytes for `$threads` threads.
///
/// Without `threads` there is one stack: for a component that one thread alone invokes.
#[macro_export]
macro_rules! serve {
    ($handler:ident, stack: $bytes:literal) => {
        $crate::serve!($handler, threads: 1, stack: $bytes, apart: 0);
    };
    ($handler:ident, threads: $threads:literal, stack: $bytes:literal) => {
        $crate::serve!($handler, threads: $threads, stack: $bytes, apart: $bytes);
    };
    ($handler:ident, threads: $threads:literal, stack: $bytes:literal, apart: $apart:literal) => {
        mod served {
            #![expect(unsafe_code, reason = "an entry is assembly")]

            #[repr(C, align(16))]
            struct Stacks(core::cell::UnsafeCell<[[u8; $bytes]; $threads]>);

            // SAFETY: each thread runs on its own element.
            unsafe impl Sync for Stacks {}

            static STACKS: Stacks = Stacks(core::cell::UnsafeCell::new([[0; $bytes]; $threads]));

            extern "C" fn handle(token: u64, x1: u64, x2: u64, x3: u64, x4: u64, x5: u64) -> u64 {
                super::$handler(token, [x1, x2, x3, x4, x5])
            }

            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            extern "C" fn bulkhead_invoked() {
                core::arch::naked_asm!(
                    "adrp x7, {stacks}",
                    "add x7, x7, :lo12:{stacks}",
                    "mov x8, #{apart}",
                    "madd x7, x6, x8, x7",
                    "add sp, x7, #{bytes}",
                    "bl {handle}",
                    "mov x1, x0",
                    "mov x0, xzr",
                    "svc #0",
                    "udf #2",
                    stacks = sym STACKS,
                    handle = sym handle,
                    apart = const $apart,
                    bytes = const $bytes,
                );
            }
        }
    };
}
