// Head of the boot image: the arm64 Image header (Linux Documentation/arch/arm64/booting.rst), then
// what the packer fills in, then the first instructions. MMU and caches are off, all is physical.

.section .text.header, "ax"
header:
    b _start
    .word 0
    .quad 0                         // text_offset
    .quad 0                         // image_size: packer
    .quad 0xa                       // little-endian, 4 KiB pages, anywhere in memory
    .quad 0, 0, 0
    .ascii "ARM\x64"
    .word 0
.global boot_header
boot_header:
    .quad 0, 0, 0, 0, 0             // BootHeader: packer

.global _start
_start:
    msr daifset, #0xf
    adr x0, header                  // where it is, and where it was built for
    ldr x1, =LOAD_ADDRESS
    adrp x2, first_stack_top
    add sp, x2, :lo12:first_stack_top
    b boot_first

// The index of a core is that of its affinity: firmware is not trusted to hand it through.
.global boot_secondary
boot_secondary:
    msr daifset, #0xf
    mrs x3, mpidr_el1
    ldr x4, =0xff00ffffff
    and x3, x3, x4
    adrp x1, secondary_affinities
    add x1, x1, :lo12:secondary_affinities
    mov x0, #0
1:  ldr x2, [x1, x0, lsl #3]
    cmp x2, x3
    b.eq 2f
    add x0, x0, #1
    cmp x0, #{MAX_CORES}
    b.ne 1b
    // Not a core that was called: it has no stack to say so on, and the first core misses one. An interrupt that
    // firmware has left pending does not keep it awake.
    wfe
    b boot_secondary
2:  adrp x1, secondary_stacks
    add x1, x1, :lo12:secondary_stacks
    ldr x1, [x1, x0, lsl #3]
    mov sp, x1
    b boot_other

// Any exception at EL2, from any vector.
.balign 2048
.global boot_vectors
boot_vectors:
.rept 16
    .balign 128
    b boot_exception
.endr

// x0: El2Registers, x1: the core's state, x2: resident entry, x3: SCTLR_EL2.
.global leave_for_monitor
leave_for_monitor:
    ldp x4, x5, [x0], #16
    msr hcr_el2, x4
    msr vttbr_el2, x5
    ldp x4, x5, [x0], #16
    msr vtcr_el2, x4
    msr cptr_el2, x5
    ldp x4, x5, [x0], #16
    msr mdcr_el2, x4
    msr vmpidr_el2, x5
    ldp x4, x5, [x0], #16
    msr vpidr_el2, x4
    msr ttbr0_el2, x5
    ldp x4, x5, [x0], #16
    msr tcr_el2, x4
    msr mair_el2, x5
    ldr x5, [x0]
    mov x4, #3                      // counters and the physical timer are EL1's
    msr cnthctl_el2, x4
    msr cntvoff_el2, xzr
    msr hstr_el2, xzr
    mov x4, #-1                     // the alarm: on, never
    msr cnthp_cval_el2, x4
    mov x4, #1
    msr cnthp_ctl_el2, x4
    mov x4, #0xf                    // GIC by system registers, also at EL1
    msr s3_4_c12_c9_5, x4           // ICC_SRE_EL2
    isb
    mov x4, #7
    msr s3_0_c12_c12_5, x4          // ICC_SRE_EL1
    msr s3_4_c12_c11_0, x5          // ICH_HCR_EL2
    msr s3_0_c4_c6_0, xzr           // ICC_PMR_EL1
    msr s3_0_c12_c12_4, xzr         // ICC_CTLR_EL1
    msr s3_0_c12_c12_3, xzr         // ICC_BPR1_EL1
    msr s3_0_c12_c9_0, xzr          // ICC_AP1R0_EL1
    msr s3_0_c12_c12_7, xzr         // ICC_IGRPEN1_EL1
    dsb sy
    tlbi alle2
    tlbi alle1
    ic iallu
    dsb sy
    isb
    sub x4, x2, #0x800              // the vectors, MONITOR_ENTRY_OFFSET before the entry
    msr vbar_el2, x4
    msr tpidr_el2, x1
    mov x0, x1
    mov x1, x3
    br x2

.section .bss.stack, "aw", %nobits
.balign 16
    .skip 16384
first_stack_top:
.balign 8
.global secondary_stacks
secondary_stacks:
    .skip 8 * {MAX_CORES}
.global secondary_affinities
secondary_affinities:
    .skip 8 * {MAX_CORES}
