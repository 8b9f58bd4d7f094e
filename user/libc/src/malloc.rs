//! The heap, by the names of `stdlib.h`

use core::ptr::{self, NonNull};

const ALIGN: usize = 16;
const NO_MEMORY: i32 = 12;
const INVALID: i32 = 22;

unsafe extern "Rust" {
    safe fn bulkhead_allocate(bytes: usize, align: usize) -> Option<NonNull<u8>>;
    fn bulkhead_release(block: NonNull<u8>);
    fn bulkhead_resize(block: NonNull<u8>, bytes: usize) -> Option<NonNull<u8>>;
}

fn pointer(block: Option<NonNull<u8>>) -> *mut u8 {
    block.map_or(ptr::null_mut(), NonNull::as_ptr)
}

#[unsafe(no_mangle)]
extern "C" fn malloc(bytes: usize) -> *mut u8 {
    pointer(bulkhead_allocate(bytes, ALIGN))
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, bytes: usize) -> *mut u8 {
    let Some(bytes) = count.checked_mul(bytes) else {
        return ptr::null_mut();
    };
    let block = bulkhead_allocate(bytes, ALIGN);
    if let Some(block) = block {
        // SAFETY: fresh memory of that size.
        unsafe { block.write_bytes(0, bytes) };
    }
    pointer(block)
}

#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(align: usize, bytes: usize) -> *mut u8 {
    match align.is_power_of_two() {
        true => pointer(bulkhead_allocate(bytes, align)),
        false => ptr::null_mut(),
    }
}

#[unsafe(no_mangle)]
extern "C" fn memalign(align: usize, bytes: usize) -> *mut u8 {
    aligned_alloc(align, bytes)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(place: *mut *mut u8, align: usize, bytes: usize) -> i32 {
    if !align.is_power_of_two() || align < size_of::<usize>() {
        return INVALID;
    }
    let block = aligned_alloc(align, bytes);
    // SAFETY: the caller's place.
    unsafe { place.write(block) };
    if block.is_null() { NO_MEMORY } else { 0 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut u8, bytes: usize) -> *mut u8 {
    match NonNull::new(block) {
        None => malloc(bytes),
        // SAFETY: a block of the caller's.
        Some(block) => pointer(unsafe { bulkhead_resize(block, bytes) }),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut u8) {
    if let Some(block) = NonNull::new(block) {
        // SAFETY: a block of the caller's.
        unsafe { bulkhead_release(block) };
    }
}
