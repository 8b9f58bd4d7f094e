/* Start and vectors: tasks run at EL1 on SP_EL0, interrupts on SP_EL1; the port has the handlers */
        .text
        .global _start, _freertos_vector_table
_start: adr     x1, stack_top
        msr     spsel, #1
        mov     sp, x1
        adr     x1, _freertos_vector_table
        msr     vbar_el1, x1
        isb
        b       start

        .macro  vector handler
        .balign 128
        b       \handler
        .endm

        .balign 2048
_freertos_vector_table:
        vector  FreeRTOS_SWI_Handler
        vector  FreeRTOS_IRQ_Handler
        vector  unexpected
        vector  unexpected
        vector  unexpected
        vector  FreeRTOS_IRQ_Handler    /* an urgent interrupt in the tick's handler */
        .rept   10
        vector  unexpected
        .endr

        .balign 16
        .space  8192
stack_top:
