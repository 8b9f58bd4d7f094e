//! A value with one user at a time
#![expect(unsafe_code, reason = "shared between threads")]

use core::cell::UnsafeCell;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{Acquire, Release};

/// A value that is set once and used without waiting: a second user at the same time gets nothing.
#[derive(Debug)]
pub struct One<T> {
    taken: AtomicBool,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: accessed only by the user that found the flag free.
unsafe impl<T: Send> Sync for One<T> {}

impl<T> One<T> {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            taken: AtomicBool::new(false),
            value: UnsafeCell::new(None),
        }
    }

    /// With this value.
    pub const fn of(value: T) -> Self {
        Self {
            taken: AtomicBool::new(false),
            value: UnsafeCell::new(Some(value)),
        }
    }

    /// Runs `act` with the value, unless it is in use.
    pub fn with<R>(&self, act: impl FnOnce(&mut Option<T>) -> R) -> Option<R> {
        if self.taken.swap(true, Acquire) {
            return None;
        }
        // SAFETY: any other user finds the flag taken.
        let result = act(unsafe { &mut *self.value.get() });
        self.taken.store(false, Release);
        Some(result)
    }
}

impl<T> Default for One<T> {
    fn default() -> Self {
        Self::new()
    }
}
