//! Locks that set the waiting task aside: critical sections, `omp_lock_t`, `mutexinoutset`.
//!
//! A lock is one 32-bit word of the program's. Waiters queue in a table by the word's address
//! (a parking lot), so that four bytes are enough and an unused lock costs nothing.

use crate::arch;
use crate::fiber::Fiber;
use crate::inbox::FiberList;
use crate::spinlock::SpinLock;
use crate::tsan;
use crate::worker::{After, Worker};
use core::sync::atomic::{AtomicU32, Ordering};

const FREE: u32 = 0;
const HELD: u32 = 1;
const AWAITED: u32 = 2;

/// Largest distance of a waiter's looks at a lock, in pauses. Each look takes the cache line from the holder, which may give the lock back
/// and take it again several times in the time of a hand-over.
const FARTHEST: u32 = 8;

const BUCKETS: usize = 64;

#[repr(C, align(64))]
struct Bucket {
    lock: SpinLock,
    waiters: FiberList,
}

static LOT: [Bucket; BUCKETS] = [const {
    Bucket {
        lock: SpinLock::new(),
        waiters: FiberList::new(),
    }
}; BUCKETS];

fn bucket(key: usize) -> &'static Bucket {
    let spread = (key >> 2).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58;
    &LOT[spread % BUCKETS]
}

fn key(word: &AtomicU32) -> usize {
    core::ptr::from_ref(word) as usize
}

/// Takes the lock; the current task steps aside while another one has it.
#[inline]
pub fn acquire(word: &AtomicU32) {
    if !take(word) {
        return acquire_slowly(word);
    }
    tsan::acquire(word);
    arch::count_lock::<1>();
}

/// Takes the lock if it is free.
#[inline]
pub fn try_acquire(word: &AtomicU32) -> bool {
    let taken = take(word);
    if taken {
        tsan::acquire(word);
        arch::count_lock::<1>();
    }
    taken
}

#[inline(always)]
fn take(word: &AtomicU32) -> bool {
    let (won, lost) = (Ordering::Acquire, Ordering::Relaxed);
    word.compare_exchange(FREE, HELD, won, lost).is_ok()
}

/// Gives the lock back.
#[inline]
pub fn release(word: &AtomicU32) {
    tsan::release(word);
    let state = word.swap(FREE, Ordering::Release);
    arch::count_lock::<-1>();
    if state == AWAITED {
        wake_next(word);
    }
}

#[cold]
#[inline(never)]
fn acquire_slowly(word: &AtomicU32) {
    let worker = Worker::current_here();
    if !worker.watch_from_afar(FARTHEST, &|| {
        word.load(Ordering::Relaxed) == FREE && take(word)
    }) {
        let mut is_new = true;
        while !take_or_queue(word, is_new) {
            is_new = false;
        }
    }
    tsan::acquire(word);
    arch::count_lock::<1>();
}

/// One attempt: true if the lock was taken, false after a wait. A fiber that has waited already queues before all others.
fn take_or_queue(word: &AtomicU32, is_new: bool) -> bool {
    let bucket = bucket(key(word));
    bucket.lock.acquire();
    if word.swap(AWAITED, Ordering::Acquire) == FREE {
        bucket.lock.release();
        return true;
    }
    let worker = Worker::current_here();
    let fiber = worker.fiber();
    fiber.set_key(key(word));
    if is_new {
        bucket.waiters.push(fiber);
    } else {
        bucket.waiters.push_front(fiber);
    }
    worker.suspend(After::Unlock(&bucket.lock));
    false
}

#[cold]
#[inline(never)]
fn wake_next(word: &AtomicU32) {
    let bucket = bucket(key(word));
    let guard = bucket.lock.lock();
    let next = first_with(&bucket.waiters, key(word));
    drop(guard);
    if let Some(fiber) = next {
        Worker::current_here().make_ready_later(fiber);
    }
}

/// After a fork no task waits, because the child has no other thread.
pub(crate) fn forget_waiters() {
    for bucket in &LOT {
        while bucket.waiters.pop().is_some() {}
        bucket.lock.release();
    }
}

/// Removes the first fiber that waits for `key`; the order of the others stays.
fn first_with(waiters: &FiberList, key: usize) -> Option<&'static Fiber> {
    let kept = FiberList::new();
    let mut found = None;
    while let Some(fiber) = waiters.pop() {
        if found.is_none() && fiber.key() == key {
            found = Some(fiber);
        } else {
            kept.push(fiber);
        }
    }
    while let Some(fiber) = kept.pop() {
        waiters.push(fiber);
    }
    found
}
