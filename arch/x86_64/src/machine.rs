//! A core as the machine under threads
#![expect(unsafe_code, reason = "switches")]

use std::io;

use bulkhead_abi::dispatch::Scb;
use bulkhead_threads::{Machine, Moved, Time};

use crate::core::{Activation, Core, Entry};

/// The core of the calling host thread. Ticks are nanoseconds of the monotonic clock.
#[derive(Debug)]
pub struct Hosted;

/// Threads of a hosted core.
pub type Threads<P, const N: usize> = bulkhead_threads::Threads<Hosted, P, N>;

// SAFETY: the core keeps the discipline.
unsafe impl Machine for Hosted {
    type Maker = Self;
    type Error = io::ErrorKind;

    const REFUSED: io::ErrorKind = io::ErrorKind::InvalidInput;
    const SAME_TIME: u64 = 0;

    fn scheduler_thread() -> u64 {
        0
    }

    fn scheduler_time() -> u64 {
        0
    }

    fn now() -> Time {
        // SAFETY: all-zero is a valid instant.
        let mut now: libc::timespec = unsafe { std::mem::zeroed() };
        // SAFETY: a valid place.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
        now.tv_sec as u64 * Self::frequency() + now.tv_nsec as u64
    }

    fn frequency() -> u64 {
        1_000_000_000
    }

    #[inline(always)]
    fn scb() -> &'static Scb {
        Core::here().scb()
    }

    fn make(_: &mut Self, entry: Entry, index: u64) -> Result<u64, io::ErrorKind> {
        Core::here()
            .spawn(index as usize, entry)
            .map_err(|error| error.kind())?;
        Ok(index)
    }

    #[inline(always)]
    unsafe fn switch(caller: u64, next: u64, _: u64, epoch: u64) -> bool {
        // SAFETY: the caller's contract is the same.
        let outcome = unsafe { Core::here().switch(caller as usize, next as usize, epoch) };
        outcome == Activation::Done
    }

    fn dispatch(name: u64, _: u64, timeout: Option<Time>, epoch: u64, _: Option<Moved>) -> bool {
        Core::here().dispatch(name as usize, timeout, epoch) == Activation::Done
    }

    // Budgets end by the scheduler's own time-outs, and signals are bound to threads.

    fn time(_: &mut Self) -> Result<u64, io::ErrorKind> {
        Err(io::ErrorKind::Unsupported)
    }

    fn receive_end(_: &mut Self, _: u64) -> Result<[u64; 2], io::ErrorKind> {
        Err(io::ErrorKind::Unsupported)
    }

    fn served(_: u64) -> Time {
        0
    }

    fn receive(_: u64) -> Result<u64, io::ErrorKind> {
        Err(io::ErrorKind::Unsupported)
    }

    fn fetch() {
        // Events that find no room are merged.
    }

    fn sleep() {
        // SAFETY: no arguments. A signal that came just before has run its thread.
        unsafe { libc::pause() };
    }
}
