/* Critical sections as FreeRTOS's AArch64 port has them: the mask is written with interrupts off in PSTATE */
#include "kernel.h"

static u64 nesting;

void enter_critical(void)
{
        __asm__ volatile("msr daifset, #2\n dsb sy\n isb" : : : "memory");
        if (READ("S3_0_C4_C6_0") != MASKED)
                WRITE("S3_0_C4_C6_0", MASKED);
        __asm__ volatile("msr daifclr, #2\n dsb sy\n isb" : : : "memory");
        nesting++;
}

void exit_critical(void)
{
        if (--nesting)
                return;
        __asm__ volatile("msr daifset, #2\n dsb sy\n isb" : : : "memory");
        WRITE("S3_0_C4_C6_0", UNMASKED);
        __asm__ volatile("msr daifclr, #2\n dsb sy\n isb" : : : "memory");
}
