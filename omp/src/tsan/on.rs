//! Calls into the sanitizer's run-time library, which the program brings.
//!
//! Source: `sanitizer/tsan_interface.h` of GCC 12 and LLVM.
#![expect(unsafe_code, reason = "calls the sanitizer")]

use core::cell::Cell;
use core::ffi::{c_uint, c_void};
use core::ptr;

/// A switch of stacks by itself orders nothing.
const NO_SYNC: c_uint = 1;

unsafe extern "C" {
    safe fn __tsan_acquire(place: *const c_void);
    safe fn __tsan_release(place: *const c_void);
    safe fn __tsan_get_current_fiber() -> *mut c_void;
    safe fn __tsan_create_fiber(flags: c_uint) -> *mut c_void;
    fn __tsan_switch_to_fiber(stack: *mut c_void, flags: c_uint);
}

/// A stack as the sanitizer knows it; null before it does.
#[derive(Debug)]
pub struct Stack(Cell<*mut c_void>);

impl Default for Stack {
    fn default() -> Self {
        Self(Cell::new(ptr::null_mut()))
    }
}

impl Stack {
    /// The running stack, `self`, is left for `to` at once.
    pub fn leave_for(&self, to: &Self) {
        self.0.set(__tsan_get_current_fiber());
        if to.0.get().is_null() {
            to.0.set(__tsan_create_fiber(0));
        }
        // SAFETY: made above or by an earlier call, never destroyed, and run by no other thread.
        unsafe { __tsan_switch_to_fiber(to.0.get(), NO_SYNC) };
    }
}

/// Orders what came before a release of `place` before what follows.
pub fn acquire<T>(place: *const T) {
    __tsan_acquire(place.cast());
}

/// Orders what came before ahead of what follows an acquire of `place`.
pub fn release<T>(place: *const T) {
    __tsan_release(place.cast());
}
