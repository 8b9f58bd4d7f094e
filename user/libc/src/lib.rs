//! Heap and thread-local storage of C programs
//!
//! The C library itself is picolibc, which the set-up fetches; `c/` has the parts that are this
//! project's: formatting that is exact to the last digit, streams, start and end. The tool links them
//! to a folder of C or C++ files (`host/image/src/sources.rs`). A runtime names its heap with
//! [`heap!`].

#![no_std]
#![expect(
    unsafe_code,
    reason = "C calls by name, and hands over blocks of the heap"
)]
#![expect(
    clippy::missing_safety_doc,
    reason = "the contract of each function is the C standard's"
)]

mod heap;
mod malloc;
mod thread_storage;

pub use heap::{Blocks, Heap};
pub use thread_storage::{install, storage_bytes};

/// Provides the heap of a C program: a type with [`Heap`].
#[macro_export]
macro_rules! heap {
    ($heap:ty) => {
        mod bulkhead_heap {
            #![expect(unsafe_code, reason = "the C library calls these by name")]
            use core::ptr::NonNull;
            use $crate::Heap;

            #[unsafe(no_mangle)]
            fn bulkhead_allocate(bytes: usize, align: usize) -> Option<NonNull<u8>> {
                <$heap>::allocate(bytes, align)
            }

            #[unsafe(no_mangle)]
            unsafe fn bulkhead_release(block: NonNull<u8>) {
                // SAFETY: the caller's promise is the same.
                unsafe { <$heap>::release(block) }
            }

            #[unsafe(no_mangle)]
            unsafe fn bulkhead_resize(block: NonNull<u8>, bytes: usize) -> Option<NonNull<u8>> {
                // SAFETY: the caller's promise is the same.
                unsafe { <$heap>::resize(block, bytes) }
            }
        }
    };
}

unsafe extern "C" {
    fn bulkhead_construct();
    fn fflush(stream: *const u8) -> i32;
    safe static stdout: *const u8;
}

/// Runs the static constructors of the program: once, before anything else of it.
pub fn construct() {
    // SAFETY: functions that the compiler made, in its order.
    unsafe { bulkhead_construct() };
}

/// Prints what the calling thread has written and not ended with a newline.
pub fn flush() {
    // SAFETY: a stream of the C library.
    let _printed = unsafe { fflush(stdout) };
}
