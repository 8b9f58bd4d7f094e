//! Fibers that others made ready for one particular worker: many senders, one receiver.
#![expect(unsafe_code, reason = "fibers are linked by address")]

use crate::fiber::Fiber;
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A lock-free stack that the receiver empties at once and turns round: first in, first out.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Inbox {
    newest: AtomicPtr<Fiber>,
}

/// A first-in-first-out list of fibers that only its owner touches.
#[derive(Debug, Default)]
pub struct FiberList {
    first: Cell<Option<&'static Fiber>>,
    last: Cell<Option<&'static Fiber>>,
}

fn follow(fiber: *mut Fiber) -> Option<&'static Fiber> {
    // SAFETY: links hold `'static` fibers or null.
    unsafe { fiber.as_ref() }
}

fn address(fiber: Option<&'static Fiber>) -> *mut Fiber {
    fiber.map_or(ptr::null_mut(), |fiber| ptr::from_ref(fiber).cast_mut())
}

impl Default for Inbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Inbox {
    /// Nothing arrived yet.
    pub const fn new() -> Self {
        Self {
            newest: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Any thread: delivers.
    pub fn send(&self, fiber: &'static Fiber) {
        let mut head = self.newest.load(Ordering::Relaxed);
        loop {
            fiber.list_link().store(head, Ordering::Relaxed);
            let new = address(Some(fiber));
            let (won, lost) = (Ordering::Release, Ordering::Relaxed);
            match self.newest.compare_exchange_weak(head, new, won, lost) {
                Ok(_) => return,
                Err(other) => head = other,
            }
        }
    }

    /// True if something is there.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.newest.load(Ordering::Relaxed).is_null()
    }

    /// Receiver only: hands everything to `each`, oldest first.
    #[cold]
    pub fn receive(&self, mut each: impl FnMut(&'static Fiber)) {
        let mut newest = follow(self.newest.swap(ptr::null_mut(), Ordering::Acquire));
        let mut oldest_first = None;
        while let Some(fiber) = newest {
            newest = follow(fiber.list_link().load(Ordering::Relaxed));
            fiber
                .list_link()
                .store(address(oldest_first), Ordering::Relaxed);
            oldest_first = Some(fiber);
        }
        while let Some(fiber) = oldest_first {
            oldest_first = follow(fiber.list_link().load(Ordering::Relaxed));
            each(fiber);
        }
    }
}

// SAFETY: one owner by contract; the fibers themselves are `Sync`.
unsafe impl Sync for FiberList {}

impl FiberList {
    /// An empty list.
    pub const fn new() -> Self {
        Self {
            first: Cell::new(None),
            last: Cell::new(None),
        }
    }

    /// True if there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.get().is_none()
    }

    /// Adds at the end.
    pub fn push(&self, fiber: &'static Fiber) {
        fiber.list_link().store(ptr::null_mut(), Ordering::Relaxed);
        match self.last.get() {
            Some(last) => last
                .list_link()
                .store(address(Some(fiber)), Ordering::Relaxed),
            None => self.first.set(Some(fiber)),
        }
        self.last.set(Some(fiber));
    }

    /// Adds before the first.
    pub fn push_front(&self, fiber: &'static Fiber) {
        fiber
            .list_link()
            .store(address(self.first.get()), Ordering::Relaxed);
        if self.first.replace(Some(fiber)).is_none() {
            self.last.set(Some(fiber));
        }
    }

    /// Removes the first.
    #[inline]
    pub fn pop(&self) -> Option<&'static Fiber> {
        let fiber = self.first.get()?;
        self.first
            .set(follow(fiber.list_link().load(Ordering::Relaxed)));
        if self.first.get().is_none() {
            self.last.set(None);
        }
        Some(fiber)
    }
}
