//! `allocate` clauses and `error` directives.

use crate::backend::{Backend, System};
use crate::omp::allocator;
use core::ffi::{c_char, c_void};

/// Memory for an `allocate` clause.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_alloc(align: usize, size: usize, allocator: usize) -> *mut c_void {
    allocator::allocate(align, size, allocator)
}

/// Gives it back.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_free(block: *mut c_void, allocator: usize) {
    allocator::free(block, allocator);
}

fn write(kind: &[u8], message: *const c_char, length: usize) {
    System::write_error(b"libgomp: ");
    System::write_error(kind);
    if !message.is_null() {
        let length = if length == usize::MAX {
            // SAFETY: the compiler passes a terminated string with that length.
            unsafe { core::ffi::CStr::from_ptr(message) }.count_bytes()
        } else {
            length
        };
        System::write_error(b": ");
        // SAFETY: the compiler's string of that length.
        System::write_error(unsafe { core::slice::from_raw_parts(message.cast(), length) });
    }
    System::write_error(b"\n");
}

/// `#pragma omp error severity(warning) at(execution)`.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_warning(message: *const c_char, length: usize) {
    write(b"error directive encountered", message, length);
}

/// `#pragma omp error at(execution)`.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_error(message: *const c_char, length: usize) -> ! {
    write(b"fatal error: error directive encountered", message, length);
    System::abort()
}
