/* Start and vectors of a kernel for QEMU virt that knows nothing of Bulkhead */
        .text
        .global _start
_start: adr     x1, stack_top
        mov     sp, x1
        adr     x1, vectors
        msr     vbar_el1, x1
        isb
        bl      kernel
0:      wfi
        b       0b

        .macro  vector handler
        .balign 128
        sub     sp, sp, #176
        stp     x0, x1, [sp]
        stp     x2, x3, [sp, #16]
        stp     x4, x5, [sp, #32]
        stp     x6, x7, [sp, #48]
        stp     x8, x9, [sp, #64]
        stp     x10, x11, [sp, #80]
        stp     x12, x13, [sp, #96]
        stp     x14, x15, [sp, #112]
        stp     x16, x17, [sp, #128]
        stp     x18, x29, [sp, #144]
        str     x30, [sp, #160]
        bl      \handler
        b       resume
        .endm

        .balign 2048
vectors:
        .rept   4
        vector  unexpected
        .endr
        vector  fault
        vector  interrupt
        vector  unexpected
        vector  unexpected
        .rept   8
        vector  unexpected
        .endr

resume: ldp     x0, x1, [sp]
        ldp     x2, x3, [sp, #16]
        ldp     x4, x5, [sp, #32]
        ldp     x6, x7, [sp, #48]
        ldp     x8, x9, [sp, #64]
        ldp     x10, x11, [sp, #80]
        ldp     x12, x13, [sp, #96]
        ldp     x14, x15, [sp, #112]
        ldp     x16, x17, [sp, #128]
        ldp     x18, x29, [sp, #144]
        ldr     x30, [sp, #160]
        add     sp, sp, #176
        eret

        .balign 16
        .space  8192
stack_top:
