/* Start, vectors and task switch of an RTOS: tasks run at EL1 on SP_EL0, interrupts on SP_EL1 */
        .text
        .global _start, begin
_start: adr     x1, interrupt_stack_top
        msr     spsel, #1
        mov     sp, x1
        adr     x1, vectors
        msr     vbar_el1, x1
        isb
        b       kernel

/* x0: saved stack pointer of the first task. */
begin:  b       resume

        .macro  save
        sub     sp, sp, #272
        stp     x0, x1, [sp]
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
        mrs     x0, elr_el1
        mrs     x1, spsr_el1
        stp     x30, x0, [sp, #240]
        str     x1, [sp, #256]
        .endm

        .macro  restore
        ldr     x1, [sp, #256]
        ldp     x30, x0, [sp, #240]
        msr     spsr_el1, x1
        msr     elr_el1, x0
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
        ldp     x0, x1, [sp]
        add     sp, sp, #272
        .endm

/* A task was interrupted: its registers go to its own stack. */
of_task:
        msr     spsel, #0
        save
        mov     x0, sp
        msr     spsel, #1
        bl      interrupt
resume: msr     spsel, #0
        mov     sp, x0
        restore
        msr     spsel, #1               /* ERET goes back to SP_EL0 */
        eret

/* An interrupt handler was interrupted: no other task follows. */
nested: save
        mov     x0, sp
        bl      interrupt
        restore
        eret

        .macro  vector handler
        .balign 128
        b       \handler
        .endm

        .balign 2048
vectors:
        vector  unexpected
        vector  of_task
        vector  unexpected
        vector  unexpected
        vector  unexpected
        vector  nested
        .rept   10
        vector  unexpected
        .endr

        .balign 16
        .space  8192
interrupt_stack_top:
