//! Which allocatable variables of a Fortran program have their memory from an OpenMP allocator.
#![expect(unsafe_code, reason = "a list of blocks linked by address")]

use crate::backend::{Backend, System};
use crate::report;
use crate::spinlock::SpinLock;
use core::cell::Cell;
use core::ffi::c_void;
use core::ptr::{self, NonNull};

const BUCKETS: usize = 256;

struct Mark {
    address: usize,
    next: *mut Mark,
}

struct Bucket {
    lock: SpinLock,
    first: Cell<*mut Mark>,
}

// SAFETY: the list is only touched under the lock.
unsafe impl Sync for Bucket {}

static MARKS: [Bucket; BUCKETS] = [const {
    Bucket {
        lock: SpinLock::new(),
        first: Cell::new(ptr::null_mut()),
    }
}; BUCKETS];

fn bucket(address: usize) -> &'static Bucket {
    &MARKS[((address >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) % BUCKETS]
}

/// Marks memory that came from `GOMP_alloc`.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_add_alloc(block: *mut c_void) {
    let Some(mark) = System::allocate(size_of::<Mark>(), align_of::<Mark>()) else {
        report::fatal(format_args!("no memory to mark an allocated variable"))
    };
    let mark = mark.cast::<Mark>();
    let bucket = bucket(block as usize);
    let guard = bucket.lock.lock();
    let next = bucket.first.replace(mark.as_ptr());
    let address = block as usize;
    // SAFETY: fresh memory of the right size.
    unsafe { mark.write(Mark { address, next }) };
    drop(guard);
}

/// Removes the mark of a block, which the caller then gives to `GOMP_free`. False if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_is_alloc(block: *mut c_void) -> bool {
    let bucket = bucket(block as usize);
    let _guard = bucket.lock.lock();
    let mut before: *mut Mark = ptr::null_mut();
    let mut next = bucket.first.get();
    // SAFETY: null or a mark of the list.
    while let Some(mark) = unsafe { next.as_ref() } {
        if mark.address == block as usize {
            // SAFETY: null or the mark before it in the list.
            match unsafe { before.as_mut() } {
                Some(before) => before.next = mark.next,
                None => bucket.first.set(mark.next),
            }
            if let Some(mark) = NonNull::new(next) {
                // SAFETY: from `GOMP_add_alloc`; no longer in the list.
                unsafe { System::release(mark.cast()) };
            }
            return true;
        }
        (before, next) = (next, mark.next);
    }
    false
}
