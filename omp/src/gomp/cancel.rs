//! `cancel` and `cancellation point`.

use crate::barrier;
use crate::cancel::{self, Construct};
use crate::worker::Worker;
use core::ffi::c_int;

fn construct(which: c_int) -> Construct {
    match which {
        1 => Construct::Parallel,
        8 => Construct::Taskgroup,
        _ => Construct::Worksharing,
    }
}

/// `#pragma omp cancel`: whether to leave the construct.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_cancel(which: c_int, condition: bool) -> bool {
    if condition {
        cancel::request(construct(which))
    } else {
        GOMP_cancellation_point(which)
    }
}

/// `#pragma omp cancellation point`: whether to leave the construct.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_cancellation_point(which: c_int) -> bool {
    cancel::is_requested(construct(which))
}

/// A barrier in a region that may be cancelled: whether it was.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_barrier_cancel() -> bool {
    barrier::wait_or_cancelled(Worker::current_here())
}
