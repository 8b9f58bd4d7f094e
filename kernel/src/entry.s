/* Ways into the kernel and back to user space.
 *
 * While user space runs, SP_EL1 is the end of the core's stack and TPIDR_EL1 the core's page. The way in
 * asks first who really runs: the word at the running thread's `claim` is its own index unless its
 * scheduler has dispatched to another thread in user mode (models/dispatch.pml, save_current).
 *
 * A call is a function call: x0 to x7 go to the thread's page, where the answer is written, too; what the
 * convention preserves stays in the registers unless another thread runs afterwards, or the same one in
 * another component. An interrupt or fault saves everything.
 */

.macro vector target
    .balign 128
    b       \target
.endm

// x16 = page of the running thread, after asking; \incoherent is taken where another one runs.
// Scratch: x16, x17, x18.
.macro who_runs incoherent
    mrs     x18, tpidr_el1
    ldr     x16, [x18, #{running}]
    .if     {asks}
    ldr     x17, [x16, #{claim}]
    ldr     x18, [x16, #{index}]
    ldr     x17, [x17]
    cmp     x17, x18
    b.ne    \incoherent
    .endif
.endm

// Room below SP that nothing uses: the kernel is not interrupted. The last word is for when an interrupt came.
.macro keep_scratch
    stp     x16, x17, [sp, #-32]
    str     x18, [sp, #-16]
.endm

.section .text.vectors, "ax"
.balign 2048
.global bulkhead_vectors
bulkhead_vectors:
    .rept 8                     // the kernel itself: never
    vector  broken
    .endr
    .balign 128                 // user space, 64-bit
    keep_scratch
    mrs     x16, esr_el1
    lsr     x17, x16, #26
    cmp     x17, #{class_call}
    b.ne    fault
    b       call
    .balign 128
    keep_scratch
    b       interrupt
    vector  broken              // FIQ is the monitor's
    .balign 128
    keep_scratch
    b       fault
    .rept 4                     // user space, 32-bit: never entered
    vector  broken
    .endr
    .balign 128

call:
    who_runs call_of_another
call_coherent:
    stp     x0, x1, [x16]
    stp     x2, x3, [x16, #16]
    stp     x4, x5, [x16, #32]
    stp     x6, x7, [x16, #48]
    str     x30, [x16, #240]
    bl      bulkhead_call
    mrs     x16, tpidr_el1
    ldp     x17, x18, [x16]     // running, current
    cmp     x17, x18
    b.ne    switch_from_call
    ldr     x30, [x18, #240]
    cbnz    w0, crossed
answer:
    ldp     x0, x1, [x18]
    ldp     x2, x3, [x18, #16]
    ldp     x4, x5, [x18, #32]
    ldr     x6, [x18, #48]
.macro scrub
    mov     x7, xzr
    mov     x8, xzr
    mov     x9, xzr
    mov     x10, xzr
    mov     x11, xzr
    mov     x12, xzr
    mov     x13, xzr
    mov     x14, xzr
    mov     x15, xzr
    mov     x16, xzr
    mov     x17, xzr
    mov     x18, xzr
.endm
    scrub
    eret

// The thread is in another component now: flags and what a call preserves stay behind.
crossed:
    msr     spsr_el1, xzr
    mov     x19, xzr
    mov     x20, xzr
    mov     x21, xzr
    mov     x22, xzr
    mov     x23, xzr
    mov     x24, xzr
    mov     x25, xzr
    mov     x26, xzr
    mov     x27, xzr
    mov     x28, xzr
    mov     x29, xzr
    mov     x30, xzr
    b       answer

call_of_another:
    sub     sp, sp, #80
    stp     x0, x1, [sp]
    stp     x2, x3, [sp, #16]
    stp     x4, x5, [sp, #32]
    stp     x6, x7, [sp, #48]
    str     x30, [sp, #64]
    bl      bulkhead_follow
    mrs     x18, tpidr_el1
    ldr     x16, [x18, #{running}]
    ldp     x0, x1, [sp]
    ldp     x2, x3, [sp, #16]
    ldp     x4, x5, [sp, #32]
    ldp     x6, x7, [sp, #48]
    ldr     x30, [sp, #64]
    add     sp, sp, #80
    b       call_coherent

// x17 = the caller's page.
switch_from_call:
    stp     x19, x20, [x17, #152]
    stp     x21, x22, [x17, #168]
    stp     x23, x24, [x17, #184]
    stp     x25, x26, [x17, #200]
    stp     x27, x28, [x17, #216]
    str     x29, [x17, #232]
    mrs     x0, sp_el0
    mrs     x1, elr_el1
    stp     x0, x1, [x17, #248]
    stp     xzr, xzr, [x17, #264]   // SPSR, resume as a call
    bl      bulkhead_leave

resume:
    mrs     x16, tpidr_el1
    ldr     x30, [x16, #{current}]
    str     x30, [x16, #{running}]
    ldr     x16, [x30, #{resume}]
    ldp     x17, x18, [x30, #248]   // SP, PC
    msr     sp_el0, x17
    msr     elr_el1, x18
    cbnz    x16, resume_whole
    msr     spsr_el1, xzr
    ldp     x0, x1, [x30]
    ldp     x2, x3, [x30, #16]
    ldp     x4, x5, [x30, #32]
    ldr     x6, [x30, #48]
    ldp     x19, x20, [x30, #152]
    ldp     x21, x22, [x30, #168]
    ldp     x23, x24, [x30, #184]
    ldp     x25, x26, [x30, #200]
    ldp     x27, x28, [x30, #216]
    ldp     x29, x30, [x30, #232]
    scrub
    eret

resume_whole:
    ldr     x16, [x30, #264]
    msr     spsr_el1, x16
    ldp     x0, x1, [x30]
    ldp     x2, x3, [x30, #16]
    ldp     x4, x5, [x30, #32]
    ldp     x6, x7, [x30, #48]
    ldp     x8, x9, [x30, #64]
    ldp     x10, x11, [x30, #80]
    ldp     x12, x13, [x30, #96]
    ldp     x14, x15, [x30, #112]
    ldp     x16, x17, [x30, #128]
    ldp     x18, x19, [x30, #144]
    ldp     x20, x21, [x30, #160]
    ldp     x22, x23, [x30, #176]
    ldp     x24, x25, [x30, #192]
    ldp     x26, x27, [x30, #208]
    ldp     x28, x29, [x30, #224]
    ldr     x30, [x30, #240]
    eret

// Everything to the page of the thread that runs; scratch is below SP.
.macro save_whole label
    who_runs \label\()_of_another
\label\()_coherent:
    stp     x0, x1, [x16]
    stp     x2, x3, [x16, #16]
    stp     x4, x5, [x16, #32]
    stp     x6, x7, [x16, #48]
    stp     x8, x9, [x16, #64]
    stp     x10, x11, [x16, #80]
    stp     x12, x13, [x16, #96]
    stp     x14, x15, [x16, #112]
    ldp     x0, x1, [sp, #-32]
    ldr     x2, [sp, #-16]
    stp     x0, x1, [x16, #128]
    stp     x2, x19, [x16, #144]
    stp     x20, x21, [x16, #160]
    stp     x22, x23, [x16, #176]
    stp     x24, x25, [x16, #192]
    stp     x26, x27, [x16, #208]
    stp     x28, x29, [x16, #224]
    mrs     x0, sp_el0
    mrs     x1, elr_el1
    mrs     x2, spsr_el1
    mov     x3, #1                  // resume whole
    stp     x30, x0, [x16, #240]
    stp     x1, x2, [x16, #256]
    str     x3, [x16, #{resume}]
.endm

.macro follow_whole label
\label\()_of_another:
    sub     sp, sp, #176
    stp     x0, x1, [sp]
    stp     x2, x3, [sp, #16]
    stp     x4, x5, [sp, #32]
    stp     x6, x7, [sp, #48]
    stp     x8, x9, [sp, #64]
    stp     x10, x11, [sp, #80]
    stp     x12, x13, [sp, #96]
    stp     x14, x15, [sp, #112]
    str     x30, [sp, #128]
    bl      bulkhead_follow
    mrs     x18, tpidr_el1
    ldr     x16, [x18, #{running}]
    ldp     x0, x1, [sp]
    ldp     x2, x3, [sp, #16]
    ldp     x4, x5, [sp, #32]
    ldp     x6, x7, [sp, #48]
    ldp     x8, x9, [sp, #64]
    ldp     x10, x11, [sp, #80]
    ldp     x12, x13, [sp, #96]
    ldp     x14, x15, [sp, #112]
    ldr     x30, [sp, #128]
    add     sp, sp, #176
    b       \label\()_coherent
.endm

interrupt:
    mrs     x16, cntvct_el0         // up to here who is hit pays
    str     x16, [sp, #-8]
    save_whole interrupt
    ldr     x0, [sp, #-8]
    bl      bulkhead_interrupt
    b       resume
    follow_whole interrupt

fault:
    save_whole fault
    mrs     x0, esr_el1
    mrs     x1, far_el1
    bl      bulkhead_fault
    b       resume
    follow_whole fault

broken:
    mrs     x0, esr_el1
    mrs     x1, elr_el1
    b       bulkhead_broken

// x0 = page of the owner's FP registers, or 0; x1 = of the next one's, or 0: zeros.
.arch_extension fp
.arch_extension simd
.global bulkhead_exchange_fp
bulkhead_exchange_fp:
    cbz     x0, 1f
    stp     q0, q1, [x0]
    stp     q2, q3, [x0, #32]
    stp     q4, q5, [x0, #64]
    stp     q6, q7, [x0, #96]
    stp     q8, q9, [x0, #128]
    stp     q10, q11, [x0, #160]
    stp     q12, q13, [x0, #192]
    stp     q14, q15, [x0, #224]
    stp     q16, q17, [x0, #256]
    stp     q18, q19, [x0, #288]
    stp     q20, q21, [x0, #320]
    stp     q22, q23, [x0, #352]
    stp     q24, q25, [x0, #384]
    stp     q26, q27, [x0, #416]
    stp     q28, q29, [x0, #448]
    stp     q30, q31, [x0, #480]
    mrs     x2, fpcr
    mrs     x3, fpsr
    add     x0, x0, #512
    stp     x2, x3, [x0]
1:  cbz     x1, bulkhead_clear_fp
    ldp     q0, q1, [x1]
    ldp     q2, q3, [x1, #32]
    ldp     q4, q5, [x1, #64]
    ldp     q6, q7, [x1, #96]
    ldp     q8, q9, [x1, #128]
    ldp     q10, q11, [x1, #160]
    ldp     q12, q13, [x1, #192]
    ldp     q14, q15, [x1, #224]
    ldp     q16, q17, [x1, #256]
    ldp     q18, q19, [x1, #288]
    ldp     q20, q21, [x1, #320]
    ldp     q22, q23, [x1, #352]
    ldp     q24, q25, [x1, #384]
    ldp     q26, q27, [x1, #416]
    ldp     q28, q29, [x1, #448]
    ldp     q30, q31, [x1, #480]
    add     x1, x1, #512
    ldp     x2, x3, [x1]
    msr     fpcr, x2
    msr     fpsr, x3
    ret

bulkhead_clear_fp:
    movi    v0.2d, #0
    movi    v1.2d, #0
    movi    v2.2d, #0
    movi    v3.2d, #0
    movi    v4.2d, #0
    movi    v5.2d, #0
    movi    v6.2d, #0
    movi    v7.2d, #0
    movi    v8.2d, #0
    movi    v9.2d, #0
    movi    v10.2d, #0
    movi    v11.2d, #0
    movi    v12.2d, #0
    movi    v13.2d, #0
    movi    v14.2d, #0
    movi    v15.2d, #0
    movi    v16.2d, #0
    movi    v17.2d, #0
    movi    v18.2d, #0
    movi    v19.2d, #0
    movi    v20.2d, #0
    movi    v21.2d, #0
    movi    v22.2d, #0
    movi    v23.2d, #0
    movi    v24.2d, #0
    movi    v25.2d, #0
    movi    v26.2d, #0
    movi    v27.2d, #0
    movi    v28.2d, #0
    movi    v29.2d, #0
    movi    v30.2d, #0
    movi    v31.2d, #0
    msr     fpcr, xzr
    msr     fpsr, xzr
    ret

// x0 = place for what a function preserves.
.global bulkhead_keep_fp
bulkhead_keep_fp:
    stp     d8, d9, [x0]
    stp     d10, d11, [x0, #16]
    stp     d12, d13, [x0, #32]
    stp     d14, d15, [x0, #48]
    mrs     x1, fpcr
    str     x1, [x0, #64]
    b       bulkhead_clear_fp

// x0 = that place.
.global bulkhead_recover_fp
bulkhead_recover_fp:
    movi    v0.2d, #0
    movi    v1.2d, #0
    movi    v2.2d, #0
    movi    v3.2d, #0
    movi    v4.2d, #0
    movi    v5.2d, #0
    movi    v6.2d, #0
    movi    v7.2d, #0
    movi    v16.2d, #0
    movi    v17.2d, #0
    movi    v18.2d, #0
    movi    v19.2d, #0
    movi    v20.2d, #0
    movi    v21.2d, #0
    movi    v22.2d, #0
    movi    v23.2d, #0
    movi    v24.2d, #0
    movi    v25.2d, #0
    movi    v26.2d, #0
    movi    v27.2d, #0
    movi    v28.2d, #0
    movi    v29.2d, #0
    movi    v30.2d, #0
    movi    v31.2d, #0
    ldp     d8, d9, [x0]
    ldp     d10, d11, [x0, #16]
    ldp     d12, d13, [x0, #32]
    ldp     d14, d15, [x0, #48]
    ldr     x1, [x0, #64]
    msr     fpcr, x1
    msr     fpsr, xzr
    ret

// x0 = page, x1 = value, x2 = words of it, a multiple of 16.
.global bulkhead_fill
bulkhead_fill:
    stp     x1, x1, [x0, #0]
    stp     x1, x1, [x0, #16]
    stp     x1, x1, [x0, #32]
    stp     x1, x1, [x0, #48]
    stp     x1, x1, [x0, #64]
    stp     x1, x1, [x0, #80]
    stp     x1, x1, [x0, #96]
    stp     x1, x1, [x0, #112]
    add     x0, x0, #128
    sub     x2, x2, #16
    cbnz    x2, bulkhead_fill
    ret

// x0 = page, x1 = value; 0 where every word is that.
.global bulkhead_has_only
bulkhead_has_only:
    mov     x2, #16
    cmp     x2, x2
1:
    ldp     x4, x5, [x0, #0]
    ccmp    x4, x1, #0, eq
    ccmp    x5, x1, #0, eq
    ldp     x4, x5, [x0, #16]
    ccmp    x4, x1, #0, eq
    ccmp    x5, x1, #0, eq
    ldp     x4, x5, [x0, #32]
    ccmp    x4, x1, #0, eq
    ccmp    x5, x1, #0, eq
    ldp     x4, x5, [x0, #48]
    ccmp    x4, x1, #0, eq
    ccmp    x5, x1, #0, eq
    ldp     x4, x5, [x0, #64]
    ccmp    x4, x1, #0, eq
    ccmp    x5, x1, #0, eq
    ldp     x4, x5, [x0, #80]
    ccmp    x4, x1, #0, eq
    ccmp    x5, x1, #0, eq
    ldp     x4, x5, [x0, #96]
    ccmp    x4, x1, #0, eq
    ccmp    x5, x1, #0, eq
    ldp     x4, x5, [x0, #112]
    ccmp    x4, x1, #0, eq
    ccmp    x5, x1, #0, eq
    ldp     x4, x5, [x0, #128]
    ccmp    x4, x1, #0, eq
    ccmp    x5, x1, #0, eq
    ldp     x4, x5, [x0, #144]
    ccmp    x4, x1, #0, eq
    ccmp    x5, x1, #0, eq
    ldp     x4, x5, [x0, #160]
    ccmp    x4, x1, #0, eq
    ccmp    x5, x1, #0, eq
    ldp     x4, x5, [x0, #176]
    ccmp    x4, x1, #0, eq
    ccmp    x5, x1, #0, eq
    ldp     x4, x5, [x0, #192]
    ccmp    x4, x1, #0, eq
    ccmp    x5, x1, #0, eq
    ldp     x4, x5, [x0, #208]
    ccmp    x4, x1, #0, eq
    ccmp    x5, x1, #0, eq
    ldp     x4, x5, [x0, #224]
    ccmp    x4, x1, #0, eq
    ccmp    x5, x1, #0, eq
    ldp     x4, x5, [x0, #240]
    ccmp    x4, x1, #0, eq
    ccmp    x5, x1, #0, eq
    add     x0, x0, #256
    sub     x2, x2, #1
    cbnz    x2, 1b
    cset    x0, ne
    ret

// x0 = page; all its words, one over the other.
.global bulkhead_any
bulkhead_any:
    mov     x2, #16
    mov     x3, xzr
1:
    ldp     x4, x5, [x0, #0]
    orr     x3, x3, x4
    orr     x3, x3, x5
    ldp     x4, x5, [x0, #16]
    orr     x3, x3, x4
    orr     x3, x3, x5
    ldp     x4, x5, [x0, #32]
    orr     x3, x3, x4
    orr     x3, x3, x5
    ldp     x4, x5, [x0, #48]
    orr     x3, x3, x4
    orr     x3, x3, x5
    ldp     x4, x5, [x0, #64]
    orr     x3, x3, x4
    orr     x3, x3, x5
    ldp     x4, x5, [x0, #80]
    orr     x3, x3, x4
    orr     x3, x3, x5
    ldp     x4, x5, [x0, #96]
    orr     x3, x3, x4
    orr     x3, x3, x5
    ldp     x4, x5, [x0, #112]
    orr     x3, x3, x4
    orr     x3, x3, x5
    ldp     x4, x5, [x0, #128]
    orr     x3, x3, x4
    orr     x3, x3, x5
    ldp     x4, x5, [x0, #144]
    orr     x3, x3, x4
    orr     x3, x3, x5
    ldp     x4, x5, [x0, #160]
    orr     x3, x3, x4
    orr     x3, x3, x5
    ldp     x4, x5, [x0, #176]
    orr     x3, x3, x4
    orr     x3, x3, x5
    ldp     x4, x5, [x0, #192]
    orr     x3, x3, x4
    orr     x3, x3, x5
    ldp     x4, x5, [x0, #208]
    orr     x3, x3, x4
    orr     x3, x3, x5
    ldp     x4, x5, [x0, #224]
    orr     x3, x3, x4
    orr     x3, x3, x5
    ldp     x4, x5, [x0, #240]
    orr     x3, x3, x4
    orr     x3, x3, x5
    add     x0, x0, #256
    sub     x2, x2, #1
    cbnz    x2, 1b
    mov     x0, x3
    ret
