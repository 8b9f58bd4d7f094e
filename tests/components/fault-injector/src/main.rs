//! Causes a fault, selected by the thread's index
//!
//! [`MISDEEDS`] lists the faults. The supervisor must stop and name this component; no other
//! component may notice.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "does wrong on purpose")]

use bulkhead_component::{First, clock};
use core::arch::asm;
use core::hint::black_box;

bulkhead_component::component!(run);

/// Actions of threads with index 1, 2, …
const MISDEEDS: [fn() -> !; 8] = [
    overflow_the_stack,
    jump_nowhere,
    read_the_kernel,
    write_its_own_text,
    execute_its_own_data,
    privileged_instruction,
    loop_for_ever,
    divide_by_nothing,
];

/// An address in the linear map of the kernel.
const KERNEL: usize = 0xffff_ff80_4000_0000;
const NOWHERE: usize = 0x70_0000_0000;

fn run(first: First) -> ! {
    let number = (first.index() as usize).wrapping_sub(1);
    match MISDEEDS.get(number) {
        Some(misdeed) => misdeed(),
        None => loop_for_ever(),
    }
}

fn overflow_the_stack() -> ! {
    fn deeper(depth: u64) -> u64 {
        let frame = black_box([depth; 64]);
        match black_box(depth) {
            u64::MAX => 0,
            depth => deeper(depth + 1) + black_box(frame)[0],
        }
    }
    black_box(deeper(0));
    loop_for_ever()
}

fn jump_nowhere() -> ! {
    // SAFETY: it is not safe; the fault is the purpose.
    unsafe { asm!("br {}", in(reg) NOWHERE, options(noreturn)) }
}

fn read_the_kernel() -> ! {
    let word: *const u64 = core::ptr::with_exposed_provenance(KERNEL);
    // SAFETY: it is not safe; the fault is the purpose.
    black_box(unsafe { word.read_volatile() });
    loop_for_ever()
}

fn write_its_own_text() -> ! {
    let text: *mut u32 = core::ptr::with_exposed_provenance_mut(run as *const () as usize);
    // SAFETY: it is not safe; the fault is the purpose.
    unsafe { text.write_volatile(0) };
    loop_for_ever()
}

fn execute_its_own_data() -> ! {
    let code = black_box([0xd503_201f_u32; 16]);
    // SAFETY: it is not safe; the fault is the purpose.
    unsafe { asm!("br {}", in(reg) code.as_ptr(), options(noreturn)) }
}

fn privileged_instruction() -> ! {
    // SAFETY: it is not safe; the fault is the purpose.
    unsafe { asm!("msr ttbr0_el1, xzr", options(noreturn)) }
}

fn loop_for_ever() -> ! {
    loop {
        black_box(clock::now());
    }
}

/// The processor returns 0; the check of the language traps.
fn divide_by_nothing() -> ! {
    black_box(black_box(1) / black_box(0));
    loop_for_ever()
}
