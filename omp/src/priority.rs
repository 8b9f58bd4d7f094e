//! Urgent work of a team: tasks with a priority, and tasks and fibers that were
//! made ready from outside of it.

#![expect(unsafe_code, reason = "a list linked through the tasks")]

use crate::fiber::Fiber;
use crate::inbox::FiberList;
use crate::spinlock::SpinLock;
use crate::task::Task;
use crate::worker::Work;
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Fibers, first in first out; then tasks by falling priority, first in first out among equals.
/// Shared by a team; the common case that it is empty costs one load of a line that no thread writes.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Urgent {
    waiting: AtomicUsize,
    lock: SpinLock,
    fibers: FiberList,
    first: Cell<Option<&'static Task>>,
}

// SAFETY: `first` and `fibers` are only touched under the lock.
unsafe impl Sync for Urgent {}

impl Default for Urgent {
    fn default() -> Self {
        Self::new()
    }
}

impl Urgent {
    /// An empty list.
    pub const fn new() -> Self {
        Self {
            waiting: AtomicUsize::new(0),
            lock: SpinLock::new(),
            fibers: FiberList::new(),
            first: Cell::new(None),
        }
    }

    /// True if there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) == 0
    }

    /// Adds a task behind those of the same or a higher priority.
    pub fn push(&self, task: &'static Task) {
        let guard = self.lock.lock();
        let mut before = None;
        let mut next = self.first.get();
        while let Some(other) = next.filter(|other| other.priority.get() >= task.priority.get()) {
            before = Some(other);
            next = other.next();
        }
        task.set_next(next);
        match before {
            Some(before) => before.set_next(Some(task)),
            None => self.first.set(Some(task)),
        }
        self.waiting.fetch_add(1, Ordering::Release);
        drop(guard);
    }

    /// Adds a fiber that any worker of the team may resume.
    pub fn push_fiber(&self, fiber: &'static Fiber) {
        let guard = self.lock.lock();
        self.fibers.push(fiber);
        self.waiting.fetch_add(1, Ordering::Release);
        drop(guard);
    }

    /// Removes the first.
    #[inline]
    pub fn take(&self) -> Option<Work> {
        if self.is_empty() {
            None
        } else {
            self.take_first()
        }
    }

    #[cold]
    fn take_first(&self) -> Option<Work> {
        let guard = self.lock.lock();
        let fiber = self.fibers.pop().map(Work::Fiber);
        let work = fiber.or_else(|| self.pop_task().map(Work::Task))?;
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        drop(guard);
        Some(work)
    }

    fn pop_task(&self) -> Option<&'static Task> {
        let task = self.first.get()?;
        self.first.set(task.next());
        Some(task)
    }
}

impl Task {
    fn next(&self) -> Option<&'static Task> {
        // SAFETY: set by `set_next` only, under the list's lock.
        unsafe { self.list_link().load(Ordering::Relaxed).as_ref() }
    }

    fn set_next(&self, next: Option<&'static Task>) {
        let next = next.map_or(ptr::null_mut(), |next| ptr::from_ref(next).cast_mut());
        self.list_link().store(next, Ordering::Relaxed);
    }
}
