//! Barrier, single, critical, wide atomics.

use crate::barrier;
use crate::lock;
use crate::reduction;
use crate::worker::Worker;
use crate::workshare::{self, Shape};
use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

/// `#pragma omp barrier`.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_barrier() {
    barrier::wait(Worker::current_here());
}

/// `#pragma omp single`: whether the calling thread is the one.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_single_start() -> bool {
    let worker = Worker::current_here();
    let number = worker.singles.get();
    worker.singles.set(number.wrapping_add(1));
    let count = &worker.team().singles;
    let (won, lost) = (Ordering::AcqRel, Ordering::Relaxed);
    count.load(Ordering::Relaxed) == number
        && count
            .compare_exchange(number, number.wrapping_add(1), won, lost)
            .is_ok()
}

/// `single copyprivate`: null for the thread that is the one, for the others what it copies out.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_single_copy_start() -> *mut c_void {
    if GOMP_single_start() {
        return core::ptr::null_mut();
    }
    let worker = Worker::current_here();
    barrier::wait(worker);
    worker.team().broadcast.load(Ordering::Acquire)
}

/// The one thread shows the others what to copy.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_single_copy_end(data: *mut c_void) {
    let worker = Worker::current_here();
    worker.team().broadcast.store(data, Ordering::Release);
    barrier::wait(worker);
}

/// `#pragma omp scope` with task reductions.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_scope_start(reductions: *mut usize) {
    let worker = Worker::current_here();
    let share = workshare::enter(worker, Shape::EMPTY, |share| {
        reduction::begin_loop(worker, share, reductions);
    });
    reduction::join_loop(worker, share, reductions);
}

static UNNAMED: AtomicU32 = AtomicU32::new(0);
static WIDE_ATOMIC: AtomicU32 = AtomicU32::new(0);

/// `#pragma omp critical`.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_critical_start() {
    lock::acquire(&UNNAMED);
}

/// Ends a critical region.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_critical_end() {
    lock::release(&UNNAMED);
}

/// # Safety
/// `name` points to a zero-initialised, pointer-sized variable of the program's that no other code
/// uses.
unsafe fn named<'a>(name: *mut *mut c_void) -> &'a AtomicU32 {
    // SAFETY: the caller's promise; the variable is at least as large and as aligned.
    unsafe { AtomicU32::from_ptr(name.cast()) }
}

/// `#pragma omp critical(name)`.
///
/// # Safety
/// `name` is the compiler's variable for the name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_critical_name_start(name: *mut *mut c_void) {
    // SAFETY: the caller's promise.
    lock::acquire(unsafe { named(name) });
}

/// Ends a named critical region.
///
/// # Safety
/// `name` is the compiler's variable for the name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_critical_name_end(name: *mut *mut c_void) {
    // SAFETY: the caller's promise.
    lock::release(unsafe { named(name) });
}

/// Begins an update that no instruction does atomically.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_atomic_start() {
    lock::acquire(&WIDE_ATOMIC);
}

/// Ends it.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_atomic_end() {
    lock::release(&WIDE_ATOMIC);
}
