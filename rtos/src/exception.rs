//! Vectors, the full register frame, faults
//!
//! The program runs with SP_EL0, exceptions with SP_EL1 (TPIDR_EL1 keeps its top), so that a fault
//! is reported even when the program's stack is gone; a fault in a handler starts over at that top
//! and is always fatal. FP registers are saved too: handlers are ordinary Rust.
#![expect(unsafe_code, reason = "the vector table calls handlers by name")]

use crate::lock::Lock;
use crate::{console, hypercall, interrupt, registers};
use core::arch::global_asm;
use core::fmt;

global_asm!(
    r#"
.macro save
    sub     sp, sp, #{size}
    stp     x0, x1, [sp, #0]
    stp     x2, x3, [sp, #16]
    stp     x4, x5, [sp, #32]
    stp     x6, x7, [sp, #48]
    stp     x8, x9, [sp, #64]
    stp     x10, x11, [sp, #80]
    stp     x12, x13, [sp, #96]
    stp     x14, x15, [sp, #112]
    stp     x16, x17, [sp, #128]
    stp     x18, x19, [sp, #144]
    stp     x20, x21, [sp, #160]
    stp     x22, x23, [sp, #176]
    stp     x24, x25, [sp, #192]
    stp     x26, x27, [sp, #208]
    stp     x28, x29, [sp, #224]
    mrs     x0, sp_el0
    stp     x30, x0, [sp, #240]
    mrs     x0, elr_el1
    mrs     x1, spsr_el1
    stp     x0, x1, [sp, #256]
    mrs     x0, esr_el1
    mrs     x1, far_el1
    stp     x0, x1, [sp, #272]
    mrs     x0, fpcr
    mrs     x1, fpsr
    stp     x0, x1, [sp, #288]
    stp     q0, q1, [sp, #304]
    stp     q2, q3, [sp, #336]
    stp     q4, q5, [sp, #368]
    stp     q6, q7, [sp, #400]
    stp     q8, q9, [sp, #432]
    stp     q10, q11, [sp, #464]
    stp     q12, q13, [sp, #496]
    stp     q14, q15, [sp, #528]
    stp     q16, q17, [sp, #560]
    stp     q18, q19, [sp, #592]
    stp     q20, q21, [sp, #624]
    stp     q22, q23, [sp, #656]
    stp     q24, q25, [sp, #688]
    stp     q26, q27, [sp, #720]
    stp     q28, q29, [sp, #752]
    stp     q30, q31, [sp, #784]
.endm


.section .text.vectors, "ax"
.balign 2048
.global bulkhead_vectors
bulkhead_vectors:
    // The program (SP_EL0).
    .balign 128
    b       bulkhead_synchronous
    .balign 128
    b       bulkhead_interrupt
    .balign 128
    b       bulkhead_unexpected
    .balign 128
    b       bulkhead_unexpected
    // A handler (SP_EL1), then EL0, which nothing runs at.
    .rept 12
    .balign 128
    b       bulkhead_nested
    .endr
    .balign 128

bulkhead_synchronous:
    save
    mov     x0, sp
    mov     x1, #0
    bl      bulkhead_handle_fault
    b       bulkhead_resume

bulkhead_interrupt:
    save
    bl      bulkhead_handle_interrupt
    b       bulkhead_resume

bulkhead_unexpected:
    save
    mov     x0, sp
    mov     x1, #1
    bl      bulkhead_handle_fault
    b       .

bulkhead_nested:
    msr     tpidrro_el0, x0
    mrs     x0, tpidr_el1
    mov     sp, x0
    mrs     x0, tpidrro_el0
    b       bulkhead_unexpected

bulkhead_resume:
    ldp     x0, x1, [sp, #288]
    msr     fpcr, x0
    msr     fpsr, x1
    ldp     q0, q1, [sp, #304]
    ldp     q2, q3, [sp, #336]
    ldp     q4, q5, [sp, #368]
    ldp     q6, q7, [sp, #400]
    ldp     q8, q9, [sp, #432]
    ldp     q10, q11, [sp, #464]
    ldp     q12, q13, [sp, #496]
    ldp     q14, q15, [sp, #528]
    ldp     q16, q17, [sp, #560]
    ldp     q18, q19, [sp, #592]
    ldp     q20, q21, [sp, #624]
    ldp     q22, q23, [sp, #656]
    ldp     q24, q25, [sp, #688]
    ldp     q26, q27, [sp, #720]
    ldp     q28, q29, [sp, #752]
    ldp     q30, q31, [sp, #784]
    ldp     x0, x1, [sp, #256]
    msr     elr_el1, x0
    msr     spsr_el1, x1
    ldp     x30, x0, [sp, #240]
    msr     sp_el0, x0
    ldp     x28, x29, [sp, #224]
    ldp     x26, x27, [sp, #208]
    ldp     x24, x25, [sp, #192]
    ldp     x22, x23, [sp, #176]
    ldp     x20, x21, [sp, #160]
    ldp     x18, x19, [sp, #144]
    ldp     x16, x17, [sp, #128]
    ldp     x14, x15, [sp, #112]
    ldp     x12, x13, [sp, #96]
    ldp     x10, x11, [sp, #80]
    ldp     x8, x9, [sp, #64]
    ldp     x6, x7, [sp, #48]
    ldp     x4, x5, [sp, #32]
    ldp     x2, x3, [sp, #16]
    ldp     x0, x1, [sp, #0]
    add     sp, sp, #{size}
    eret
"#,
    size = const size_of::<Frame>(),
);

/// Registers of the interrupted program.
#[repr(C, align(16))]
#[derive(Debug)]
pub struct Frame {
    /// x0…x30.
    pub x: [u64; 31],
    /// SP_EL0.
    pub sp: u64,
    /// ELR_EL1: where it goes on.
    pub elr: u64,
    /// SPSR_EL1.
    pub spsr: u64,
    /// ESR_EL1.
    pub esr: u64,
    /// FAR_EL1.
    pub far: u64,
    /// FPCR and FPSR.
    pub fp_control: [u64; 2],
    /// q0…q31.
    pub q: [u128; 32],
}

const _: () = assert!(size_of::<Frame>() == 816);

impl Frame {
    /// Exception class, ESR_EL1.EC.
    #[must_use]
    pub fn class(&self) -> u64 {
        self.esr >> 26 & 0x3f
    }
}

/// Reaction to a fault of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The program continues with the registers in the frame.
    Resume,
    /// The fault is reported and the program ends.
    Fatal,
}

type Handler = fn(&mut Frame) -> Verdict;

static HANDLER: Lock<Option<Handler>> = Lock::new(None);

/// Lets `handler` decide about synchronous faults of the program.
pub fn set_fault_handler(handler: Handler) {
    HANDLER.with(|slot| *slot = Some(handler));
}

/// Lets interrupts and system errors in.
pub(crate) fn let_in() {
    registers::unmask_interrupts();
}

/// Called by the vectors; `unexpected` where nothing can go on.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_handle_fault(frame: &mut Frame, unexpected: bool) {
    let handler = HANDLER
        .try_with(|slot| *slot)
        .flatten()
        .filter(|_| !unexpected);
    if handler.map(|decide| decide(frame)) == Some(Verdict::Resume) {
        return;
    }
    report(frame);
    hypercall::fail(frame.esr)
}

/// Called by the vectors.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_handle_interrupt() {
    interrupt::dispatch();
}

fn report(frame: &Frame) {
    console::print_in_distress(format_args!(
        "fault: {} (ESR {:#x}) at {:#x}, address {:#x}, SP {:#x}",
        class_name(frame.class()),
        frame.esr,
        frame.elr,
        frame.far,
        frame.sp
    ));
    for (first, group) in (0..).step_by(4).zip(frame.x.chunks(4)) {
        let registers = Registers {
            first,
            values: group,
        };
        console::print_in_distress(format_args!(" {registers}"));
    }
}

/// A line of general registers.
struct Registers<'f> {
    first: usize,
    values: &'f [u64],
}

impl fmt::Display for Registers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.values
            .iter()
            .zip(self.first..)
            .try_for_each(|(value, number)| write!(f, " x{number}={value:#x}"))
    }
}

/// The exception class in words (Arm ARM D19.2.37).
#[must_use]
pub fn class_name(class: u64) -> &'static str {
    match class {
        0x00 => "undefined instruction",
        0x07 => "floating point while off",
        0x0e => "illegal execution state",
        0x15 => "supervisor call",
        0x18 => "system register refused",
        0x20 | 0x21 => "instruction abort",
        0x22 => "misaligned PC",
        0x24 | 0x25 => "data abort",
        0x26 => "misaligned stack",
        0x2f => "system error",
        0x3c => "breakpoint",
        _ => "exception",
    }
}
