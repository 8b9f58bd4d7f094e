// A firmware at EL3 for QEMU `virt` with two security states: fetches the boot image that the emulator offers by fw_cfg,
// and enters it at EL2. Sources that include it choose how it answers PSCI:
//
//   VERSION_ANSWER  to PSCI_VERSION
//   START_ANSWER    to CPU_ON
//   START_LEVEL     SPSR_EL3 with which CPU_ON enters a core; 0 = it is never entered
//   FREQUENCY       CNTFRQ_EL0 of the other cores
//   OTHER_CORE      exclusive-or of the core of the call and the core that CPU_ON enters; left out = 0
//   ONLY_CORE       the core that each CPU_ON enters, also where it has been entered before
//   OWN_CORE        CPU_ON enters the core that calls
//   DEBUG_TRAPS     MDCR_EL3; left out = 0
//   MUTE            no call or trap comes back
//   LATE            ticks after which core 1 is entered once more; two security states, of which firmware keeps the first
//
// It runs from flash at address 0. Translation and caches are off on all cores.

#define DISTRIBUTOR 0x08000000
#define REDISTRIBUTORS 0x080a0000
#define WAKE 8
#define FW_CFG 0x09020000
#define KERNEL_SIZE 0x08
#define KERNEL_DATA 0x11
#define LOAD 0x40200000
#define RAM 0x40000000              // the transfer below, then the mailbox
#define MAILBOX 0x40000040
#define EL2 0x3c9
#define EL1 0x3c5
#ifndef DEBUG_TRAPS
#define DEBUG_TRAPS 0
#endif
#define TIMER 29                    // the secure physical timer's interrupt
#define OFF 0x30c50830              // SCTLR_EL2 after a reset: translation and caches off
#if defined(ONLY_CORE) || defined(LATE)
#define STATE 0x535                 // as below, and FIQ: firmware takes secure interrupts from all levels
#else
#define STATE 0x531                 // NS, RES1, HCE, RW
#endif

.globl _start
.text
_start:
    adr x0, vectors
    msr vbar_el3, x0
    mov x0, #STATE
    msr scr_el3, x0
    mov x0, #0x80000000             // RW: EL1 is AArch64
    msr hcr_el2, x0
    msr cptr_el3, xzr
    mov x0, #DEBUG_TRAPS
    msr mdcr_el3, x0
    mov x0, #0xf                    // system registers, also at EL2
    msr s3_6_c12_c12_5, x0          // ICC_SRE_EL3
    isb
    mov x0, #0xff                   // where firmware takes FIQs others change the mask only from 0x80 on
    msr s3_0_c4_c6_0, x0            // ICC_PMR_EL1
    mrs x19, mpidr_el1
    and x19, x19, #0xff
    ldr x0, =62500000
    cbz x19, 1f
    ldr x0, =FREQUENCY
