//! The partition's free memory, mapped at the start, given out by TLSF.
//!
//! TLSF (Masmano et al., ECRTS 2004) answers within a bounded number of instructions. Every block is
//! asked for at least at [`LEAST_ALIGN`], so that a caller can give one back without its alignment.
#![expect(unsafe_code, reason = "mapped pages become blocks")]

use super::super::interface::Stack;
use crate::spinlock::SpinLock;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_abi::kernel::{IMAGE_END, Operation, Rights, Status, first};
use bulkhead_component::First;
use bulkhead_component::call::call;
use core::alloc::Layout;
use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};
use rlsf::Tlsf;

/// Bytes of a page.
pub(crate) const PAGE: usize = PAGE_SIZE as usize;
/// Bytes that one level-3 table maps.
const WINDOW: u64 = 2 << 20;
/// Begin of the heap: what one table maps from the image on, and one unmapped window.
const START: u64 = IMAGE_END.next_multiple_of(WINDOW) + WINDOW;
/// Bytes that one level-2 table maps, and with it the most that there is.
const WINDOWS: usize = 508;
/// With it a block's header is found alike for every block.
const LEAST_ALIGN: usize = rlsf::GRANULARITY;

/// Lists by 16 sizes in each power of two, up to 1 GiB.
type Blocks = Tlsf<'static, u32, u16, 25, 16>;

struct Heap {
    lock: SpinLock,
    blocks: UnsafeCell<Blocks>,
}

// SAFETY: the blocks are reached under the lock.
unsafe impl Sync for Heap {}

static HEAP: Heap = Heap {
    lock: SpinLock::new(),
    blocks: UnsafeCell::new(Blocks::new()),
};
/// Capabilities to the tables that map the heap.
static TABLES: [AtomicU64; WINDOWS] = [const { AtomicU64::new(0) }; WINDOWS];

fn with<R>(act: impl FnOnce(&mut Blocks) -> R) -> R {
    let _turn = HEAP.lock.lock();
    // SAFETY: under the lock.
    act(unsafe { &mut *HEAP.blocks.get() })
}

/// Makes all of the partition's memory of `bytes` bytes the heap, but for `kept` pages that `first` hands
/// out later.
pub(crate) fn open(first: &mut First, bytes: u64, kept: u64) -> Result<(), Status> {
    let windows = (bytes.div_ceil(WINDOW) as usize).min(WINDOWS);
    for (place, number) in TABLES.iter().take(windows).zip(START / WINDOW..) {
        let table = first.make(Operation::MakePages, [3])?;
        call(first::PAGES[1], Operation::Attach, [number, table])?;
        place.store(table, Ordering::Relaxed);
    }
    let from = first.position().page + kept;
    let mapped = map(from, windows as u64 * (WINDOW / PAGE_SIZE));
    let base = core::ptr::with_exposed_provenance_mut(START as usize);
    let range = core::ptr::slice_from_raw_parts_mut(base, mapped as usize * PAGE);
    let range = NonNull::new(range).ok_or(Status::BadArgument)?;
    // SAFETY: mapped above for good; no other code has it.
    let taken = with(|blocks| unsafe { blocks.insert_free_block_ptr(range) });
    taken.map(|_| ()).ok_or(Status::BadArgument)
}

/// Maps pages from number `from` on, at most `most`, one behind the other, to the end of memory; how many.
fn map(from: u64, most: u64) -> u64 {
    let map = |page: &u64| {
        let (table, index) = place(START + page * PAGE_SIZE);
        let words = [index, first::MEMORY, from + page, Rights::Write as u64];
        call(table, Operation::Map, words).is_ok()
    };
    (0..most).take_while(map).count() as u64
}

/// The table that maps an address of the heap, and the entry.
fn place(address: u64) -> (u64, u64) {
    let offset = address.wrapping_sub(START);
    let table = TABLES.get((offset / WINDOW) as usize);
    let table = table.map_or(0, |table| table.load(Ordering::Relaxed));
    (table, offset % WINDOW / PAGE_SIZE)
}

/// `bytes` bytes; `align` is a power of two.
pub(crate) fn allocate(bytes: usize, align: usize) -> Option<NonNull<u8>> {
    let layout = Layout::from_size_align(bytes.max(1), align.max(LEAST_ALIGN)).ok()?;
    with(|blocks| blocks.allocate(layout))
}

/// Takes a block back.
///
/// # Safety
/// `block` came from [`allocate`] and is not used again.
pub(crate) unsafe fn release(block: NonNull<u8>) {
    // SAFETY: the caller's promise; all blocks are aligned to that at least.
    with(|blocks| unsafe { blocks.deallocate(block, LEAST_ALIGN) });
}

/// Has a block be of `bytes` bytes, what is in it kept as far as it fits; nothing, and the block as it
/// was, where there is no memory.
///
/// # Safety
/// `block` came from [`super::Component`]'s `allocate` with an alignment of at most 32 bytes and is not
/// used again, but in place of nothing.
pub unsafe fn resize(block: NonNull<u8>, bytes: usize) -> Option<NonNull<u8>> {
    let layout = Layout::from_size_align(bytes.max(1), LEAST_ALIGN).ok()?;
    // SAFETY: the caller's promise.
    with(|blocks| unsafe { blocks.reallocate(block, layout) })
}

/// A stack above an unmapped page: pages of blocks lie behind their headers.
pub(crate) fn stack(bytes: usize) -> Option<Stack> {
    let bytes = bytes.next_multiple_of(PAGE);
    let block = allocate(bytes + PAGE, PAGE)?;
    let guard = block.as_ptr() as usize;
    let (table, index) = place(guard as u64);
    call(table, Operation::Unmap, [index]).ok()?;
    let low = guard + PAGE;
    Some(Stack {
        low,
        high: low + bytes,
    })
}
