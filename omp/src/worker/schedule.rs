//! Scheduling of tasks and fibers: a worker queues them, sets them aside, resumes them.
#![expect(unsafe_code, reason = "lengthens the life of a borrowed condition")]

use super::{After, Condition, Work, Worker};
use crate::backend::{Backend, System};
use crate::fiber::Fiber;
use crate::idle::Idle;
use crate::report;
use crate::task::Task;
use crate::trace;
use core::ptr;

fn lengthen(condition: &dyn Fn() -> bool) -> Condition {
    // SAFETY: only its lifetime changes; `wait_until` clears the cell before the closure dies.
    unsafe { core::mem::transmute::<&dyn Fn() -> bool, Condition>(condition) }
}

impl Worker {
    /// Queues a task that was just made or has just become ready, and sees that it is noticed.
    #[inline]
    pub fn enqueue(&'static self, task: &'static Task) {
        if self.deque.push(task).is_err() {
            report::fatal(format_args!("no memory for the task queue"));
        }
        trace::ready(self, task);
        self.notify();
    }

    /// Puts back what `take` just gave.
    pub fn put_back(&'static self, task: &'static Task) {
        trace::start(self, task);
        self.enqueue(task);
    }

    /// Something changed that a parked worker may be waiting for; wakes one if there is one.
    /// The light half of the asymmetric fence, of which a worker that parks runs the heavy half.
    #[inline]
    pub fn notify(&self) {
        System::light_fence();
        if self.team.get().has_sleepers() {
            self.team.get().wake_one();
        }
    }

    /// Makes a fiber that was set aside runnable. Returns it when this worker must run it itself:
    /// the scheduler does so next.
    pub fn make_ready(&'static self, fiber: &'static Fiber) -> Option<&'static Fiber> {
        if let Some(target) = fiber.pinned_to() {
            if ptr::eq(target, self) {
                return Some(fiber);
            }
            target.inbox.send(fiber);
            target.team.get().wake(target);
            return None;
        }
        let home = fiber.last_worker().map(Worker::team);
        match home.filter(|home| !ptr::eq(*home, self.team.get())) {
            Some(home) => {
                // Not to the worker that set it aside: that may lead a region that waits for it.
                home.urgent().push_fiber(fiber);
                home.wake_all();
                None
            }
            None => Some(fiber),
        }
    }

    /// Like [`Worker::make_ready`] for callers that go on themselves: queues the fiber.
    pub fn make_ready_later(&'static self, fiber: &'static Fiber) {
        if let Some(fiber) = self.make_ready(fiber) {
            if fiber.pinned_to().is_some() {
                self.mine.push(fiber);
            } else {
                self.push_ready(fiber);
            }
        }
    }

    pub(super) fn push_ready(&self, fiber: &'static Fiber) {
        if self.ready.push(fiber).is_err() {
            report::fatal(format_args!("no memory for the run queue"));
        }
        trace::ready_fiber(self, fiber);
        self.notify();
    }

    /// Sets the running fiber aside and lets a scheduler go on in its place. Returns when the
    /// fiber is resumed, on any worker.
    pub fn suspend(&'static self, after: After) {
        let Some(next) = self.fibers.get() else {
            report::fatal(format_args!(
                "no memory for another thread's stack of {} bytes; \
                 a smaller OMP_STACKSIZE leaves room for more",
                crate::fiber::stack_bytes()
            ));
        };
        self.after.set(after);
        self.fiber.get().switch_to(self, next);
        if let Some(fiber) = Worker::current_here().finish_switch() {
            Worker::current_here().make_ready_later(fiber);
        }
    }

    /// Does what is due about the fiber that was left. Returns one that need not wait after all.
    fn finish_switch(&'static self) -> Option<&'static Fiber> {
        match self.after.replace(After::Nothing) {
            After::Nothing => None,
            After::Recycle(fiber) => {
                self.fibers.put(fiber);
                None
            }
            After::Join(task) => task.publish_wait(),
            After::Group(group) => group.publish_wait(),
            After::Dependence(dependences) => dependences.publish_wait(),
            After::Unlock(lock) => {
                lock.release();
                None
            }
            After::Defer(fiber) => {
                self.defer(fiber);
                None
            }
        }
    }

    fn defer(&self, fiber: &'static Fiber) {
        if fiber.pinned_to().is_some() || self.deferred.push(fiber).is_err() {
            self.held.push(fiber);
        } else {
            self.notify();
        }
    }

    /// Lets queued tasks run before the current one goes on. False if there is nothing to run.
    pub fn yield_task(&'static self) -> bool {
        trace::search(self);
        let work = self.find_task().or_else(|| self.steal());
        let work = work.or_else(|| self.find_fiber().map(Work::Fiber));
        let Some(work) = work else { return false };
        self.handed.set(Some(work));
        self.suspend(After::Defer(self.fiber.get()));
        true
    }

    /// Waits on the native stack until `condition` holds, running others' tasks meanwhile, each
    /// on a stack of its own. The thread that makes the condition true calls `notify` or `wake_all`.
    pub fn wait_until(&'static self, condition: &dyn Fn() -> bool) {
        let mut idle = None;
        loop {
            if condition() {
                return;
            }
            if let Some(work) = self.find_work() {
                self.handed.set(Some(work));
                self.condition.set(Some(lengthen(condition)));
                self.suspend(After::Nothing);
                self.condition.set(None);
                idle = None;
            } else {
                idle.get_or_insert_with(|| Idle::new(self))
                    .step(self, condition);
            }
        }
    }

    /// The scheduler's search: does not come back without something to do.
    fn next_work(&'static self) -> Work {
        let mut idle = None;
        loop {
            if let Some(condition) = self.condition.get()
                && condition()
            {
                return Work::Fiber(self.native.get());
            }
            if let Some(work) = self.find_work() {
                return work;
            }
            let idle = idle.get_or_insert_with(|| Idle::new(self));
            match self.condition.get() {
                Some(condition) => idle.step(self, condition),
                None => idle.step(self, &|| false),
            }
        }
    }
}

/// Body of every pooled fiber: runs tasks until it must give way to a fiber that is ready.
pub(crate) extern "C" fn run_fiber() -> ! {
    loop {
        let worker = Worker::current_here();
        let mut woken = worker.finish_switch();
        let mut handed = worker.handed.take();
        loop {
            let worker = Worker::current_here();
            if let (Some(fiber), Some(_)) = (woken, handed) {
                worker.make_ready_later(fiber);
                woken = None;
            }
            let work = handed.take().or_else(|| woken.take().map(Work::Fiber));
            match work.unwrap_or_else(|| worker.next_work()) {
                Work::Task(task) => woken = task.run(worker),
                Work::Fiber(fiber) => {
                    let current = worker.fiber.get();
                    worker.after.set(After::Recycle(current));
                    current.switch_to(worker, fiber);
                    break;
                }
            }
        }
    }
}
