//! The machine under the kernel
//!
//! References are kernel addresses, so turning one into memory costs nothing. That is sound as long
//! as the core keeps what [`Hal`] says of them: pages come from `start` and keep their type
//! while anything refers to them.
#![expect(unsafe_code, reason = "kernel addresses become memory")]

use crate::space::LINEAR;
use crate::{interrupts, registers};
use bulkhead_abi::component_log::{self, ComponentFault, ComponentLog, PLACES, RECORDS};
use bulkhead_abi::hypercall::{DOORBELL, FAIL, UP};
use bulkhead_abi::kernel::Status;
use bulkhead_abi::psci;
use bulkhead_kernel_core::frame::State;
use bulkhead_kernel_core::object::{Core, FLOATING_POINT, Thread};
use bulkhead_kernel_core::{Frame, Hal, MonitorCall, Ref, Word};
use core::sync::atomic::{AtomicU64, Ordering};

const PAGE: u64 = bulkhead_abi::PAGE_SIZE;
/// CTR_EL0: lowest bits of DminLine and L1Ip; IminLine is lowest.
const DATA_LINE: u64 = 16;
const INSTRUCTION_POLICY: u64 = 14;
/// Of L1Ip: a line is found by its physical address, so that invalidating one address leaves no alias.
const PHYSICAL: u64 = 3;

/// Log2 of the words of a cache line that a kernel needs at least, so that code is published in few steps.
const LINE_WORDS: u64 = 4;

/// Bytes of a cache line, as CTR_EL0 says in its lowest four bits.
fn line(words: u64) -> usize {
    4 << (words & 0xf).max(LINE_WORDS)
}

/// Returns true if no cache line is shorter than 64 bytes.
pub(crate) fn has_long_lines() -> bool {
    let caches = registers::cache_type();
    [caches, caches >> DATA_LINE]
        .iter()
        .all(|words| words & 0xf >= LINE_WORDS)
}
const LEND: u64 = 3 << 20;
const TRAP: u64 = 1 << 20;

/// The core that runs this.
pub(crate) struct Machine;

/// The frame table: where it is, the page its first entry is for, its entries.
pub(crate) struct FrameTable {
    pub(crate) entries: AtomicU64,
    pub(crate) first: AtomicU64,
    pub(crate) count: AtomicU64,
}

pub(crate) static FRAMES: FrameTable = FrameTable {
    entries: AtomicU64::new(0),
    first: AtomicU64::new(0),
    count: AtomicU64::new(0),
};

/// Kernel address of the partition's log of component faults; 0 where it has none.
pub(crate) static COMPONENT_LOG: AtomicU64 = AtomicU64::new(0);

/// [`ComponentLog`], which all cores write.
#[repr(C)]
struct LogCells {
    faults: [AtomicU64; PLACES],
    records: [[[AtomicU64; FAULT_WORDS]; RECORDS]; PLACES],
}

const FAULT_WORDS: usize = size_of::<ComponentFault>() / 8;
const _: () = assert!(size_of::<LogCells>() == size_of::<ComponentLog>());

/// The partition's log.
fn component_log() -> Option<&'static LogCells> {
    let address = COMPONENT_LOG.load(Ordering::Relaxed) as usize;
    let log: *const LogCells = core::ptr::with_exposed_provenance(address);
    // SAFETY: `start` stored the address of a region of that size, which is mapped for good; any content is words.
    (address != 0).then(|| unsafe { &*log })
}

unsafe extern "C" {
    fn bulkhead_exchange_fp(owner: u64, next: u64);
    fn bulkhead_keep_fp(place: u64);
    fn bulkhead_fill(page: u64, value: u64, words: u64);
    fn bulkhead_has_only(page: u64, value: u64) -> u64;
    fn bulkhead_any(page: u64) -> u64;
    fn bulkhead_recover_fp(place: u64);
    /// Entry point of a further core, with its page in x0.
    safe static _start_core: u8;
}

impl Hal for Machine {
    const LINEAR: u64 = LINEAR;

    #[inline(always)]
    fn frame(&self, at: Ref) -> &Frame {
        let page: *const Frame = core::ptr::with_exposed_provenance(at.address() as usize);
        // SAFETY: a page of the linear map, by the promise of `Ref`; any content is words.
        unsafe { &*page }
    }

    #[inline(always)]
    fn word(&self, at: Ref) -> &Word {
        let word: *const Word = core::ptr::with_exposed_provenance(at.address() as usize);
        // SAFETY: as above; the core makes word references from page references only.
        unsafe { &*word }
    }

    fn state(&self, at: Ref) -> Option<&State> {
        let first = FRAMES.first.load(Ordering::Relaxed);
        let number = at.address().checked_sub(first)? / PAGE;
        if number >= FRAMES.count.load(Ordering::Relaxed) {
            return None;
        }
        let entries = FRAMES.entries.load(Ordering::Relaxed) as usize;
        let entry: *const State = core::ptr::with_exposed_provenance(entries + 8 * number as usize);
        // SAFETY: within the table, which `start` has cleared and only this function refers to.
        Some(unsafe { &*entry })
    }

