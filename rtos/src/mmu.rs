//! Stage-1 tables: identity, write or execute, cacheable
//!
//! A core starts under [`BOOT_TABLE`], a constant, so that nothing is ever written while caches are
//! off; the final tables are then built in cacheable memory and taken over under another ASID,
//! which needs no break-before-make (Arm ARM D8.14). Later only invalid entries become valid, or
//! guard pages invalid. Tables cover the image's first 2 MiB by pages and the rest by blocks;
//! stage 2 says what is really there.
#![expect(unsafe_code, reason = "translation registers and linker symbols")]

use crate::registers;
use bulkhead_rtos_core::translation::{
    BLOCK, ENTRIES, GIGABYTE, LIMIT, PAGE, Use, block, boot_block, indices, page, table,
};
use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};

/// Address at which the linker script places the image.
const IMAGE: u64 = bulkhead_abi::guest::RAM;

/// Level 1 of a 32-bit address space.
#[repr(C, align(64))]
pub(crate) struct Root([AtomicU64; 4]);

#[repr(C, align(4096))]
struct Table([AtomicU64; ENTRIES]);

impl Table {
    const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; ENTRIES])
    }

    fn address(&self) -> u64 {
        self.0.as_ptr().addr() as u64
    }
}

/// The tables of the first instructions.
#[unsafe(no_mangle)]
static BOOT_TABLE: Root = Root([
    AtomicU64::new(0),
    AtomicU64::new(boot_block(IMAGE)),
    AtomicU64::new(0),
    AtomicU64::new(0),
]);

/// The final tables' root.
#[unsafe(no_mangle)]
static ROOT_TABLE: Root = Root([const { AtomicU64::new(0) }; 4]);
static LOW: Table = Table::new();
static MEMORY: Table = Table::new();
static PAGES: Table = Table::new();

unsafe extern "C" {
    safe static __text_end: u8;
    safe static __rodata_end: u8;
}

/// Instructions and constants of the image: addresses of the first byte and of the end.
#[must_use]
pub fn constants() -> [u64; 2] {
    [IMAGE, (&raw const __rodata_end).addr() as u64]
}

/// ASID of the final tables; the boot table's is 0.
const ASID: u64 = 1 << 48;
/// SCTLR_EL1.WXN: what is writable cannot be executed, whatever its entry says.
const WRITE_EXCLUDES_EXECUTE: u64 = 1 << 19;

/// Builds the final tables for the image and goes over to them. Once, on the first core.
pub(crate) fn take_over() {
    let [text_end, rodata_end] =
        [&raw const __text_end, &raw const __rodata_end].map(|symbol| symbol.addr() as u64);
    for (number, entry) in PAGES.0.iter().enumerate() {
        let address = IMAGE + number as u64 * PAGE;
        let purpose = match () {
            () if address < text_end => Use::Text,
            () if address < rodata_end => Use::ReadOnly,
            () => Use::Data,
        };
        entry.store(page(address, purpose), Ordering::Relaxed);
    }
    let [gigabyte, first, _] = indices(IMAGE);
    MEMORY.0[first].store(table(PAGES.address()), Ordering::Relaxed);
    ROOT_TABLE.0[0].store(table(LOW.address()), Ordering::Relaxed);
    ROOT_TABLE.0[gigabyte].store(table(MEMORY.address()), Ordering::Relaxed);
    use_final_tables();
}

fn use_final_tables() {
    let root = ROOT_TABLE.0.as_ptr().addr() as u64 | ASID;
    // SAFETY: the tables map the running image where it is, with the rights it needs.
    unsafe {
        asm!("dsb ishst", "msr ttbr0_el1, {root}", "isb",
            "mrs {control}, sctlr_el1", "orr {control}, {control}, {wxn}", "msr sctlr_el1, {control}",
            "isb", "tlbi vmalle1", "dsb nsh", "isb",
            root = in(reg) root, control = out(reg) _, wxn = in(reg) WRITE_EXCLUDES_EXECUTE,
            options(nostack));
    }
}

/// Maps memory for reading and writing; what is mapped stays as it is.
pub(crate) fn map_data(address: u64, bytes: u64) {
    map(address, bytes, Use::Data);
}

/// Maps registers.
pub(crate) fn map_device(address: u64, bytes: u64) {
    map(address, bytes, Use::Device);
}

fn map(address: u64, bytes: u64, purpose: Use) {
    let end = address.saturating_add(bytes).min(LIMIT);
    let mut at = address & !(BLOCK - 1);
    while at < end {
        let [gigabyte, two_megabytes, _] = indices(at);
        let (entry, start) = match gigabyte {
            0 => (&LOW.0[two_megabytes], at),
            1 => (&MEMORY.0[two_megabytes], at),
            _ => (&ROOT_TABLE.0[gigabyte], at & !(GIGABYTE - 1)),
        };
        let vacant = entry.load(Ordering::Relaxed) == 0;
        if vacant {
            entry.store(block(start, purpose), Ordering::Relaxed);
        }
        at += BLOCK;
    }
    registers::synchronize();
}

/// Takes a page of the image out of the map.
pub(crate) fn unmap_page(address: usize) {
    let [_, _, index] = indices(address as u64);
    replace(&PAGES.0[index], 0, address as u64);
}

/// Makes a page of the image executable instead of writable, or the other way round.
///
/// # Safety
/// `address` lies in a page of the image with data of the caller alone, and no code uses the page
/// with the permission that is taken away.
pub unsafe fn set_executable(address: usize, executable: bool) {
    let address = address as u64;
    let [_, _, index] = indices(address);
    let purpose = if executable { Use::Text } else { Use::Data };
    replace(&PAGES.0[index], 0, address);
    replace(&PAGES.0[index], page(address, purpose), address);
    for line in (address & !(PAGE - 1)..)
        .step_by(SMALLEST_LINE)
        .take(PAGE as usize / SMALLEST_LINE)
    {
        // SAFETY: cache maintenance on a mapped page.
        unsafe { asm!("dc cvau, {}", in(reg) line, options(nostack)) }
    }
    // SAFETY: what was written to the page is what will be fetched.
    unsafe { asm!("dsb ish", "ic iallu", "dsb ish", "isb", options(nostack)) }
}

/// Bytes of the smallest cache line that the architecture allows (CTR_EL0.DminLine = 2).
const SMALLEST_LINE: usize = 16;

/// Address of the window that [`show`] moves.
pub const WINDOW: u64 = 3 * GIGABYTE;

/// Shows the gigabyte at `physical` (guest-physical, up to 40 bits) in the window, as a device.
///
/// # Safety
/// The partition has no memory of its own there: below 3 GiB.
pub unsafe fn show(physical: u64) {
    let [gigabyte, _, _] = indices(WINDOW);
    let start = physical & !(GIGABYTE - 1);
    replace(&ROOT_TABLE.0[gigabyte], 0, WINDOW);
    replace(&ROOT_TABLE.0[gigabyte], block(start, Use::Device), WINDOW);
    // SAFETY: the window as a whole has changed.
    unsafe { asm!("tlbi vmalle1is", "dsb ish", "isb", options(nostack)) }
}

/// Stores `entry` and forgets what was known of `address`.
fn replace(place: &AtomicU64, entry: u64, address: u64) {
    place.store(entry, Ordering::Relaxed);
    let operand = ASID | (address >> 12);
    // SAFETY: the entry is in place before the translation goes; callers state why no code uses the
    // old one.
    unsafe {
        asm!("dsb ishst", "tlbi vae1is, {}", "dsb ish", "isb", in(reg) operand, options(nostack));
    }
}
