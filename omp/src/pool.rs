//! Free lists of descriptors: one per worker, with a side entrance for other workers.
//!
//! A descriptor goes back to the worker that made it, so that a producer with tasks that are all run
//! by others neither allocates for ever nor fills the others' lists.
#![expect(unsafe_code, reason = "descriptors are linked by address")]

use crate::tsan;
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A descriptor that can be pooled.
pub trait Slot: Sync + Sized + 'static {
    /// Its place in a free list.
    fn link(&self) -> &AtomicPtr<Self>;
    /// The pool that it came from.
    fn home(&self) -> &'static Pool<Self>;
    /// Makes one more for `home`.
    fn fresh(home: &'static Pool<Self>) -> Option<&'static Self>;
}

/// Free descriptors of one worker.
#[derive(Debug)]
pub struct Pool<T: 'static> {
    free: Cell<Option<&'static T>>,
    returned: AtomicPtr<T>,
}

// SAFETY: `free` is the owning worker's alone by contract of `get` and `put_home`.
unsafe impl<T: Sync> Sync for Pool<T> {}

fn follow<T: Slot>(link: *mut T) -> Option<&'static T> {
    // SAFETY: links hold `'static` descriptors or null.
    unsafe { link.as_ref() }
}

impl<T: Slot> Default for Pool<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Slot> Pool<T> {
    /// An empty pool.
    pub const fn new() -> Self {
        Self {
            free: Cell::new(None),
            returned: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Owner only: a free descriptor; nothing when memory ran out.
    #[inline]
    pub fn get(&'static self) -> Option<&'static T> {
        match self.get_kept() {
            Some(slot) => Some(slot),
            None => self.refill(),
        }
    }

    /// Owner only: a free descriptor, if there is one in the owner's hand.
    #[inline(always)]
    pub fn get_kept(&'static self) -> Option<&'static T> {
        let slot = self.free.get()?;
        self.free.set(follow(slot.link().load(Ordering::Relaxed)));
        tsan::acquire(slot);
        Some(slot)
    }

    #[cold]
    fn refill(&'static self) -> Option<&'static T> {
        if self.returned.load(Ordering::Relaxed).is_null() {
            return T::fresh(self);
        }
        let returned = follow(self.returned.swap(ptr::null_mut(), Ordering::Acquire))?;
        self.free
            .set(follow(returned.link().load(Ordering::Relaxed)));
        tsan::acquire(returned);
        Some(returned)
    }

    /// Owner only: takes a descriptor of its own back.
    #[inline]
    pub fn put_home(&self, slot: &'static T) {
        let next = self
            .free
            .get()
            .map_or(ptr::null_mut(), |next| ptr::from_ref(next).cast_mut());
        slot.link().store(next, Ordering::Relaxed);
        self.free.set(Some(slot));
    }

    /// Any thread: sends a descriptor back to its home.
    pub fn put_remote(slot: &'static T) {
        let returned = &slot.home().returned;
        let mut head = returned.load(Ordering::Relaxed);
        loop {
            slot.link().store(head, Ordering::Relaxed);
            let new = ptr::from_ref(slot).cast_mut();
            let (won, lost) = (Ordering::Release, Ordering::Relaxed);
            match returned.compare_exchange_weak(head, new, won, lost) {
                Ok(_) => return,
                Err(other) => head = other,
            }
        }
    }

    /// Any thread that knows whether this is its own pool.
    #[inline]
    pub fn put(&'static self, slot: &'static T) {
        tsan::release(slot);
        if ptr::eq(slot.home(), self) {
            self.put_home(slot)
        } else {
            Self::put_remote(slot)
        }
    }
}
