//! The kernel's own address space: a linear map, write or execute
//!
//! A core starts under [`BOOT_TABLE`], a constant, identity and linear map in one, so that nothing is
//! written while caches are off. The final tables are built in cacheable memory and taken over from
//! the identity map while the upper half is switched off (break-before-make, Arm ARM D8.14). They
//! never change again.
#![expect(unsafe_code, reason = "translation registers and linker symbols")]

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU64, Ordering};

/// Difference between kernel and guest-physical addresses; `LINEAR` of the linker script.
pub(crate) const LINEAR: u64 = 0xffff_ff80_0000_0000;

const ENTRIES: usize = 512;
const PAGE: u64 = 4096;
const BLOCK: u64 = 2 << 20;
const GIGABYTE: u64 = 1 << 30;
/// First address of guest memory.
const MEMORY: u64 = bulkhead_abi::guest::RAM;
/// [`take_over`] maps the image in the gigabyte after the one of devices.
const _: () = assert!(MEMORY == GIGABYTE);

/// MAIR_EL1: 0 = normal write-back read/write-allocate, 1 = device nGnRE.
pub(crate) const MAIR: u64 = 0x04ff;
/// TCR_EL1: 39 bits and 4 KiB in both halves, inner and outer write-back, inner shareable, 40-bit
/// output, 16-bit identities.
pub(crate) const TCR: u64 = HALF | HALF << 16 | 1 << 31 | 2 << 32 | 1 << 36;
/// TxSZ = 25, IRGN = ORGN = 1, SH = 3.
const HALF: u64 = 25 | 1 << 8 | 1 << 10 | 3 << 12;
/// TCR_EL1.EPD1: no walks of the upper half.
const UPPER_OFF: u64 = 1 << 23;
/// SCTLR_EL1.WXN.
const WRITE_EXCLUDES_EXECUTE: u64 = 1 << 19;

const VALID: u64 = 1;
const TABLE_OR_PAGE: u64 = 1 << 1;
const DEVICE: u64 = 1 << 2;
const READ_ONLY: u64 = 1 << 7;
const NORMAL: u64 = VALID | 3 << 8 | 1 << 10;
const NOT_GLOBAL: u64 = 1 << 11;
const NEVER_EXECUTES: u64 = 1 << 53 | 1 << 54;
const USER_NEVER_EXECUTES: u64 = 1 << 54;

#[repr(C, align(4096))]
struct Table([AtomicU64; ENTRIES]);

impl Table {
    const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; ENTRIES])
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "evaluated by the compiler, which refuses to leave the array"
    )]
    const fn boot() -> Self {
        let mut table = Self::new();
        let entry = MEMORY | NORMAL | NOT_GLOBAL | USER_NEVER_EXECUTES;
        table.0[(MEMORY / GIGABYTE) as usize] = AtomicU64::new(entry);
        table
    }

    fn physical(&self) -> u64 {
        (self.0.as_ptr().addr() as u64).wrapping_sub(LINEAR)
    }

    fn entries(&self) -> impl Iterator<Item = (&AtomicU64, u64)> {
        self.0.iter().zip(0..)
    }
}

/// The tables of the first instructions, for both halves.
#[unsafe(no_mangle)]
static BOOT_TABLE: Table = Table::boot();
/// The tables of the upper half, from [`take_over`] on.
#[unsafe(no_mangle)]
static ROOT_TABLE: Table = Table::new();
static LOW: Table = Table::new();
static MIDDLE: Table = Table::new();
static IMAGE: Table = Table::new();

unsafe extern "C" {
    safe static __text_end: u8;
    safe static __rodata_end: u8;
    safe static __image_end: u8;
    fn bulkhead_take_over(root: u64, tcr: u64);
}

/// Guest-physical address after the kernel's image: where the archive is.
pub(crate) fn image_end() -> u64 {
    ((&raw const __image_end).addr() as u64).wrapping_sub(LINEAR)
}

/// Builds the final tables and goes over to them: everything up to `end` that is not the image as
/// data, below memory `window` as data and the rest as devices.
pub(crate) fn take_over(window: [u64; 2], end: u64) {
    let data = |at: u64| at | NORMAL | NEVER_EXECUTES;
    let [text_end, rodata_end] = [&raw const __text_end, &raw const __rodata_end]
        .map(|symbol| (symbol.addr() as u64).wrapping_sub(LINEAR));
    for (entry, number) in IMAGE.entries() {
        let at = MEMORY + number * PAGE;
        let rights = match () {
            () if at < text_end => READ_ONLY | USER_NEVER_EXECUTES,
            () if at < rodata_end => READ_ONLY | NEVER_EXECUTES,
            () => NEVER_EXECUTES,
        };
        entry.store(at | NORMAL | TABLE_OR_PAGE | rights, Ordering::Relaxed);
    }
    let image = IMAGE.physical() | TABLE_OR_PAGE | VALID;
    for (entry, number) in MIDDLE.entries() {
        let at = MEMORY + number * BLOCK;
        let block = if number == 0 { image } else { data(at) };
        entry.store(block, Ordering::Relaxed);
    }
    let [first, last] = window.map(|at| at / BLOCK);
    for (entry, number) in LOW.entries() {
        let kind = if (first..=last).contains(&number) {
            0
        } else {
            DEVICE
        };
        entry.store(data(number * BLOCK) | kind, Ordering::Relaxed);
    }
    for (entry, number) in ROOT_TABLE.entries() {
        let value = match number {
            0 => LOW.physical() | TABLE_OR_PAGE | VALID,
            1 => MIDDLE.physical() | TABLE_OR_PAGE | VALID,
            _ if number * GIGABYTE < end => data(number * GIGABYTE),
            _ => 0,
        };
        entry.store(value, Ordering::Relaxed);
    }
    // SAFETY: the tables map the running image where it is, with the rights it needs.
    unsafe { bulkhead_take_over(ROOT_TABLE.physical(), TCR | UPPER_OFF) };
    exclude_execution();
}

/// Sets WXN: from here on the calling core executes no writable page.
pub(crate) fn exclude_execution() {
    // SAFETY: nothing the kernel executes is writable.
    unsafe {
        asm!("mrs {control}, sctlr_el1", "orr {control}, {control}, {wxn}", "msr sctlr_el1, {control}",
            "isb", control = out(reg) _, wxn = in(reg) WRITE_EXCLUDES_EXECUTE, options(nostack));
    }
}

global_asm!(
    r#"
// x0 = root of the upper half, x1 = TCR_EL1 with the upper half off.
.section .text.take_over, "ax"
.global bulkhead_take_over
bulkhead_take_over:
    adr     x2, 1f
    ldr     x3, ={linear}
    sub     x2, x2, x3
    br      x2                  // from here on in the lower half
1:  dsb     ishst
    msr     tcr_el1, x1
    isb
    tlbi    vmalle1
    dsb     nsh
    isb
    msr     ttbr1_el1, x0
    and     x1, x1, #~{upper_off}
    msr     tcr_el1, x1
    isb
    ret                         // to the upper half again
"#,
    linear = const LINEAR,
    upper_off = const UPPER_OFF,
);