    #[inline(always)]
    fn core(&self) -> Core<'_> {
        let at = Ref::offered(registers::core_page());
        Core::new(at, self.frame(at))
    }

    /// Has a core that is off begin with its page.
    fn start_core(&self, core: Core<'_>) -> Result<(), Status> {
        let entry = (&raw const _start_core).addr() as u64 - LINEAR;
        registers::synchronize();
        let affinity = interrupts::affinity_in(core.mail().get());
        let arguments = [affinity, entry, core.at().address()];
        match registers::hypervisor_call(psci::CPU_ON, arguments).cast_signed() {
            psci::SUCCESS => Ok(()),
            _ => Err(Status::Refused),
        }
    }

    fn interrupt_core(&self, core: Core<'_>) {
        registers::send_interrupt(core.mail().get());
    }

    #[inline(always)]
    fn now(&self) -> u64 {
        registers::counter()
    }

    #[inline(always)]
    fn set_timer(&self, deadline: u64) {
        registers::set_timer_deadline(deadline);
    }

    #[inline(always)]
    fn context(&self) -> [u64; 2] {
        [registers::user_pc(), registers::user_sp()]
    }

    #[inline(always)]
    fn set_context(&self, pc: u64, sp: u64) {
        registers::set_user_pc(pc);
        registers::set_user_sp(sp);
    }

    #[inline(always)]
    fn set_address_space(&self, root: u64) {
        registers::set_user_root(root);
    }

    fn settle(&self) {
        registers::synchronize();
    }

    fn forget_translations(&self) {
        registers::forget_translations();
    }

    fn fill(&self, at: Ref, value: u64, words: u64) {
        // SAFETY: pages that the core fills are its own, and hold so many words.
        unsafe { bulkhead_fill(at.address(), value, words) };
    }

    fn has_only(&self, at: Ref, value: u64) -> bool {
        // SAFETY: reads a page of the linear map.
        unsafe { bulkhead_has_only(at.address(), value) == 0 }
    }

    fn has_only_invalid(&self, at: Ref) -> bool {
        // SAFETY: as above.
        unsafe { bulkhead_any(at.address()) & 1 == 0 }
    }

    fn publish_code(&self, at: Ref) {
        let page = at.address()..at.address() + PAGE;
        let caches = registers::cache_type();
        for line in page.clone().step_by(line(caches >> DATA_LINE)) {
            registers::clean_line(line);
        }
        registers::synchronize();
        if caches >> INSTRUCTION_POLICY & 3 == PHYSICAL {
            for line in page.step_by(line(caches)) {
                registers::forget_instruction_line(line);
            }
        } else {
            registers::forget_all_instructions();
        }
        registers::synchronize();
    }

    #[inline(always)]
    fn lend_floating_point(&self, lend: bool) {
        registers::set_floating_point(if lend { LEND } else { TRAP });
    }

    fn exchange_floating_point(&self, owner: Option<Thread<'_>>, next: Option<Thread<'_>>) {
        let registers_of = |thread: Thread<'_>| thread.at().address() + 8 * FLOATING_POINT;
        // SAFETY: the routine stores to and loads from the places threads have for it; the kernel
        // itself uses no FP register.
        unsafe {
            bulkhead_exchange_fp(owner.map_or(0, registers_of), next.map_or(0, registers_of))
        };
    }

    fn keep_floating_point(&self, place: Ref) {
        // SAFETY: a place in a thread's page, of the size that the routine stores.
        unsafe { bulkhead_keep_fp(place.address()) };
    }

    fn recover_floating_point(&self, place: Ref) {
        // SAFETY: as above, of the size that the routine loads.
        unsafe { bulkhead_recover_fp(place.address()) };
    }

    #[inline(always)]
    fn thread_pointer(&self) -> u64 {
        registers::thread_pointer()
    }

    #[inline(always)]
    fn set_thread_pointer(&self, value: u64) {
        registers::set_thread_pointer(value);
    }

    fn enable_interrupt(&self, intid: u64) -> Result<bool, Status> {
        interrupts::enable_shared(intid)
    }

    fn disable_interrupt(&self, intid: u64) {
        interrupts::disable_shared(intid);
    }

    fn end_interrupt(&self, intid: u64) {
        registers::end_interrupt(intid);
    }

    fn record_fault(&self, fault: ComponentFault) {
        let place = component_log::place(fault.component_thread & 0xFFFF_FFFF);
        let Some(log) = component_log() else { return };
        let (Some(count), Some(records)) = (log.faults.get(place), log.records.get(place)) else {
            return;
        };
        let before = count.fetch_add(1, Ordering::Relaxed);
        let Some([sequence, words @ ..]) = records.get(before as usize % RECORDS) else {
            return;
        };
        let fault = [
            fault.ticks,
            fault.syndrome,
            fault.address,
            fault.pc,
            fault.component_thread,
        ];
        sequence.store(0, Ordering::Relaxed);
        for (word, value) in words.iter().zip(fault) {
            word.store(value, Ordering::Relaxed);
        }
        sequence.store(before.wrapping_add(1), Ordering::Release);
    }

    fn monitor(&self, call: MonitorCall) -> Result<(), Status> {
        let (function, argument) = match call {
            MonitorCall::Up => (UP, 0),
            MonitorCall::Fail(code) => (FAIL, code),
            MonitorCall::Ring(doorbell) => (DOORBELL, doorbell),
        };
        match registers::hypervisor_call(function, [argument]) {
            0 => Ok(()),
            _ => Err(Status::Refused),
        }
    }
}
