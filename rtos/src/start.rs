//! The first instructions of a core
//!
//! Entered at EL1 with everything off and x0 = guest-physical address of the guest information page
//! ([`_start`]) or of a [`crate::cores::Start`] ([`_start_core`]).
#![expect(unsafe_code, reason = "assembly, and names that assembly calls")]

use crate::stack::Stack;
use crate::{System, console, exception, hypercall, interrupt, mmu, registers, trace};
use bulkhead_abi::failure;
use bulkhead_rtos_core::translation::{MAIR, TCR};
use core::arch::global_asm;

/// SCTLR_EL1: RES1 bits of Armv8.0, M, C, SA, SA0, I.
const CONTROL: u64 = 0x30d0_181d;
/// `CONTROL` with WXN, set once no page is both writable and executable.
const FINAL_CONTROL: u64 = CONTROL | 1 << 19;

/// Stack of the first core.
#[unsafe(no_mangle)]
static FIRST_STACK: Stack<0x8000> = Stack::new();

global_asm!(
    r#"
.macro address register, symbol
    adrp    \register, \symbol
    add     \register, \register, :lo12:\symbol
.endm

// Caches, translation and FP on; x1 = root table.
.macro begin control
    ldr     x2, ={mair}
    ldr     x3, ={tcr}
    ldr     x4, =\control
    msr     mair_el1, x2
    msr     tcr_el1, x3
    msr     ttbr0_el1, x1
    isb
    tlbi    vmalle1
    ic      iallu
    dsb     nsh
    isb
    msr     sctlr_el1, x4
    isb
    mov     x2, #3 << 20
    msr     cpacr_el1, x2
    address x2, bulkhead_vectors
    msr     vbar_el1, x2
    isb
.endm

// x2 = top of the program's stack, x3 = top of the stack for exceptions.
.macro stand
    msr     spsel, #1
    mov     sp, x3
    msr     tpidr_el1, x3
    msr     spsel, #0
    mov     sp, x2
    mov     x29, xzr
    mov     x30, xzr
.endm

.section .text.start, "ax"
.global _start
_start:
    mov     x19, x0
    address x1, BOOT_TABLE
    begin   {control}
    address x3, FIRST_STACK
    add     x2, x3, #{program_low}
    add     x2, x2, #{program_high}, lsl #12
    add     x3, x3, #{exception_high}, lsl #12
    stand
    mov     x0, x19
    bl      bulkhead_first_core
    b       .

.global _start_core
_start_core:
    mov     x19, x0
    address x1, ROOT_TABLE
    orr     x1, x1, #1 << 48
    begin   {final_control}
    ldp     x2, x3, [x19]
    stand
    mov     x0, x19
    bl      bulkhead_further_core
    b       .
"#,
    mair = const MAIR,
    tcr = const TCR,
    control = const CONTROL,
    final_control = const FINAL_CONTROL,
    program_low = const FIRST_TOP & 0xfff,
    program_high = const FIRST_TOP >> 12,
    exception_high = const FIRST_EXCEPTION_TOP >> 12,
);

const FIRST_TOP: usize = size_of::<Stack<0x8000>>();
const FIRST_EXCEPTION_TOP: usize = 0x3000;

unsafe extern "C" {
    safe static _start_core: u8;
}

/// Returns the address of the first instruction of further cores.
pub(crate) fn further_core_entry() -> u64 {
    (&raw const _start_core).addr() as u64
}

unsafe extern "Rust" {
    /// Made by [`crate::application!`].
    safe fn bulkhead_application(system: &System);
}

/// Goes on in Rust on the first core, then in the application.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_first_core(info_address: u64) -> ! {
    mmu::take_over();
    FIRST_STACK.guards().into_iter().for_each(mmu::unmap_page);
    let Ok(system) = System::read(info_address) else {
        hypercall::fail(failure::NO_GUEST_INFO);
    };
    console::open(&system);
    trace::open(&system);
    interrupt::start_core(0);
    exception::let_in();
    bulkhead_application(&system);
    hypercall::fail(failure::APPLICATION_ENDED);
}

/// Goes on in Rust on a further core.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_further_core(start: &'static crate::cores::Start) -> ! {
    interrupt::start_core(start.rank());
    registers::unmask_interrupts();
    start.enter();
    crate::cores::off()
}
