//! The first instructions, and the way to user space
//!
//! Entered at EL1 with everything off and x0 = guest-physical address of the guest information page,
//! or, on a further core, of the core's page in the linear map.
//! Behind the image lie the archive, then, made here, the cores' stacks and pages and the frame table; the rest
//! of the memory is what user space may have.
#![expect(unsafe_code, reason = "assembly, and planned addresses become memory")]

use crate::entry::{bulkhead_broken, kernel};
use crate::machine::{COMPONENT_LOG, FRAMES, Machine, has_long_lines};
use crate::space::{self, LINEAR, MAIR, TCR};
use crate::{interrupts, registers};
use bulkhead_abi::failure::{NO_COMPONENT, NO_GUEST_INFO, NO_IDENTITIES, NO_LINES, NO_MEMORY};
use bulkhead_abi::guest::{GUEST_MAGIC, GuestInfo, GuestPage, WINDOW_BYTES};
use bulkhead_abi::kernel::{ARCHIVE_MAGIC, Archive, KERNEL_STACK_BYTES, MAX_CORES};
use bulkhead_abi::{PAGE_SIZE, VERSION, component_log};
use bulkhead_kernel_core::boot::Offer;
use bulkhead_kernel_core::frame::State;
use bulkhead_kernel_core::object::Core;
use bulkhead_kernel_core::{Hal, Ref};
use core::arch::global_asm;
use core::sync::atomic::Ordering;

/// SCTLR_EL1: RES1 bits of Armv8.0, M, C, SA, SA0, I; EL0 may use DC ZVA, CTR_EL0, WFI and WFE.
const CONTROL: u64 = 0x30d0_181d | 1 << 14 | 1 << 15 | 1 << 16 | 1 << 18;
/// How often in a second a core becomes quiet (`bulkhead_kernel_core::quiescence`): what was given up can be
/// used again after so long, and no core is disturbed more often for it.
const QUIET_RATE: u64 = 100;
const STACK_BYTES: u64 = KERNEL_STACK_BYTES;

/// Stack of the first core.
#[repr(C, align(4096))]
struct Stack(core::cell::UnsafeCell<[u8; STACK_BYTES as usize]>);

// SAFETY: nothing reads or writes it through this type; one core uses it as its stack.
unsafe impl Sync for Stack {}

#[unsafe(no_mangle)]
static KERNEL_STACK: Stack = Stack(core::cell::UnsafeCell::new([0; STACK_BYTES as usize]));

global_asm!(
    r#"
.macro address register, symbol
    adrp    \register, \symbol
    add     \register, \register, :lo12:\symbol
.endm

// Caches and translation on; x1 = root of the upper half. Goes on at the upper half's 1.
.macro begin
    address x6, BOOT_TABLE
    ldr     x2, ={mair}
    ldr     x3, ={tcr}
    ldr     x4, ={control}
    msr     mair_el1, x2
    msr     tcr_el1, x3
    msr     ttbr0_el1, x6
    msr     ttbr1_el1, x1
    isb
    tlbi    vmalle1
    ic      iallu
    dsb     nsh
    isb
    msr     sctlr_el1, x4
    isb
    ldr     x2, =1f
    br      x2
1:  ldr     x2, =bulkhead_vectors
    msr     vbar_el1, x2
    msr     spsel, #1
    mov     x29, xzr
    mov     x30, xzr
.endm

.section .text.start, "ax"
.global _start
_start:
    mov     x19, x0
    address x1, BOOT_TABLE
    begin
    ldr     x2, =KERNEL_STACK + {stack}
    mov     sp, x2
    mov     x0, x19
    bl      bulkhead_start
    // The first thread, as the way out of a call restores it.
    b       resume

// x0 = the core's page.
.global _start_core
_start_core:
    mov     x19, x0
    address x1, ROOT_TABLE
    begin
    ldr     x2, [x19, #{core_stack}]
    mov     sp, x2
    mov     x0, x19
    bl      bulkhead_start_core
    b       resume
"#,
    mair = const MAIR,
    tcr = const TCR,
    control = const CONTROL,
    stack = const STACK_BYTES,
    core_stack = const 8 * Core::STACK,
);

/// Goes on in Rust; comes back when the first thread is ready to run.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_start(info_address: u64) {
    let window = window_start(info_address);
    space::take_over([window, window + WINDOW_BYTES - 1], u64::MAX);
    if let Err(code) = start(info_address) {
        bulkhead_broken(code, 0);
    }
}

/// Goes on in Rust on a further core.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_start_core(page: u64) {
    space::exclude_execution();
    let at = Ref::offered(page);
    registers::set_core_page(page);
    let rank = Core::new(at, Machine.frame(at)).rank().get();
    prepare_core(rank);
    interrupts::start_core(rank);
    kernel().begin();
}

/// ID_AA64MMFR0_EL1.ASIDBits of 16-bit identities.
const WIDE_IDENTITIES: u64 = 2;

