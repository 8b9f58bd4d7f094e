//! The buffers between threads and processes: at full speed, killed, and lied to
#![cfg(not(any(loom, miri)))]

mod hostile;
mod memory;
mod message;
mod read_only;
mod restart;
mod stress;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One test at a time: each uses two processors, and spins where sharing them would mean waiting.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells the other thread that the test is over, be it by a failure.
struct End<'t>(&'t AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
