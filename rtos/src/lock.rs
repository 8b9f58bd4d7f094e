//! Mutual exclusion between the cores of a partition and their interrupt handlers
//!
//! Interrupts are masked while a lock is held, so that an interrupt handler never waits for the
//! interrupted program. Critical sections are short and bounded.
#![expect(
    unsafe_code,
    reason = "the cell is reached only while the lock is held"
)]

use crate::registers;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

/// A value that one at a time may touch.
pub struct Lock<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: `with` and `try_with` give the value to one caller at a time.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    /// A free lock around `value`.
    pub const fn new(value: T) -> Self {
        Self {
            held: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for the value and works on it.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let mask = registers::mask_interrupts();
        while self.held.swap(true, Ordering::Acquire) {
            registers::relax();
        }
        let result = self.work(work);
        registers::restore_interrupts(mask);
        result
    }

    /// Works on the value if it is free: for handlers of faults, which may have struck its holder.
    pub fn try_with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mask = registers::mask_interrupts();
        let taken = !self.held.swap(true, Ordering::Acquire);
        let result = taken.then(|| self.work(work));
        registers::restore_interrupts(mask);
        result
    }

    fn work<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: this caller set `held`, so no other reference exists until it is cleared below.
        let result = work(unsafe { &mut *self.value.get() });
        self.held.store(false, Ordering::Release);
        result
    }
}
