//! Memory that is got once and never given back, and the count that shows it.
//!
//! Descriptors (workers, tasks, fibers, …) are pooled and type-stable: a reference to one stays a
//! reference to one for the life of the process. That is what lets the lock-free parts hold
//! `&'static` references with interior mutability instead of raw pointers.
#![expect(unsafe_code, reason = "places values in mapped pages")]

use crate::backend::{Backend, System};
use crate::spinlock::SpinLock;
use crate::tsan;
use core::cell::Cell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

const CHUNK: usize = 64 * 1024;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static CHUNK_LOCK: SpinLock = SpinLock::new();
static REST: Rest = Rest {
    next: Cell::new(0),
    end: Cell::new(0),
};

struct Rest {
    next: Cell<usize>,
    end: Cell<usize>,
}

// SAFETY: only read and written under `CHUNK_LOCK`.
unsafe impl Sync for Rest {}

/// How often the runtime asked for memory since the start: constant on the steady path.
pub fn allocations() -> u64 {
    ALLOCATIONS.load(Ordering::Relaxed)
}

/// Counts an allocation made elsewhere.
pub(crate) fn count_allocation() {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
}

/// `bytes` zero bytes that [`Backend::release`] takes back; `align` is a power of two.
pub(crate) fn allocate_zeroed(bytes: usize, align: usize) -> Option<NonNull<u8>> {
    count_allocation();
    let block = System::allocate(bytes, align)?;
    // SAFETY: fresh memory of that size.
    unsafe { block.write_bytes(0, bytes) };
    tsan::release(block.as_ptr());
    Some(block)
}

fn carve(bytes: usize, align: usize) -> Option<usize> {
    count_allocation();
    if bytes > CHUNK / 4 {
        return System::map(bytes).map(|pages| pages.as_ptr() as usize);
    }
    let guard = CHUNK_LOCK.lock();
    let mut start = REST.next.get().next_multiple_of(align);
    if start + bytes > REST.end.get() {
        let chunk = System::map(CHUNK)?.as_ptr() as usize;
        tsan::release(&CHUNK_LOCK);
        REST.end.set(chunk + CHUNK);
        start = chunk;
    }
    tsan::acquire(&CHUNK_LOCK);
    REST.next.set(start + bytes);
    drop(guard);
    Some(start)
}

/// Keeps other threads out while the process is copied.
pub(crate) fn lock_for_fork() {
    CHUNK_LOCK.acquire();
}

/// Lets them in again.
pub(crate) fn unlock_after_fork() {
    CHUNK_LOCK.release();
}

/// Moves `value` to memory where it stays; nothing when memory ran out.
pub fn place<T>(value: T) -> Option<&'static T> {
    let slot = carve(size_of::<T>(), align_of::<T>())? as *mut T;
    // SAFETY: fresh, aligned memory of the right size that no other object has.
    unsafe { slot.write(value) };
    // SAFETY: initialised above, never freed.
    unsafe { slot.as_ref() }
}

/// Like [`place`], for what the runtime cannot do without.
pub fn place_or_die<T>(value: T) -> &'static T {
    place(value).unwrap_or_else(|| crate::report::fatal(format_args!("out of memory")))
}

/// `n` null pointers.
pub fn pointers<T>(n: usize) -> Option<&'static [AtomicPtr<T>]> {
    let first = carve(n * size_of::<AtomicPtr<T>>(), 64)? as *const AtomicPtr<T>;
    // SAFETY: zeroed memory is `n` null pointers; never freed.
    Some(unsafe { core::slice::from_raw_parts(first, n) })
}
