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
    b reset_frame
reset_registers:
    mov x1, #0x0800
    movk x1, #0x30d0, lsl #16
    msr sctlr_el1, x1
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
    msr cntp_ctl_el0, xzr
    msr cntv_ctl_el0, xzr
    b reset_interface

failing 080
reset_interface:                    // GIC: only AP1R0, IGRPEN1 and BPR1 where FMO is set
    msr s3_0_c12_c9_0, xzr          // ICC_AP1R0_EL1
    msr s3_0_c12_c12_7, xzr         // ICC_IGRPEN1_EL1
    ubfx x1, x0, #3, #1             // HCR_EL2.FMO
    msr s3_0_c12_c12_6, x1          // ICC_IGRPEN0_EL1
    msr s3_0_c12_c12_3, xzr         // ICC_BPR1_EL1
    msr s3_0_c12_c12_4, xzr         // ICC_CTLR_EL1
    mov x1, #0xff
    msr s3_0_c4_c6_0, x1            // ICC_PMR_EL1
    msr s3_4_c12_c11_7, xzr         // ICH_VMCR_EL2
    mov x1, #6                      // performance monitor: counters to zero, stopped
    msr pmcr_el0, x1
    mov x1, #-1
    msr pmcntenclr_el0, x1
    msr pmintenclr_el1, x1
    msr pmovsclr_el0, x1
    msr pmuserenr_el0, xzr
    msr pmccfiltr_el0, xzr
    mrs x1, pmcr_el0
    ubfx x1, x1, #11, #5
1:  cbz x1, 2f
    sub x1, x1, #1
    msr pmselr_el0, x1
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
    movi v0.2d, #0
    movi v1.2d, #0
    movi v2.2d, #0
    movi v3.2d, #0
    movi v4.2d, #0
    movi v5.2d, #0
    movi v6.2d, #0
    movi v7.2d, #0
    movi v8.2d, #0
    movi v9.2d, #0
    movi v10.2d, #0
    movi v11.2d, #0
    movi v12.2d, #0
    movi v13.2d, #0
    movi v14.2d, #0
    movi v15.2d, #0
    b reset_vectors_1

failing 180
reset_vectors_1:
    movi v16.2d, #0
    movi v17.2d, #0
    movi v18.2d, #0
    movi v19.2d, #0
    movi v20.2d, #0
    movi v21.2d, #0
    movi v22.2d, #0
    movi v23.2d, #0
    movi v24.2d, #0
    movi v25.2d, #0
    movi v26.2d, #0
    movi v27.2d, #0
    movi v28.2d, #0
    movi v29.2d, #0
    movi v30.2d, #0
    movi v31.2d, #0
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
    stp xzr, xzr, [x0]
    stp xzr, xzr, [x0, #16]
    stp xzr, xzr, [x0, #32]
    stp xzr, xzr, [x0, #48]
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

// x0: ICC_SGI0R_EL1.
.global interrupt_monitors
interrupt_monitors:
    dsb ishst
    msr s3_0_c12_c11_7, x0
    isb
    sev
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

// Whatever active priorities the guest has left, and groups disabled, the monitor's interrupt ends this.
.global wait_for_interrupt
wait_for_interrupt:
    mrs x0, s3_0_c12_c9_0           // ICC_AP1R0_EL1
    mrs x2, s3_0_c12_c12_6          // ICC_IGRPEN0_EL1
    mov x1, #1
    msr s3_0_c12_c9_0, xzr
    msr s3_0_c12_c12_6, x1
    dsb sy
    isb
    wfi
    mrs x1, s3_0_c12_c8_0           // ICC_IAR0_EL1
    msr s3_0_c12_c8_1, x1           // ICC_EOIR0_EL1
    msr s3_0_c12_c12_6, x2
    msr s3_0_c12_c9_0, x0
    ret

failing 380
fail:
    mrs x0, tpidr_el2
    mov sp, x0
    mov x1, #3
    b save_syndrome

reset_frame:
    stp xzr, xzr, [x1, #{X}]
    stp xzr, xzr, [x1, #{X} + 16]
    stp xzr, xzr, [x1, #{X} + 32]
    stp xzr, xzr, [x1, #{X} + 48]
    stp xzr, xzr, [x1, #{X} + 64]
    stp xzr, xzr, [x1, #{X} + 80]
    stp xzr, xzr, [x1, #{X} + 96]
    stp xzr, xzr, [x1, #{X} + 112]
    stp xzr, xzr, [x1, #{X} + 128]
    stp xzr, xzr, [x1, #{X} + 144]
    stp xzr, xzr, [x1, #{X} + 160]
    stp xzr, xzr, [x1, #{X} + 176]
    stp xzr, xzr, [x1, #{X} + 192]
    stp xzr, xzr, [x1, #{X} + 208]
    stp xzr, xzr, [x1, #{X} + 224]
    str xzr, [x1, #{X} + 240]
    b reset_registers

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

entering 500, 1                     // FIQ
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

entering 580, 2                     // SError
// x0: to, x1: from, x2: bytes, a multiple of 64 and not 0. No line stays in any cache.
.global copy_lines
copy_lines:
    ldp x4, x5, [x1], #16
    ldp x6, x7, [x1], #16
    ldp x8, x9, [x1], #16
    ldp x10, x11, [x1], #16
    stp x4, x5, [x0]
    stp x6, x7, [x0, #16]
    stp x8, x9, [x0, #32]
    stp x10, x11, [x0, #48]
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

entering 700, 1

entering 780, 2

.section .text.entry, "ax"
.balign 4
// x0: the core's state, x1: SCTLR_EL2. Everything else is set; translation is not yet on.
.global _enter
_enter:
    dsb sy
    msr sctlr_el2, x1
    isb
    adr x1, vectors
    msr vbar_el2, x1
    msr tpidr_el2, x0
    mov sp, x0
    isb
    b monitor_start
