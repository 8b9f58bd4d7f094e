//! Memory pools

use super::{
    Block, DEFAULTS, Kind, MemoryAttributes, PARAMETER, attributes, may_wait, status, until,
};
use crate::THREADS;
use crate::heap::Heap;
use bulkhead_libc::Heap as _;
use bulkhead_slite::BlockPool;
use core::ffi::{c_char, c_void};
use core::ptr::{self, NonNull};

impl Kind for BlockPool {
    const MARK: u32 = u32::from_be_bytes(*b"pool");
}

type Pool = Block<BlockPool>;

/// Multiple of which blocks have their size: of the heap's blocks, and of the program's memory.
const OWN_UNIT: usize = 16;
pub(super) const GIVEN_UNIT: usize = 4;

pub(super) const NO_MEMORY_GIVEN: MemoryAttributes = MemoryAttributes {
    object: DEFAULTS,
    memory: ptr::null_mut(),
    memory_size: 0,
};

/// Places of `count` elements of `size` bytes and of as much for their administration as `extra` says.
pub(super) struct Places {
    pub(super) elements: NonNull<u8>,
    pub(super) size: usize,
    pub(super) administration: NonNull<u8>,
    /// Block of the heap that begins with the administration.
    pub(super) heap_block: NonNull<u8>,
}

impl Places {
    pub(super) fn find(
        given: &MemoryAttributes,
        [count, size]: [u32; 2],
        extra: usize,
    ) -> Option<Self> {
        let [count, size] = [count as usize, size as usize];
        if count == 0 || size == 0 {
            return None;
        }
        let unit = match given.memory.is_null() {
            true => OWN_UNIT,
            false => GIVEN_UNIT,
        };
        let size = size.checked_next_multiple_of(unit)?;
        let bytes = size.checked_mul(count)?;
        let extra = extra.next_multiple_of(OWN_UNIT);
        let elements = NonNull::new(given.memory);
        let is_enough =
            bytes <= given.memory_size as usize && given.memory.addr().is_multiple_of(GIVEN_UNIT);
        if elements.is_some() && !is_enough || elements.is_none() && given.memory_size != 0 {
            return None;
        }
        let own_bytes = extra.checked_add(if elements.is_some() { 0 } else { bytes })?;
        let heap_block = Heap::allocate(own_bytes, OWN_UNIT)?;
        // SAFETY: a fresh block of that size.
        unsafe { heap_block.write_bytes(0, own_bytes) };
        // SAFETY: within the block, or at its end, where it is not used.
        let behind = unsafe { heap_block.add(extra) };
        Some(Self {
            elements: elements.unwrap_or(behind),
            size,
            administration: heap_block,
            heap_block,
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osMemoryPoolNew(
    count: u32,
    size: u32,
    given: *const MemoryAttributes,
) -> *mut Pool {
    // SAFETY: attributes, by the header.
    let given = unsafe { attributes(given, NO_MEMORY_GIVEN) };
    let map = BlockPool::map_words(count) * size_of::<u32>();
    let Some(places) = Places::find(&given, [count, size], map) else {
        return ptr::null_mut();
    };
    // SAFETY: memory for the pool alone, the map of zeros.
    let pool = unsafe {
        BlockPool::new(
            places.elements,
            places.size,
            count,
            places.administration.cast(),
        )
    };
    Block::make(&given.object, Some(places.heap_block), pool)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osMemoryPoolGetName(pool: *const Pool) -> *const c_char {
    // SAFETY: memory of the program.
    unsafe { Block::name(pool) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osMemoryPoolAlloc(pool: *const Pool, timeout: u32) -> *mut c_void {
    // SAFETY: memory of the program.
    let block = unsafe { Block::of(pool) }.and_then(|pool| {
        may_wait(timeout)?;
        pool.object
            .allocate(&THREADS, until(timeout))
            .map_err(|_| PARAMETER)
    });
    block.map_or(ptr::null_mut(), |block| block.as_ptr().cast())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osMemoryPoolFree(pool: *const Pool, block: *mut c_void) -> i32 {
    // SAFETY: memory of the program.
    status(unsafe { Block::of(pool) }.and_then(|pool| {
        pool.object
            .free(&THREADS, block.cast())
            .map_err(|_| PARAMETER)
    }))
}

/// A number of a pool, or 0.
macro_rules! numbers {
    ($($name:ident = |$pool:ident| $number:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(pool: *const Pool) -> u32 {
                // SAFETY: memory of the program.
                unsafe { Block::of(pool) }.map_or(0, |block| {
                    let $pool = &block.object;
                    $number
                })
            }
        )*
    };
}

numbers! {
    osMemoryPoolGetCapacity = |pool| pool.capacity();
    osMemoryPoolGetBlockSize = |pool| pool.block_size() as u32;
    osMemoryPoolGetCount = |pool| pool.count();
    osMemoryPoolGetSpace = |pool| pool.capacity() - pool.count();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn osMemoryPoolDelete(pool: *mut Pool) -> i32 {
    // SAFETY: memory of the program.
    unsafe { Block::delete(pool, |pool| pool.delete(&THREADS)) }
}
