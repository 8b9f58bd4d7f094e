//! Taskgroups: wait for all descendants.

#![expect(unsafe_code, reason = "shares cells between the group and its tasks")]

use crate::memory;
use crate::pool::{Pool, Slot};
use crate::task::Flags;
use crate::tsan;
use crate::worker::{After, Worker};
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, Ordering};

/// One open taskgroup. `outstanding` counts its tasks and one more for the task that opened it;
/// the thread that takes it to zero while the opener waits wakes the opener.
#[derive(Debug)]
pub struct Group {
    outstanding: AtomicI64,
    enclosing: Cell<Option<&'static Group>>,
    waiter: Cell<Option<&'static crate::fiber::Fiber>>,
    /// `cancel taskgroup` has been met.
    pub cancelled: AtomicBool,
    /// The group around a worksharing construct with task reductions, which `cancel taskgroup` does not mean.
    pub(crate) is_implicit: Cell<bool>,
    /// Registered task reductions, innermost first.
    pub reductions: Cell<*mut usize>,
    link: AtomicPtr<Group>,
    home: &'static Pool<Group>,
}

// SAFETY: cells are written by the opener before tasks of the group exist or after they ended;
// `waiter` is published by the decrement of `outstanding`.
unsafe impl Sync for Group {}

impl Slot for Group {
    fn link(&self) -> &AtomicPtr<Self> {
        &self.link
    }

    fn home(&self) -> &'static Pool<Self> {
        self.home
    }

    fn fresh(home: &'static Pool<Self>) -> Option<&'static Self> {
        memory::place(Self {
            outstanding: AtomicI64::new(0),
            enclosing: Cell::new(None),
            waiter: Cell::new(None),
            cancelled: AtomicBool::new(false),
            is_implicit: Cell::new(false),
            reductions: Cell::new(ptr::null_mut()),
            link: AtomicPtr::new(ptr::null_mut()),
            home,
        })
    }
}

impl Group {
    /// The taskgroup around it.
    pub fn enclosing(&self) -> Option<&'static Group> {
        self.enclosing.get()
    }

    /// The group that `cancel taskgroup` in a task of this one cancels: the innermost that the program wrote, if there is one.
    pub(crate) fn cancellable(&'static self) -> &'static Group {
        let groups = core::iter::successors(Some(self), |group| group.enclosing());
        groups
            .into_iter()
            .find(|group| !group.is_implicit.get())
            .unwrap_or(self)
    }

    /// True if [`Group::cancellable`] was cancelled.
    pub(crate) fn is_cancelled(&'static self) -> bool {
        self.cancelled.load(Ordering::Acquire)
            || self.is_implicit.get() && self.cancellable().cancelled.load(Ordering::Acquire)
    }

    /// A task of the group was made.
    #[inline]
    pub fn enter(&self) {
        self.outstanding.fetch_add(1, Ordering::Relaxed);
    }

    /// A task of the group has ended.
    pub fn leave(&self, worker: &'static Worker) {
        tsan::release(&self.outstanding);
        if self.outstanding.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(fiber) = self.waiter.get()
        {
            worker.make_ready_later(fiber);
        }
    }

    /// The opener's stack has been left: its share of the count goes. Returns its fiber if there
    /// is nothing left to wait for.
    pub fn publish_wait(&self) -> Option<&'static crate::fiber::Fiber> {
        let waiter = self.waiter.get();
        if self.outstanding.fetch_sub(1, Ordering::AcqRel) == 1 {
            waiter
        } else {
            None
        }
    }
}

/// Opens a taskgroup in the current task.
pub fn start() {
    let worker = Worker::current_here();
    let task = worker.current();
    let Some(group) = worker.groups().get() else {
        crate::report::fatal(format_args!("no memory for a taskgroup"))
    };
    group.outstanding.store(1, Ordering::Relaxed);
    group.cancelled.store(false, Ordering::Relaxed);
    group.is_implicit.set(false);
    group.reductions.set(ptr::null_mut());
    group.enclosing.set(task.group());
    task.set_group(Some(group));
}

/// Waits for the current task's innermost taskgroup and closes it.
pub fn end() {
    let mut worker = Worker::current_here();
    let task = worker.current();
    let Some(group) = task.group() else { return };
    while group.outstanding.load(Ordering::Acquire) > 1 {
        let nested = worker.may_nest(task) && run_member(worker, task, group);
        worker = Worker::current_here();
        if !nested {
            group.waiter.set(Some(worker.fiber()));
            worker.suspend(After::Group(group));
            worker = Worker::current_here();
            break;
        }
    }
    tsan::acquire(&group.outstanding);
    task.set_group(group.enclosing.get());
    worker.groups().put(group);
}

/// Runs a child from the bottom of the deque if it belongs to the group.
fn run_member(
    worker: &'static Worker,
    task: &'static crate::task::Task,
    group: &'static Group,
) -> bool {
    let Some(member) = worker.deque().take() else {
        return false;
    };
    let child = member.parent().is_some_and(|parent| ptr::eq(parent, task));
    let belongs = member.has(Flags::GROUPED) && member.group().is_some_and(|g| ptr::eq(g, group));
    if !(child && belongs) {
        worker.put_back(member);
        return false;
    }
    member.run_in_place(worker, task);
    Worker::current_here().count_finished();
    true
}
