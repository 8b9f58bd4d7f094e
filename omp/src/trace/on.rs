//! Events in one large buffer, saved to the file that `BULKHEAD_OMP_TRACE` names.
//!
//! Its purpose is to check that no worker idles while a task is ready. A task is surely ready from
//! the time taken after it was queued until the time taken before the search that found it began;
//! a worker surely saw everything it could have taken between the times before and after an unsuccessful
//! search. (Times are read in order with the accesses around them: a push may wait in the
//! core's store buffer, and a load may run ahead.) A failed search inside a ready span is a violation, whatever else the
//! machine did meanwhile. `omp/bench` reads the file (little endian): per event the time in
//! cycles, the address of the task or fiber, the worker's number and the kind, each as `u64`.

#![expect(unsafe_code, reason = "saves the buffer as bytes")]

use crate::arch;
use crate::backend::{Backend, System};
use crate::fiber::Fiber;
use crate::task::Task;
use crate::worker::Worker;
use core::ptr;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const EVENTS: usize = 1 << 20;
const WORDS: usize = 4;

static BUFFER: [AtomicU64; EVENTS * WORDS] = [const { AtomicU64::new(0) }; EVENTS * WORDS];
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Kind of an event.
#[derive(Clone, Copy)]
#[repr(u64)]
enum Kind {
    Ready = 1,
    Taken = 2,
    FailedSearchBegan = 3,
    FailedSearchEnded = 4,
    Parked = 5,
    Woken = 6,
    Ended = 7,
}

fn record(time: u64, subject: usize, worker: &Worker, kind: Kind) {
    let event = NEXT.fetch_add(1, Ordering::Relaxed);
    let words = [time, subject as u64, u64::from(worker.index()), kind as u64];
    let places = BUFFER.iter().skip(event * WORDS).take(WORDS);
    places
        .zip(words)
        .for_each(|(place, word)| place.store(word, Ordering::Relaxed));
}

/// A task may be run from now on.
pub fn ready(worker: &Worker, task: &Task) {
    record(
        arch::cycles_in_order(),
        ptr::from_ref(task) as usize,
        worker,
        Kind::Ready,
    );
}

/// A fiber may be resumed from now on.
pub fn ready_fiber(worker: &Worker, fiber: &Fiber) {
    record(
        arch::cycles_in_order(),
        ptr::from_ref(fiber) as usize,
        worker,
        Kind::Ready,
    );
}

/// A search begins.
pub fn search(worker: &Worker) {
    worker.search_began.set(arch::cycles_in_order());
}

/// The search has found a task.
pub fn start(worker: &Worker, task: &Task) {
    let subject = ptr::from_ref(task) as usize;
    record(worker.search_began.get(), subject, worker, Kind::Taken);
}

/// The search has found a fiber.
pub fn resume(worker: &Worker, fiber: &Fiber) {
    let subject = ptr::from_ref(fiber) as usize;
    record(worker.search_began.get(), subject, worker, Kind::Taken);
}

/// The search has found nothing.
pub fn fail(worker: &Worker) {
    record(
        worker.search_began.get(),
        0,
        worker,
        Kind::FailedSearchBegan,
    );
    record(arch::cycles_in_order(), 0, worker, Kind::FailedSearchEnded);
}

/// A body has ended.
pub fn end(worker: &Worker, task: &Task) {
    record(
        arch::cycles_in_order(),
        ptr::from_ref(task) as usize,
        worker,
        Kind::Ended,
    );
}

/// A worker goes to sleep.
pub fn park(worker: &Worker) {
    record(arch::cycles_in_order(), 0, worker, Kind::Parked);
}

/// A worker has woken.
pub fn unpark(worker: &Worker) {
    record(arch::cycles_in_order(), 0, worker, Kind::Woken);
}

/// Saves what was recorded.
pub fn save() {
    let Some(path) = System::environment(c"BULKHEAD_OMP_TRACE") else {
        return;
    };
    let events = NEXT.load(Ordering::Relaxed).min(EVENTS);
    let bytes = events * WORDS * size_of::<u64>();
    let first = BUFFER.as_ptr().cast::<u8>();
    // SAFETY: inside the buffer; no worker records any more.
    System::save(path, unsafe { core::slice::from_raw_parts(first, bytes) });
}
