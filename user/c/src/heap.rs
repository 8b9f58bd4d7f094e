//! The heap: memory of the partition, mapped in steps as the program asks for it

use crate::guard;
use crate::resources::MEANS;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_libc::Blocks;
use bulkhead_slite::Mutex;
use core::ptr::{self, NonNull};

/// Fewest pages of a step.
const STEP: u64 = 8;
/// Bytes that the lists of blocks need beside a block.
const OVERHEAD: u64 = 128;

static BLOCKS: Mutex<Blocks> = Mutex::new(Blocks::new());

/// Provides thread-local storage. Before any other code of the program.
pub(crate) fn open() {
    let (bytes, align) = bulkhead_libc::storage_bytes();
    if let Some(block) = <Heap as bulkhead_libc::Heap>::allocate(bytes, align) {
        // SAFETY: a fresh block of that size.
        unsafe { block.write_bytes(0, bytes) };
        // SAFETY: as above, before the program.
        unsafe { bulkhead_libc::install(block) };
    }
}

/// Maps memory for a block of `bytes` bytes.
fn grow(bytes: u64) -> Option<NonNull<[u8]>> {
    let pages = bytes.checked_add(OVERHEAD)?.div_ceil(PAGE_SIZE).max(STEP);
    let mapped = guard::with(&MEANS, |means| means.first.as_mut()?.memory(pages).ok());
    let start = ptr::with_exposed_provenance_mut(mapped?? as usize);
    let range = ptr::slice_from_raw_parts_mut(start, (pages * PAGE_SIZE) as usize);
    NonNull::new(range)
}

pub(crate) struct Heap;

impl bulkhead_libc::Heap for Heap {
    fn allocate(bytes: usize, align: usize) -> Option<NonNull<u8>> {
        let allocate = || guard::with(&BLOCKS, |blocks| blocks.allocate(bytes, align)).flatten();
        allocate().or_else(|| {
            let range = grow((bytes as u64).checked_add(align as u64)?)?;
            // SAFETY: fresh memory, mapped for good.
            let _added = guard::with(&BLOCKS, |blocks| unsafe { blocks.add(range) });
            allocate()
        })
    }

    unsafe fn release(block: NonNull<u8>) {
        // SAFETY: the caller's promise.
        let _taken = guard::with(&BLOCKS, |blocks| unsafe { blocks.release(block) });
    }

    unsafe fn resize(block: NonNull<u8>, bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: the caller's promise.
        let resize = || guard::with(&BLOCKS, |blocks| unsafe { blocks.resize(block, bytes) });
        resize().flatten().or_else(|| {
            let range = grow(bytes as u64)?;
            // SAFETY: fresh memory, mapped for good.
            let _added = guard::with(&BLOCKS, |blocks| unsafe { blocks.add(range) });
            resize().flatten()
        })
    }
}

bulkhead_libc::heap!(super::Heap);
