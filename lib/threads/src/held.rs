//! List of the mutexes with attributes that a thread has
#![expect(
    unsafe_code,
    reason = "a list of objects that do not move while a thread has them"
)]

use bulkhead_sched::policy::Priority;
use core::cell::Cell;
use core::ptr;

/// Place of a mutex in the list of its owner's.
#[derive(Debug)]
pub(crate) struct Held {
    next: Cell<*const Self>,
    ceiling: Option<Priority>,
}

impl Held {
    pub(crate) const fn new(ceiling: Option<Priority>) -> Self {
        Self {
            next: Cell::new(ptr::null()),
            ceiling,
        }
    }
}

/// The mutexes of a thread, newest first. Each leaves the list before it is released or deleted.
pub(crate) struct HeldList(Cell<*const Held>);

impl HeldList {
    pub(crate) const fn new() -> Self {
        Self(Cell::new(ptr::null()))
    }

    fn iter(&self) -> impl Iterator<Item = &Held> {
        // SAFETY: a mutex that a thread has exists.
        let first = unsafe { self.0.get().as_ref() };
        // SAFETY: as above.
        core::iter::successors(first, |held| unsafe { held.next.get().as_ref() })
    }

    /// The most important ceiling.
    pub(crate) fn ceiling(&self) -> Option<Priority> {
        self.iter().filter_map(|held| held.ceiling).min()
    }

    /// Adds a mutex that the thread has taken.
    pub(crate) fn push(&self, held: *const Held) {
        // SAFETY: the caller's, which exists.
        if let Some(new) = unsafe { held.as_ref() } {
            new.next.set(self.0.replace(held));
        }
    }

    /// Takes the newest one out.
    pub(crate) fn pop(&self) -> Option<*const Held> {
        let first = self.0.get();
        // SAFETY: a mutex that a thread has exists.
        self.0.set(unsafe { first.as_ref() }?.next.get());
        Some(first)
    }

    /// Takes one out, if it is there.
    pub(crate) fn remove(&self, held: *const Held) {
        let mut links = core::iter::once(&self.0).chain(self.iter().map(|held| &held.next));
        let link = links.find(|link| ptr::eq(link.get(), held));
        // SAFETY: a mutex that a thread has exists.
        if let (Some(link), Some(found)) = (link, unsafe { held.as_ref() }) {
            link.set(found.next.get());
        }
    }
}
