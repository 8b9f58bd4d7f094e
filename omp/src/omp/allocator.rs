//! Memory allocators: the predefined ones, and those with traits that the program makes.
//!
//! All spaces are ordinary memory. Of the traits, `alignment`, `pool_size` and `fallback` have an
//! effect; the others are hints here.

use crate::backend::{Backend, System};
use crate::icv;
use crate::report;
use crate::worker::Worker;
use core::ffi::{c_int, c_void};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicUsize, Ordering};

const LAST_PREDEFINED: usize = 8;
const DEFAULT: usize = 1;

/// One trait as the program passes it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Trait {
    key: c_int,
    value: usize,
}

const ALIGNMENT: c_int = 2;
const POOL_SIZE: c_int = 4;
const FALLBACK: c_int = 5;
const FALLBACK_DATA: c_int = 6;

const NULL_FALLBACK: usize = 12;
const ABORT_FALLBACK: usize = 13;
const ALLOCATOR_FALLBACK: usize = 14;

/// An allocator with traits; its handle is its address.
#[derive(Debug)]
struct Custom {
    align: usize,
    pool: usize,
    used: AtomicUsize,
    fallback: usize,
    fallback_data: usize,
}

/// Before every block: where it really starts, and what it counts for.
#[derive(Clone, Copy)]
struct Header {
    base: *mut u8,
    size: usize,
    custom: *const Custom,
}

fn custom(handle: usize) -> Option<&'static Custom> {
    if handle <= LAST_PREDEFINED {
        return None;
    }
    // SAFETY: other handles are addresses from `omp_init_allocator`.
    unsafe { (handle as *const Custom).as_ref() }
}

fn current() -> usize {
    match Worker::current_here().current().icv().allocator.get() {
        0 => DEFAULT,
        handle => handle,
    }
}

fn header_of(block: *mut c_void) -> *mut Header {
    block.cast::<Header>().wrapping_sub(1)
}

fn take(size: usize, align: usize, custom: Option<&'static Custom>) -> Option<*mut c_void> {
    let align = align.max(align_of::<Header>());
    let room = size_of::<Header>().next_multiple_of(align);
    let total = size.checked_add(room)?;
    let base = System::allocate(total, align)?.as_ptr();
    let block = base.wrapping_add(room).cast::<c_void>();
    let custom = custom.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: inside the fresh memory, before the block.
    unsafe {
        header_of(block).write_unaligned(Header {
            base,
            size: total,
            custom,
        })
    };
    Some(block)
}

fn charge(custom: &Custom, bytes: usize) -> bool {
    let fits = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= custom.pool);
    custom
        .used
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
        .is_ok()
}

/// `size` bytes from `handle` (0: the task's default allocator), at least `align` aligned.
pub(crate) fn allocate(align: usize, size: usize, handle: usize) -> *mut c_void {
    let mut handle = if handle == 0 { current() } else { handle };
    if size == 0 {
        return ptr::null_mut();
    }
    loop {
        let custom = custom(handle);
        let align = align.max(custom.map_or(1, |c| c.align));
        let room = size_of::<Header>().next_multiple_of(align.max(align_of::<Header>()));
        if custom.is_none_or(|c| charge(c, size.saturating_add(room))) {
            if let Some(block) = take(size, align, custom) {
                return block;
            }
            if let Some(custom) = custom {
                custom.used.fetch_sub(size + room, Ordering::Relaxed);
            }
        }
        match custom.map_or(NULL_FALLBACK, |c| c.fallback) {
            NULL_FALLBACK => return ptr::null_mut(),
            ABORT_FALLBACK => report::fatal(format_args!("out of memory: {size} bytes asked for")),
            ALLOCATOR_FALLBACK => handle = custom.map_or(DEFAULT, |c| c.fallback_data),
            _ => handle = DEFAULT,
        }
    }
}

/// Gives back what `allocate` gave.
pub(crate) fn free(block: *mut c_void, _handle: usize) {
    if block.is_null() {
        return;
    }
    // SAFETY: every block has its header before it.
    let header = unsafe { header_of(block).read_unaligned() };
    // SAFETY: null or an allocator, which outlives its blocks.
    if let Some(custom) = unsafe { header.custom.as_ref() } {
        custom.used.fetch_sub(header.size, Ordering::Relaxed);
    }
    if let Some(base) = NonNull::new(header.base) {
        // SAFETY: from `take`, not used again.
        unsafe { System::release(base) };
    }
}

fn zeroed(block: *mut c_void, size: usize) -> *mut c_void {
    if !block.is_null() {
        // SAFETY: a fresh block of that size.
        unsafe { block.cast::<u8>().write_bytes(0, size) };
    }
    block
}

/// `size` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn omp_alloc(size: usize, allocator: usize) -> *mut c_void {
    allocate(1, size, allocator)
}

/// `size` bytes, aligned.
#[unsafe(no_mangle)]
pub extern "C" fn omp_aligned_alloc(align: usize, size: usize, allocator: usize) -> *mut c_void {
    if align.is_power_of_two() {
        allocate(align, size, allocator)
    } else {
        ptr::null_mut()
    }
}

