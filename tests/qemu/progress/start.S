/* Start of a guest that knows no heartbeats, with interrupts masked */
        .text
        .global _start
_start: adr     x1, stack_top
        mov     sp, x1
        bl      kernel
0:      wfi
        b       0b

        .balign 16
        .space  4096
stack_top:
