// Exception vectors of EL2 (Arm ARM D1.3), with what fits into their gaps.
//
// A vector has 32 instructions, each its own section. Those of exceptions that cannot come from a guest hold one
// branch; after it, and after the entries, come short sequences that no exception enters. The linker
// script adds functions to what is left. {X}: from the frame to x0.

.arch armv8-a+fp+simd

.macro failing offset
.section .text.vector.\offset, "ax"
.balign 4
    b fail
.endm

.macro entering offset, entry
.section .text.vector.\offset, "ax"
.balign 4
    stp x0, x1, [sp, #{X}]
    mov x1, #\entry
    b save
.endm

failing 000                         // EL2 with SP_EL0: never in use
.global vectors
.set vectors, . - 4
// Every register a guest can change, to its reset value. x0: HCR_EL2, x1: the frame. Keeps x19
// to x30.
.global reset_guest
reset_guest:
    msr hcr_el2, x0                 // also withdraws a virtual SError
    mov x2, #0x0800
    movk x2, #0x30d0, lsl #16
    msr sctlr_el1, x2
    msr cpacr_el1, xzr
    msr ttbr0_el1, xzr
    msr ttbr1_el1, xzr
    msr tcr_el1, xzr
    msr esr_el1, xzr
    msr far_el1, xzr
    msr afsr0_el1, xzr
    msr afsr1_el1, xzr
    msr mair_el1, xzr
    msr amair_el1, xzr
    msr vbar_el1, xzr
    msr contextidr_el1, xzr
    msr tpidr_el0, xzr
    msr tpidrro_el0, xzr
    msr tpidr_el1, xzr
    msr sp_el0, xzr
    msr sp_el1, xzr
    msr elr_el1, xzr
    msr spsr_el1, xzr
    msr par_el1, xzr
    msr csselr_el1, xzr
    msr cntkctl_el1, xzr
    b reset_interface

failing 080
reset_interface:                    // GIC: group 1 and what both groups share
    msr s3_0_c12_c9_0, xzr          // ICC_AP1R0_EL1
    msr s3_0_c12_c12_3, xzr         // ICC_BPR1_EL1
    msr s3_0_c12_c12_4, xzr         // ICC_CTLR_EL1
1:  mrs x2, s3_0_c12_c9_0           // QEMU with EL3 ignores that write: then active priorities end one by one
    cbz x2, 2f
    msr s3_0_c12_c12_1, xzr         // ICC_EOIR1_EL1
    b 1b
2:  mov x2, #0xff                   // open, so that a guest which leaves it alone can be woken
    msr s3_0_c4_c6_0, x2            // ICC_PMR_EL1
    mov x2, #1
    msr s3_0_c12_c12_7, x2          // ICC_IGRPEN1_EL1
    mov x2, #6                      // performance monitor: counters to zero, stopped
    msr pmcr_el0, x2
    mov x2, #-1
    msr pmcntenclr_el0, x2
    msr pmintenclr_el1, x2
    msr pmovsclr_el0, x2
    msr pmuserenr_el0, xzr
    msr pmccfiltr_el0, xzr
    mrs x2, pmcr_el0
    ubfx x2, x2, #11, #5
1:  cbz x2, 2f
    sub x2, x2, #1
    msr pmselr_el0, x2
    isb
    msr pmxevtyper_el0, xzr
    b 1b
2:  msr pmselr_el0, xzr
    msr mdscr_el1, xzr
    msr mdccint_el1, xzr
    b reset_keys

failing 100
reset_keys:
    tbz x0, #41, reset_vectors_0    // HCR_EL2.API: the core has pointer authentication
    msr s3_0_c2_c1_0, xzr
    msr s3_0_c2_c1_1, xzr
    msr s3_0_c2_c1_2, xzr
    msr s3_0_c2_c1_3, xzr
    msr s3_0_c2_c2_0, xzr
    msr s3_0_c2_c2_1, xzr
    msr s3_0_c2_c2_2, xzr
    msr s3_0_c2_c2_3, xzr
    msr s3_0_c2_c3_0, xzr
    msr s3_0_c2_c3_1, xzr
reset_vectors_0:
    msr fpcr, xzr
    msr fpsr, xzr
    msr cntp_ctl_el0, xzr
    msr cntv_ctl_el0, xzr
    b reset_frame

failing 180
reset_frame:                        // general registers, then floating point from them
    add x1, x1, #{X}
    mov x2, #248
1:  sub x2, x2, #8
    str xzr, [x1, x2]
    cbnz x2, 1b
    ld1 {{v0.2d-v3.2d}}, [x1]
    ld1 {{v4.2d-v7.2d}}, [x1]
    ld1 {{v8.2d-v11.2d}}, [x1]
    ld1 {{v12.2d-v15.2d}}, [x1]
    ld1 {{v16.2d-v19.2d}}, [x1]
    ld1 {{v20.2d-v23.2d}}, [x1]
    ld1 {{v24.2d-v27.2d}}, [x1]
    ld1 {{v28.2d-v31.2d}}, [x1]
    mov x1, #1
    msr oslar_el1, x1               // the OS lock is held at reset
    msr cntp_cval_el0, xzr
    msr cntv_cval_el0, xzr
    b reset_breakpoints

failing 200                         // EL2 itself: a fault of the monitor
// As many as there are, counted from the end. ID_AA64DFR0_EL1: BRPs 15:12, WRPs 23:20, one less.
reset_breakpoints:
    mrs x1, id_aa64dfr0_el1
    ubfx x2, x1, #12, #4
    ubfx x1, x1, #20, #4
    adr x3, breakpoints_end
    mvn x2, x2
    add x3, x3, x2, lsl #2
    adr x4, watchpoints_end
    mvn x1, x1
    add x4, x4, x1, lsl #2
    br x3

// x0: VTTBR_EL2.
.global forget_translations_of
forget_translations_of:
    mrs x1, vttbr_el2
    dsb ishst
    msr vttbr_el2, x0
    isb
    tlbi vmalls12e1is
    dsb ish
    msr vttbr_el2, x1
    isb
    ret

.global zero_lines
zero_lines:
    stp q0, q0, [x0]                // zero since the reset before
    stp q0, q0, [x0, #32]
    dc civac, x0
    add x0, x0, #64
    subs x2, x2, #64
    b.ne zero_lines
    ret

failing 280
    msr dbgbcr15_el1, xzr
    msr dbgbcr14_el1, xzr
    msr dbgbcr13_el1, xzr
    msr dbgbcr12_el1, xzr
    msr dbgbcr11_el1, xzr
    msr dbgbcr10_el1, xzr
    msr dbgbcr9_el1, xzr
    msr dbgbcr8_el1, xzr
    msr dbgbcr7_el1, xzr
    msr dbgbcr6_el1, xzr
    msr dbgbcr5_el1, xzr
    msr dbgbcr4_el1, xzr
    msr dbgbcr3_el1, xzr
    msr dbgbcr2_el1, xzr
    msr dbgbcr1_el1, xzr
    msr dbgbcr0_el1, xzr
breakpoints_end:
    br x4

// x0: ESR_EL1, x1: the frame.
.global take_to_el1
take_to_el1:
    msr esr_el1, x0
    ldp x2, x3, [x1, #{X} - 32]     // FAR, IPA
    msr far_el1, x2
    ldp x2, x3, [x1, #{X} - 16]     // ELR, SPSR
    msr elr_el1, x2
    msr spsr_el1, x3
    ret

failing 300
    msr dbgwcr15_el1, xzr
    msr dbgwcr14_el1, xzr
    msr dbgwcr13_el1, xzr
    msr dbgwcr12_el1, xzr
    msr dbgwcr11_el1, xzr
    msr dbgwcr10_el1, xzr
    msr dbgwcr9_el1, xzr
    msr dbgwcr8_el1, xzr
    msr dbgwcr7_el1, xzr
    msr dbgwcr6_el1, xzr
    msr dbgwcr5_el1, xzr
    msr dbgwcr4_el1, xzr
    msr dbgwcr3_el1, xzr
    msr dbgwcr2_el1, xzr
    msr dbgwcr1_el1, xzr
    msr dbgwcr0_el1, xzr
watchpoints_end:
    ret

failing 380
fail:
    mrs x0, tpidr_el2
    mov sp, x0
    mov x1, #2
    b save_syndrome

entering 400, 0                     // a guest: synchronous
save:
    stp x2, x3, [sp, #{X} + 16]
    stp x4, x5, [sp, #{X} + 32]
    stp x6, x7, [sp, #{X} + 48]
    stp x8, x9, [sp, #{X} + 64]
    stp x10, x11, [sp, #{X} + 80]
    stp x12, x13, [sp, #{X} + 96]
    stp x14, x15, [sp, #{X} + 112]
    stp x16, x17, [sp, #{X} + 128]
    stp x18, x19, [sp, #{X} + 144]
    stp x20, x21, [sp, #{X} + 160]
    stp x22, x23, [sp, #{X} + 176]
    stp x24, x25, [sp, #{X} + 192]
    stp x26, x27, [sp, #{X} + 208]
    stp x28, x29, [sp, #{X} + 224]
    str x30, [sp, #{X} + 240]
    b save_syndrome

failing 480                         // IRQ: not routed to EL2
save_syndrome:                      // the frame below x0, in order
    mrs x2, cntpct_el0
    mrs x3, esr_el2
    mrs x4, far_el2
    mrs x5, hpfar_el2
    mrs x6, elr_el2
    mrs x7, spsr_el2
    lsr x5, x5, #4
    lsl x5, x5, #12
    bfxil x5, x4, #0, #12
    str x2, [sp, #{X} - 64]
    stp x3, x4, [sp, #{X} - 40]
    stp x5, x6, [sp, #{X} - 24]
    str x7, [sp, #{X} - 8]
    mov x0, sp
    bl monitor_enter
    b restore

failing 500                         // FIQ: not routed to EL2
.global resume_guest
resume_guest:                       // x0: the frame, first of the core's state
    mov sp, x0
restore:
    ldp x0, x1, [sp, #{X} - 16]
    msr elr_el2, x0
    msr spsr_el2, x1
    ldp x0, x1, [sp, #{X}]
    ldp x2, x3, [sp, #{X} + 16]
    ldp x4, x5, [sp, #{X} + 32]
    ldp x6, x7, [sp, #{X} + 48]
    ldp x8, x9, [sp, #{X} + 64]
    ldp x10, x11, [sp, #{X} + 80]
    ldp x12, x13, [sp, #{X} + 96]
    ldp x14, x15, [sp, #{X} + 112]
    ldp x16, x17, [sp, #{X} + 128]
    ldp x18, x19, [sp, #{X} + 144]
    ldp x20, x21, [sp, #{X} + 160]
    ldp x22, x23, [sp, #{X} + 176]
    ldp x24, x25, [sp, #{X} + 192]
    ldp x26, x27, [sp, #{X} + 208]
    ldp x28, x29, [sp, #{X} + 224]
    ldr x30, [sp, #{X} + 240]
    eret

entering 580, 1                     // SError
// x0: to, x1: from, x2: bytes, a multiple of 64 and not 0. No line stays in any cache.
.global copy_lines
copy_lines:
    ldp q1, q2, [x1], #32           // not q0; all are zero again when the guest starts
    ldp q3, q4, [x1], #32
    stp q1, q2, [x0]
    stp q3, q4, [x0, #32]
    dc civac, x0
    add x0, x0, #64
    subs x2, x2, #64
    b.ne copy_lines
    ret

.global clean_lines
clean_lines:
    dc civac, x0
    add x0, x0, #64
    subs x2, x2, #64
    b.ne clean_lines
    ret

entering 600, 0                     // a guest's 32-bit user: synchronous

failing 680

failing 700
// Whatever mask, active priorities and disabled group the guest has left, the monitor's interrupt ends this: its
// priority is 0. If the guest's own interrupts are held back, they stay so; only active priorities hold none back.
.global wait_for_interrupt
wait_for_interrupt:
    mov x3, x0                      // masks guests, and not the monitor
    mrs x0, s3_0_c12_c9_0           // ICC_AP1R0_EL1
    mrs x1, s3_0_c4_c6_0            // ICC_PMR_EL1
    mrs x2, s3_0_c12_c12_7          // ICC_IGRPEN1_EL1
    cmp x1, x3
    ccmp x2, #0, #4, hi
    csel x3, x3, x1, eq
    mov x4, #1
    msr s3_0_c12_c9_0, xzr
    msr s3_0_c4_c6_0, x3
    msr s3_0_c12_c12_7, x4
    dsb sy
    isb
    wfi
    msr s3_0_c12_c12_7, x2
    msr s3_0_c4_c6_0, x1
    msr s3_0_c12_c9_0, x0
    isb
    ret

entering 780, 1

.section .text.entry, "ax"
.balign 4
// x0: the core's state, x1: SCTLR_EL2. Everything else is set, VBAR_EL2 and TPIDR_EL2 included; translation
// is not yet on.
.global _enter
_enter:
    dsb sy
    msr sctlr_el2, x1
    isb
    mov sp, x0
    b monitor_start