/// `count * size` zero bytes.
#[unsafe(no_mangle)]
pub extern "C" fn omp_calloc(count: usize, size: usize, allocator: usize) -> *mut c_void {
    omp_aligned_calloc(1, count, size, allocator)
}

/// `count * size` zero bytes, aligned.
#[unsafe(no_mangle)]
pub extern "C" fn omp_aligned_calloc(
    align: usize,
    count: usize,
    size: usize,
    allocator: usize,
) -> *mut c_void {
    let Some(bytes) = count.checked_mul(size) else {
        return ptr::null_mut();
    };
    zeroed(omp_aligned_alloc(align, bytes, allocator), bytes)
}

/// Changes a block's size, possibly its place.
///
/// # Safety
/// `block` is null or from one of these functions, not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_realloc(
    block: *mut c_void,
    size: usize,
    allocator: usize,
    free_allocator: usize,
) -> *mut c_void {
    if block.is_null() {
        return allocate(1, size, allocator);
    }
    if size == 0 {
        free(block, free_allocator);
        return ptr::null_mut();
    }
    // SAFETY: the caller's promise; blocks have their header before them.
    let header = unsafe { header_of(block).read_unaligned() };
    let allocator = match [allocator, free_allocator] {
        [0, 0] if header.custom.is_null() => DEFAULT,
        [0, 0] => header.custom as usize,
        [0, given] => given,
        [given, _] => given,
    };
    // The old block is the new one's as long as both come from the same pool: it does not count beside it.
    let pool = custom(allocator).filter(|custom| ptr::eq(*custom, header.custom));
    if let Some(custom) = pool {
        custom.used.fetch_sub(header.size, Ordering::Relaxed);
    }
    let new = allocate(1, size, allocator);
    if let Some(custom) = pool {
        custom.used.fetch_add(header.size, Ordering::Relaxed);
    }
    if !new.is_null() {
        let before = header.size - (block as usize - header.base as usize);
        // SAFETY: both blocks are at least that large.
        unsafe { ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast(), size.min(before)) };
        free(block, free_allocator);
    }
    new
}

/// Gives a block back.
#[unsafe(no_mangle)]
pub extern "C" fn omp_free(block: *mut c_void, allocator: usize) {
    free(block, allocator);
}

/// Makes an allocator; 0 if a trait makes no sense.
///
/// # Safety
/// `traits` points to `count` traits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_allocator(
    _space: usize,
    count: c_int,
    traits: *const Trait,
) -> usize {
    let mut new = Custom {
        align: 1,
        pool: usize::MAX,
        used: AtomicUsize::new(0),
        fallback: 11,
        fallback_data: DEFAULT,
    };
    for index in 0..count.max(0) as usize {
        // SAFETY: the caller's promise.
        let Trait { key, value } = unsafe { traits.wrapping_add(index).read() };
        match key {
            ALIGNMENT if !value.is_power_of_two() => return 0,
            ALIGNMENT => new.align = value,
            POOL_SIZE => new.pool = value,
            FALLBACK => new.fallback = value,
            FALLBACK_DATA => new.fallback_data = value,
            _ => (),
        }
    }
    crate::memory::place(new).map_or(0, |custom| ptr::from_ref(custom) as usize)
}

/// An allocator is not used any more.
#[unsafe(no_mangle)]
pub extern "C" fn omp_destroy_allocator(_allocator: usize) {}

/// Sets the task's default allocator.
#[unsafe(no_mangle)]
pub extern "C" fn omp_set_default_allocator(allocator: usize) {
    let allocator = if allocator == 0 { DEFAULT } else { allocator };
    icv::modify(|icv| icv.allocator.set(allocator));
}

/// The task's default allocator.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_default_allocator() -> usize {
    current()
}

/// For Fortran.
///
/// # Safety
/// `count` points to an integer, `traits` to as many traits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_allocator_(
    space: *const usize,
    count: *const c_int,
    traits: *const Trait,
) -> usize {
    // SAFETY: the caller's promise.
    let count = unsafe { count.read() };
    // SAFETY: the caller's promise.
    unsafe { omp_init_allocator(space as usize, count, traits) }
}

/// For Fortran with 8-byte integers.
///
/// # Safety
/// `count` points to an 8-byte integer, `traits` to as many traits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_allocator_8_(
    space: *const usize,
    count: *const i64,
    traits: *const Trait,
) -> usize {
    // SAFETY: the caller's promise.
    let count = unsafe { count.read() } as c_int;
    // SAFETY: the caller's promise.
    unsafe { omp_init_allocator(space as usize, count, traits) }
}

/// For Fortran.
#[unsafe(no_mangle)]
pub extern "C" fn omp_destroy_allocator_(_allocator: *const usize) {}

/// For Fortran.
///
/// # Safety
/// Points to a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_default_allocator_(allocator: *const usize) {
    // SAFETY: the caller's promise.
    omp_set_default_allocator(unsafe { allocator.read() });
}

/// For Fortran.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_default_allocator_() -> usize {
    current()
}