fn start(info_address: u64) -> Result<(), u64> {
    // SAFETY: the monitor's argument; mapped, page-aligned, every bit pattern is a value.
    let page: &GuestPage = unsafe { at(info_address) };
    let info = &page.info;
    if info.magic != GUEST_MAGIC || info.version != VERSION {
        return Err(NO_GUEST_INFO);
    }
    if registers::memory_features() >> 4 & 0xf != WIDE_IDENTITIES {
        return Err(NO_IDENTITIES);
    }
    if !has_long_lines() {
        return Err(NO_LINES);
    }
    let archive_address = space::image_end();
    // SAFETY: the page behind the image, which the host tool has filled.
    let archive: &Archive = unsafe { at(archive_address) };
    if archive.magic != ARCHIVE_MAGIC || archive.version != VERSION {
        return Err(NO_COMPONENT);
    }
    let [first, ..] = archive.components;
    let memory_end = info.memory[0].saturating_add(info.memory[1]);
    // The cores' pages, the stacks of all but the first, the frame table.
    let cores = u64::from(info.cores).clamp(1, MAX_CORES as u64);
    let stacks = archive_address + archive.pages * PAGE_SIZE;
    let core_pages = stacks + (cores - 1) * STACK_BYTES;
    let table = core_pages + cores * PAGE_SIZE;
    let pages = memory_end.checked_sub(archive_address).ok_or(NO_MEMORY)? / PAGE_SIZE;
    let free = (table + 8 * pages).next_multiple_of(PAGE_SIZE);
    let free_pages = memory_end.checked_sub(free).ok_or(NO_MEMORY)? / PAGE_SIZE;
    FRAMES.entries.store(table + LINEAR, Ordering::Relaxed);
    FRAMES
        .first
        .store(archive_address + LINEAR, Ordering::Relaxed);
    FRAMES.count.store(pages, Ordering::Relaxed);
    keep_archive(archive_address, archive.pages);
    keep_component_log(page.component_log);
    interrupts::start(info.interrupt_controller, info.timer);
    for rank in 0..cores {
        let at = Ref::offered(core_pages + LINEAR + rank * PAGE_SIZE);
        let core = Core::new(at, Machine.frame(at));
        core.rank().set(rank);
        core.period()
            .set(registers::counter_frequency() / QUIET_RATE);
        let affinity = interrupts::affinity(rank);
        core.mail().set(interrupts::mail_for(affinity));
        core.stack().set(stacks + LINEAR + rank * STACK_BYTES);
    }
    registers::set_core_page(core_pages + LINEAR);
    prepare_core(0);
    interrupts::start_core(0);
    let window = [window_start(info_address), window_end(info)];
    kernel()
        .boot(&Offer {
            memory: (Ref::offered(free + LINEAR), free_pages),
            window: (
                Ref::offered(window[0] + LINEAR),
                (window[1] - window[0]) / PAGE_SIZE,
            ),
            archive: (Ref::offered(archive_address + LINEAR), archive.pages),
            component: first,
            guest_page: info_address,
            cores: (Ref::offered(core_pages + LINEAR), cores),
        })
        .map_err(|_| NO_MEMORY)
}

/// The object at a guest-physical address.
///
/// # Safety
/// There is an object of that type at the address, and it is never written.
unsafe fn at<T>(address: u64) -> &'static T {
    let object: *const T = core::ptr::with_exposed_provenance((address + LINEAR) as usize);
    // SAFETY: the caller's promise.
    unsafe { &*object }
}

/// Keeps the address of the log of component faults, if the partition has one of sufficient size.
fn keep_component_log([address, size]: [u64; 2]) {
    if size >= component_log::SIZE {
        COMPONENT_LOG.store(address + LINEAR, Ordering::Relaxed);
    }
}

/// The archive is user memory from the start, and stays so.
fn keep_archive(address: u64, pages: u64) {
    let page = |number| Ref::offered(address + LINEAR + number * PAGE_SIZE);
    (0..pages)
        .filter_map(|number| Machine.state(page(number)))
        .for_each(State::keep);
}

/// MDSCR_EL1.TDCC: an access of user space to the debug communications channel is a fault. An external debugger reads
/// and writes the channel, so that it would carry data between components.
const TRAP_DEBUG_CHANNEL: u64 = 1 << 12;

/// System registers that do not change again.
fn prepare_core(rank: u64) {
    registers::set_core_rank(rank);
    // EL0 reads CNTVCT_EL0 and the cycle counter, which counts at every level.
    registers::set_counter_access(1 << 1);
    registers::set_debug_control(TRAP_DEBUG_CHANNEL);
    registers::set_cycle_counter_access(1 << 2);
    registers::set_cycle_counter_filter(0);
    registers::enable_counters(1 << 31);
    registers::set_counter_control(1 | 1 << 6);
}

/// Start of the window in which the guest information page is: boards align it to its size.
const fn window_start(info_address: u64) -> u64 {
    info_address & !(WINDOW_BYTES - 1)
}

/// End of what the guest information page names in the window.
fn window_end(info: &GuestInfo) -> u64 {
    let streams = [info.console_out, info.console_in, info.trace];
    let pages = [info.link, info.status].map(|page| [page, PAGE_SIZE]);
    let channels = info.channels.iter().take(info.channel_count as usize);
    let ends = channels.map(|end| [end.ipa, end.size]);
    let peers = info.channels.iter().map(|end| [end.link, PAGE_SIZE]);
    streams
        .into_iter()
        .chain(pages)
        .chain(ends)
        .chain(peers)
        .map(|[address, bytes]| address.saturating_add(bytes))
        .fold(PAGE_SIZE, u64::max)
        .next_multiple_of(PAGE_SIZE)
}
