//! Entry and exit: the assembly, and what it calls
#![expect(unsafe_code, reason = "names that assembly calls")]

use crate::{interrupts, machine::Machine, registers};
use bulkhead_abi::hypercall::FAIL;
use bulkhead_kernel_core::object::Thread;
use bulkhead_kernel_core::{Fault, Kernel};
use core::arch::global_asm;

/// ESR_EL1.EC of `svc` in AArch64.
const CALL: u64 = 0x15;
/// ESR_EL1.EC of floating point that is trapped.
const FLOATING_POINT: u64 = 0x07;

global_asm!(
    include_str!("entry.s"),
    class_call = const CALL,
    asks = const !cfg!(feature = "trusting") as u64,
    running = const 0,
    current = const 8,
    claim = const 8 * Thread::CLAIM,
    index = const 8 * Thread::INDEX,
    resume = const 8 * Thread::RESUME,
);

pub(crate) fn kernel() -> Kernel<'static, Machine> {
    Kernel::new(&Machine)
}

/// A system call; the answer is in the caller's page. 1 where the thread is in another component now.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_call(capability: u64, operation: u64) -> u32 {
    u32::from(kernel().call(capability, operation))
}

/// Another thread runs than the kernel knows.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_follow() {
    kernel().follow();
}

/// Another thread runs after a call.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_leave() {
    kernel().leave();
}

/// An interrupt that came when the counter said `began`, with all registers saved.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_interrupt(began: u64) {
    interrupts::serve(kernel(), began);
}

/// A fault, with all registers saved.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_fault(syndrome: u64, address: u64) {
    if syndrome >> 26 == FLOATING_POINT {
        kernel().lend_floating_point();
    } else {
        kernel().fault(Fault { syndrome, address });
    }
}

/// An exception of the kernel itself, which it never causes: the partition has failed.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn bulkhead_broken(syndrome: u64, _address: u64) -> ! {
    registers::hypervisor_call(FAIL, [syndrome]);
    loop {
        registers::wait_for_interrupt();
    }
}

unsafe extern "C" {
    /// The panic handler's end: no such symbol exists, so that linking proves nothing panics.
    fn the_kernel_must_not_panic() -> !;
}

pub(crate) fn unreachable() -> ! {
    // SAFETY: never linked, hence never called.
    unsafe { the_kernel_must_not_panic() }
}
