//! Sections: a loop over 1, 2, …, handed out one at a time; 0 says that none is left.

use crate::barrier;
use crate::gomp::loops::current;
use crate::reduction;
use crate::worker::Worker;
use crate::workshare::{self, Mode, Shape, WorkShare};
use core::ffi::{c_uint, c_void};

/// The loop over `count` sections.
pub(crate) fn shape(count: c_uint) -> Shape {
    let count = u64::from(count);
    Shape {
        first: 1,
        step: 1,
        count,
        mode: Mode::Sections,
        chunk: 1,
        ordered: false,
    }
}

fn take(worker: &'static Worker, share: &'static WorkShare) -> c_uint {
    share
        .take(worker)
        .map_or(0, |(start, _)| start as c_uint + 1)
}

/// `#pragma omp sections`: the first section for this thread.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_sections_start(count: c_uint) -> c_uint {
    let worker = Worker::current_here();
    take(worker, workshare::enter(worker, shape(count), |_| ()))
}

/// `sections` with task reductions or memory shared by the threads.
///
/// # Safety
/// `reductions` and `memory` are null or what the compiler builds for them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_sections2_start(
    count: c_uint,
    reductions: *mut usize,
    memory: *mut *mut c_void,
) -> c_uint {
    let worker = Worker::current_here();
    let share = workshare::enter(worker, shape(count), |share| {
        if !reductions.is_null() {
            reduction::begin_loop(worker, share, reductions);
        }
        if !memory.is_null() {
            // SAFETY: the caller's promise.
            unsafe { reduction::allocate_shared(share, memory) };
        }
    });
    if !reductions.is_null() {
        reduction::join_loop(worker, share, reductions);
    }
    if !memory.is_null() {
        // SAFETY: the caller's promise.
        unsafe { reduction::shared_memory(share, memory) };
    }
    take(worker, share)
}

/// The next section for this thread.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_sections_next() -> c_uint {
    let worker = Worker::current_here();
    take(worker, current(worker))
}

/// Ends the construct with its barrier.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_sections_end() {
    barrier::wait(Worker::current_here());
}

/// Ends a `nowait` construct.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_sections_end_nowait() {}

/// Ends the construct in a region that may be cancelled: whether it was.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_sections_end_cancel() -> bool {
    barrier::wait_or_cancelled(Worker::current_here())
}