1:  msr cntfrq_el0, x0
#ifdef LATE
    ldr x0, =REDISTRIBUTORS         // the first security state keeps its timer and the interrupt that wakes
    add x0, x0, x19, lsl #17
    add x0, x0, #0x10000
    ldr w1, =~(1 << TIMER | 1 << WAKE)
    str w1, [x0, #0x80]             // GICR_IGROUPR0
#endif
    cbnz x19, wait

    ldr x0, =DISTRIBUTOR
#ifdef LATE
    mov w1, #-1
    add x2, x0, #0x84               // GICD_IGROUPR: the SPIs
    add x3, x0, #0x100
1:  str w1, [x2], #4
    cmp x2, x3
    b.ne 1b
#else
    mov w1, #0x40                   // one security state: GICD_CTLR.DS, before it the enables are 0
    str w1, [x0]
#endif

    // Size of the image, then the image: a request is control, length, address, big-endian.
    mov w0, #KERNEL_SIZE
    mov w1, #4
    ldr x2, =RAM + 32
    bl fetch
    ldr x2, =RAM + 32
    ldr w1, [x2]
    mov w0, #KERNEL_DATA
    ldr x2, =LOAD
    bl fetch

    ldr x1, =LOAD
    mov x2, #EL2
    b enter

// w0 = item, w1 = bytes, x2 = place.
fetch:
    ldr x3, =RAM
    lsl w0, w0, #16
    add w0, w0, #0xa                // select, read
    rev w0, w0
    rev w1, w1
    rev x2, x2
    stp w0, w1, [x3]
    str x2, [x3, #8]
    dsb sy
    ldr x4, =FW_CFG + 16
    rev x5, x3
    str x5, [x4]
2:  ldr w0, [x3]
    cbnz w0, 2b
    ret

// A core that waits for its start, asleep: an emulated core that spins takes others their time. Its mailbox holds entry and
// context, by its affinity. The core is woken by a secure interrupt, which it never takes.
wait:
    ldr x4, =REDISTRIBUTORS
    add x4, x4, x19, lsl #17
    str wzr, [x4, #0x14]            // GICR_WAKER
    add x4, x4, #0x10000
    mov w0, #1 << WAKE
    str w0, [x4, #0x100]            // GICR_ISENABLER0
    mov x0, #1
    msr s3_0_c12_c12_6, x0          // ICC_IGRPEN0_EL1
    isb
    ldr x3, =MAILBOX
    add x3, x3, x19, lsl #4
3:  wfi
    ldr x1, [x3]
    cbz x1, 3b
    ldr x0, [x3, #8]
    mrs x5, s3_0_c12_c8_0           // ICC_IAR0_EL1
    msr s3_0_c12_c8_1, x5           // ICC_EOIR0_EL1
#ifdef LATE
    cmp x19, #1
    b.ne 4f
    ldr x5, =LATE
    msr s3_7_c14_c2_0, x5           // CNTPS_TVAL_EL1
    mov x5, #1
    msr s3_7_c14_c2_1, x5           // CNTPS_CTL_EL1
    mov w5, #1 << TIMER >> 16
    lsl w5, w5, #16
    ldr x4, =REDISTRIBUTORS
    add x4, x4, x19, lsl #17
    add x4, x4, #0x10000
    str w5, [x4, #0x100]
4:
#elif !defined(ONLY_CORE)
    msr s3_0_c12_c12_6, xzr
#endif
    isb
    mov x2, #START_LEVEL
// x0 = argument, x1 = address, x2 = state.
enter:
    msr elr_el3, x1
    msr spsr_el3, x2
    eret

// A core is interrupted by firmware's own interrupt: it is entered once more, like after a reset.
again:
    mrs x19, mpidr_el1
    and x19, x19, #0xff
    ldr x0, =OFF
    msr sctlr_el2, x0
#ifdef LATE
    mrs x5, s3_0_c12_c8_0           // ICC_IAR0_EL1
    msr s3_7_c14_c2_1, xzr
    msr s3_0_c12_c8_1, x5           // ICC_EOIR0_EL1
    ldr x3, =MAILBOX
    add x3, x3, x19, lsl #4
    ldp x1, x0, [x3]
    isb
    mov x2, #START_LEVEL
    b enter
#else
    b wait
#endif

// A call from EL2: x0 = function.
call:
#ifdef MUTE
    wfi
    b call
#endif
    ldr x9, =0x84000000             // PSCI_VERSION
    cmp x0, x9
    b.eq version
    ldr x9, =0xc4000003             // CPU_ON
    cmp x0, x9
    mov x0, #-1
    b.ne done
    mov x9, #START_LEVEL
    cbz x9, started
    and x1, x1, #0xf
#ifdef OTHER_CORE
    eor x1, x1, #OTHER_CORE
#endif
#ifdef OWN_CORE
    mov x0, x3
    mov x1, x2
    mov x2, #START_LEVEL
    b enter
#endif
#ifdef ONLY_CORE
    mov x1, #ONLY_CORE
    ldr x9, =REDISTRIBUTORS         // software below may have changed them
    add x9, x9, x1, lsl #17
    add x9, x9, #0x10000
    ldr w4, [x9, #0x80]
    bic w4, w4, #1 << WAKE
    str w4, [x9, #0x80]             // GICR_IGROUPR0
    strb wzr, [x9, #0x400 + WAKE]   // GICR_IPRIORITYR
    mov w4, #1 << WAKE
    str w4, [x9, #0x100]            // GICR_ISENABLER0
#endif
    ldr x9, =MAILBOX
    add x9, x9, x1, lsl #4
    str x3, [x9, #8]
    dsb sy
    str x2, [x9]
    ldr x9, =DISTRIBUTOR
    ldr w2, [x9]
    orr w2, w2, #1                  // group 0
    str w2, [x9]
    mov x9, #1
    lsl x9, x9, x1
    orr x9, x9, #WAKE << 24
    dsb sy
    msr s3_0_c12_c11_7, x9          // ICC_SGI0R_EL1
    isb
started:
    ldr x0, =START_ANSWER
    b done
version:
    ldr x0, =VERSION_ANSWER
done:
    eret

.balign 2048
vectors:
.skip 0x400                         // from a lower level, AArch64: synchronous
    b call
.balign 0x80
.skip 0x80                          // IRQ
    b again                         // FIQ
.ltorg
