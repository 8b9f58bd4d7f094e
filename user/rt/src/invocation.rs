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

#[doc(hidden)]
pub const ANY: usize = bulkhead_abi::kernel::MAX_CORES;
#[doc(hidden)]
pub const IN_USE: u64 = bulkhead_abi::kernel::Status::InUse as u64;

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
/// bytes for threads of an index below `$threads`, all of one core, whichever that is; or, two of which may come
/// with one index, since indices are a scheduler's, of all cores of a rank below `$cores`. Others fault, and
/// their clients are told.
///
/// Without `threads` there is one stack: who comes while another one is there is answered
/// [`Status::InUse`](bulkhead_abi::kernel::Status::InUse).
#[macro_export]
macro_rules! serve {
    ($handler:ident, stack: $bytes:literal) => {
        mod served {
            #![expect(unsafe_code, reason = "an entry is assembly")]

            #[repr(C, align(16))]
            struct Stack(core::cell::UnsafeCell<[u8; $bytes]>);

            // SAFETY: who has set `TAKEN` runs on it.
            unsafe impl Sync for Stack {}

            static STACK: Stack = Stack(core::cell::UnsafeCell::new([0; $bytes]));
            static TAKEN: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);

            extern "C" fn handle(token: u64, x1: u64, x2: u64, x3: u64, x4: u64, x5: u64) -> u64 {
                super::$handler(token, [x1, x2, x3, x4, x5])
            }

            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            extern "C" fn bulkhead_invoked() {
                core::arch::naked_asm!(
                    "adrp x7, {taken}",
                    "add x7, x7, :lo12:{taken}",
                    "mov w8, #1",
                    "1: ldaxr w9, [x7]",
                    "cbnz w9, 2f",
                    "stxr w9, w8, [x7]",
                    "cbnz w9, 1b",
                    "adrp x7, {stack}",
                    "add x7, x7, :lo12:{stack}",
                    "mov x8, #{bytes}",
                    "add sp, x7, x8",
                    "bl {handle}",
                    "mov x1, x0",
                    "mov x0, xzr",
                    "adrp x7, {taken}",
                    "add x7, x7, :lo12:{taken}",
                    "stlr wzr, [x7]",
                    "svc #0",
                    "udf #2",
                    "2: mov x1, #{in_use}",
                    "mov x0, xzr",
                    "svc #0",
                    "udf #2",
                    taken = sym TAKEN,
                    stack = sym STACK,
                    handle = sym handle,
                    bytes = const $bytes,
                    in_use = const $crate::invocation::IN_USE,
                );
            }
        }
    };
    ($handler:ident, threads: $threads:expr, stack: $bytes:literal) => {
        $crate::serve!($handler, threads: $threads, cores: 1, stack: $bytes);
    };
    ($handler:ident, threads: $threads:expr, cores: $cores:expr, stack: $bytes:literal) => {
        mod served {
            #![expect(unsafe_code, reason = "an entry is assembly")]

            #[repr(C, align(16))]
            struct Stacks(core::cell::UnsafeCell<[[[u8; $bytes]; $threads]; $cores]>);

            // SAFETY: each thread runs on its own element.
            unsafe impl Sync for Stacks {}

            static STACKS: Stacks =
                Stacks(core::cell::UnsafeCell::new([[[0; $bytes]; $threads]; $cores]));

            extern "C" fn handle(token: u64, x1: u64, x2: u64, x3: u64, x4: u64, x5: u64) -> u64 {
                super::$handler(token, [x1, x2, x3, x4, x5])
            }

            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            extern "C" fn bulkhead_invoked() {
                core::arch::naked_asm!(
                    "mrs x9, tpidrro_el0",
                    "cmp x6, #{threads}",
                    "b.hs 1f",
                    "cmp x9, #{cores}",
                    "b.hs 1f",
                    "mov x8, #{apart}",
                    "madd x6, x9, x8, x6",
                    "adrp x7, {stacks}",
                    "add x7, x7, :lo12:{stacks}",
                    "mov x8, #{bytes}",
                    "madd x7, x6, x8, x7",
                    "add sp, x7, x8",
                    "bl {handle}",
                    "mov x1, x0",
                    "mov x0, xzr",
                    "svc #0",
                    "1: udf #2",
                    stacks = sym STACKS,
                    handle = sym handle,
                    threads = const $threads,
                    cores = const if $cores == 1 { $crate::invocation::ANY } else { $cores },
                    apart = const if $cores == 1 { 0 } else { $threads },
                    bytes = const $bytes,
                );
            }
        }
    };
}
