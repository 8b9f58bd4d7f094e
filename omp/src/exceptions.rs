//! C++ exceptions that are being thrown or handled: the C++ runtime keeps them per kernel thread, but
//! they belong to a task, which may be set aside inside a handler and go on elsewhere.
//!
//! Source: Itanium C++ ABI, Exception Handling, section 2.2.2 (`__cxa_eh_globals`). A program without
//! the C++ runtime does not have `__cxa_get_globals`, and nothing to keep apart.
#![expect(unsafe_code, reason = "calls the C++ runtime")]

use crate::arch;
use core::cell::Cell;

/// `__cxa_eh_globals`: the stack of exceptions being handled, and the number of those on their way.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Exceptions {
    caught: usize,
    uncaught: usize,
}

/// Storage of the calling kernel thread's own.
pub fn of_this_thread() -> Option<&'static Cell<Exceptions>> {
    let function = arch::exceptions_function();
    if function == 0 {
        return None;
    }
    // SAFETY: the address of the C++ runtime's function of this type.
    let get: extern "C" fn() -> *const Cell<Exceptions> = unsafe { core::mem::transmute(function) };
    // SAFETY: the thread's own, which no other thread touches and which lives as long as the thread.
    unsafe { get().as_ref() }
}
