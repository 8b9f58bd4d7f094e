//! Real-time extension, declared in `bulkhead-omp.h`: the workers' scheduling policy, and counters.

use crate::backend::{Policy, SystemError};
use crate::memory;
use crate::realtime;
use core::ffi::{c_int, c_uint};

fn status(result: Result<(), SystemError>) -> c_int {
    result.map_or_else(|error| error.0, |()| 0)
}

/// Runs all workers of the calling thread's teams at a fixed priority (first in, first out). 0, or
/// the error number with which the system refused it for one of them.
#[unsafe(no_mangle)]
pub extern "C" fn bulkhead_omp_set_fifo(priority: c_uint) -> c_int {
    status(realtime::set_policy(Policy::Fifo { priority }))
}

/// Gives each worker its own deadline server. 0, or the system's error number.
#[unsafe(no_mangle)]
pub extern "C" fn bulkhead_omp_set_deadline(
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
) -> c_int {
    status(realtime::set_policy(Policy::Deadline {
        runtime_ns,
        deadline_ns,
        period_ns,
    }))
}

/// Runs all workers as ordinary threads again. 0, or the system's error number.
#[unsafe(no_mangle)]
pub extern "C" fn bulkhead_omp_set_other() -> c_int {
    status(realtime::set_policy(Policy::Other))
}

/// How often the runtime has asked the system for memory: constant on the steady path.
#[unsafe(no_mangle)]
pub extern "C" fn bulkhead_omp_allocations() -> u64 {
    memory::allocations()
}
