//! User-level threads: a stack and the place where it stopped.
//!
//! A fiber is either *native* (the stack a kernel thread came with; it carries implicit tasks and
//! never moves to another kernel thread) or pooled. A pooled fiber runs the scheduler until the
//! scheduler finds a task, and then *is* that task's thread: when the task blocks the fiber is set
//! aside whole and the worker goes on with another.
#![expect(unsafe_code, reason = "switches stacks")]

use crate::arch;
use crate::backend::{Backend, Stack, System};
use crate::exceptions::Exceptions;
use crate::memory;
use crate::pool::{Pool, Slot};
use crate::report;
use crate::task::Task;
use crate::tsan;
use crate::worker::Worker;
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Usable bytes of each pooled stack; from `OMP_STACKSIZE`.
static STACK_BYTES: AtomicUsize = AtomicUsize::new(System::STACK_BYTES);

/// See the module.
#[derive(Debug)]
pub struct Fiber {
    stack_top: Cell<usize>,
    bounds: Cell<Stack>,
    /// The task that was current when it was set aside.
    task: Cell<Option<&'static Task>>,
    /// The worker that set it aside.
    worker: Cell<Option<&'static Worker>>,
    /// How many reasons there are to resume only on that worker.
    pins: Cell<u32>,
    /// How many locks the tasks on its stack hold, while it is set aside.
    locks: Cell<u32>,
    /// Address of the lock that it waits for, in the parking lot.
    key: Cell<usize>,
    link: AtomicPtr<Fiber>,
    home: Cell<Option<&'static Pool<Fiber>>>,
    /// Its C++ exceptions while it is set aside.
    exceptions: Cell<Exceptions>,
    tsan: tsan::Stack,
}

// SAFETY: the cells belong to the worker that runs the fiber, or to the scheduler that set it aside until
// it publishes it through an atomic (release) from which the next one takes it (acquire).
unsafe impl Sync for Fiber {}

impl Slot for Fiber {
    fn link(&self) -> &AtomicPtr<Self> {
        &self.link
    }

    fn home(&self) -> &'static Pool<Self> {
        match self.home.get() {
            Some(home) => home,
            None => report::fatal(format_args!("internal error: a native stack in a pool")),
        }
    }

    fn fresh(home: &'static Pool<Self>) -> Option<&'static Self> {
        memory::count_allocation();
        let bytes = STACK_BYTES.load(Ordering::Relaxed);
        let stack = System::map_stack(bytes)?;
        let fiber = memory::place(Self::new(stack))?;
        fiber.home.set(Some(home));
        fiber.pins.set(0);
        // SAFETY: the stack is fresh, and no other fiber has its top.
        fiber
            .stack_top
            .set(unsafe { arch::start_frame(stack.high, crate::worker::schedule::run_fiber) });
        Some(fiber)
    }
}

/// Sets the size of stacks made from now on.
pub fn set_stack_bytes(bytes: usize) {
    STACK_BYTES.store(bytes, Ordering::Relaxed);
}

/// Size of the stacks made now.
pub fn stack_bytes() -> usize {
    STACK_BYTES.load(Ordering::Relaxed)
}

impl Fiber {
    /// A native fiber on a kernel thread's stack.
    pub fn new(bounds: Stack) -> Self {
        Self {
            stack_top: Cell::new(0),
            bounds: Cell::new(bounds),
            task: Cell::new(None),
            worker: Cell::new(None),
            pins: Cell::new(1),
            locks: Cell::new(0),
            key: Cell::new(0),
            link: AtomicPtr::new(ptr::null_mut()),
            home: Cell::new(None),
            exceptions: Cell::default(),
            tsan: tsan::Stack::default(),
        }
    }

    /// Bounds of its stack.
    pub fn bounds(&self) -> Stack {
        self.bounds.get()
    }

    /// Says on which stack a native fiber is now.
    pub fn set_bounds(&self, bounds: Stack) {
        self.bounds.set(bounds);
    }

    /// True if the running code is on this stack.
    pub fn is_running(&self) -> bool {
        let Stack { low, high } = self.bounds.get();
        (low..high).contains(&arch::stack_pointer())
    }

    /// True if more than half of the stack is free: room for another task on top.
    #[inline]
    pub fn has_room(&self) -> bool {
        let Stack { low, high } = self.bounds.get();
        arch::stack_pointer().wrapping_sub(low) > (high - low) / 2
    }

    /// The worker that must resume it, if it may not move.
    pub fn pinned_to(&self) -> Option<&'static Worker> {
        if self.pins.get() == 0 {
            None
        } else {
            self.worker.get()
        }
    }

    /// The worker that set it aside.
    pub fn last_worker(&self) -> Option<&'static Worker> {
        self.worker.get()
    }

    /// Adds a reason not to move from `worker`.
    pub fn pin(&self, worker: &'static Worker) {
        self.pins.set(self.pins.get() + 1);
        self.order_on(worker, tsan::acquire);
    }

    /// True if any worker may resume it.
    #[inline]
    pub fn may_move(&self) -> bool {
        self.pins.get() == 0
    }

    /// While it runs: whether no task on its stack holds a lock that a task on top of them might wait for.
    #[inline]
    pub fn holds_no_lock(&self) -> bool {
        arch::locks() == 0
    }

    /// Takes a reason back.
    pub fn unpin(&self, worker: &'static Worker) {
        self.order_on(worker, tsan::release);
        self.pins.set(self.pins.get() - 1);
    }

    /// Address of the lock that it waits for, in the parking lot.
    pub fn key(&self) -> usize {
        self.key.get()
    }

    /// Says what it waits for.
    pub fn set_key(&self, key: usize) {
        self.key.set(key);
    }

    /// Its place in a list of fibers.
    pub fn list_link(&self) -> &AtomicPtr<Self> {
        &self.link
    }

    /// Leaves `self`, which runs on `worker`, for `to`. Returns when a worker resumes `self`;
    /// the caller must then ask again which worker it runs on.
    #[inline]
    pub fn switch_to(&self, worker: &'static Worker, to: &'static Self) {
        self.task.set(Some(worker.current()));
        self.worker.set(Some(worker));
        worker.set_fiber(to);
        if let Some(task) = to.task.get() {
            worker.set_current(task);
        }
        if let Some(thread) = worker.exceptions.get() {
            self.exceptions.set(thread.replace(to.exceptions.get()));
        }
        self.locks.set(arch::locks());
        arch::set_locks(to.locks.get());
        self.order_on(worker, tsan::release);
        self.tsan.leave_for(&to.tsan);
        // SAFETY: `to` was set aside by a switch or is fresh, and its one holder is this worker.
        unsafe { arch::switch(&self.stack_top, to.stack_top.get()) };
        self.order_on(worker, tsan::acquire);
    }

    /// Stacks that stay with a worker share what belongs to the thread, ordered by taking turns.
    #[inline(always)]
    fn order_on(&self, worker: &'static Worker, order: fn(*const Worker)) {
        if self.pins.get() != 0 {
            order(worker);
        }
    }
}
