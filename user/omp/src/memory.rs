//! The heap, by the names of `stdlib.h`: the runtime's own, which answers within bounded time

use bulkhead_omp::backend::Backend;
use bulkhead_omp::backend::component::{Component, resize};
use core::ptr::{self, NonNull};

const ALIGN: usize = 16;

fn pointer(block: Option<NonNull<u8>>) -> *mut u8 {
    block.map_or(ptr::null_mut(), NonNull::as_ptr)
}

#[unsafe(no_mangle)]
extern "C" fn malloc(bytes: usize) -> *mut u8 {
    pointer(Component::allocate(bytes, ALIGN))
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, bytes: usize) -> *mut u8 {
    let Some(bytes) = count.checked_mul(bytes) else {
        return ptr::null_mut();
    };
    let block = Component::allocate(bytes, ALIGN);
    if let Some(block) = block {
        // SAFETY: fresh memory of that size.
        unsafe { block.write_bytes(0, bytes) };
    }
    pointer(block)
}

#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(align: usize, bytes: usize) -> *mut u8 {
    match align.is_power_of_two() {
        true => pointer(Component::allocate(bytes, align)),
        false => ptr::null_mut(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut u8, bytes: usize) -> *mut u8 {
    match NonNull::new(block) {
        None => malloc(bytes),
        // SAFETY: a block of the caller's.
        Some(block) => pointer(unsafe { resize(block, bytes) }),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut u8) {
    if let Some(block) = NonNull::new(block) {
        // SAFETY: a block of the caller's.
        unsafe { Component::release(block) };
    }
}
