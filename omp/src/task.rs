//! Tasks: closures until a worker runs them, and what they leave behind.
//!
//! Life of a descriptor: taken from the creator's pool, queued, run, completed. `children` counts
//! the children that were created and not yet completed *on the task's own stack*; only the task
//! itself touches it. Children completed elsewhere count in `join`. A task with a body that ends while
//! children are outstanding stays as a zombie until the last of them ends, because they point to it.
#![expect(
    unsafe_code,
    reason = "calls the program's functions and copies their arguments"
)]

use crate::backend::{Backend, System};
use crate::depend::Dependences;
use crate::fiber::Fiber;
use crate::icv::Icv;
use crate::join::Join;
use crate::memory;
use crate::pool::{Pool, Slot};
use crate::report;
use crate::taskgroup::Group;
use crate::trace;
use crate::tsan;
use crate::worker::Worker;
use core::cell::{Cell, UnsafeCell};
use core::ffi::c_void;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU32};

/// An outlined body.
pub type Body = unsafe extern "C" fn(*mut c_void);
/// Copy-constructs a task's arguments: destination, source.
pub type Copier = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// Properties of a task; those of [`Flags::SLOW`] need more work at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(pub u32);

impl Flags {
    /// All its descendants are run by their creators at once.
    pub const FINAL: u32 = 1;
    /// The body of a parallel region on one of its threads.
    pub const IMPLICIT: u32 = 2;
    /// May change its thread anyway.
    pub const UNTIED: u32 = 4;
    /// Belongs to a taskgroup.
    pub const GROUPED: u32 = 8;
    /// Has successors or predecessors.
    pub const DEPENDENT: u32 = 16;
    /// Complete only when its event is fulfilled as well.
    pub const DETACHED: u32 = 32;
    /// Its arguments are in a block of their own.
    pub const OUTSIZED: u32 = 64;
    /// Asked for its thread's identity: stays there.
    pub const PINNED: u32 = 128;
    /// Has private control variables to give back.
    pub const CONTROLLED: u32 = 256;
    /// Its body has ended, its children have not.
    pub const ZOMBIE: u32 = 512;
    /// Has made tasks with dependences.
    pub const ORDERS_CHILDREN: u32 = 1024;
    /// Has made children since it got private control variables: they may use them still.
    pub const LENT: u32 = 2048;
    /// The initial task, outside of any parallel region, or a task that it made.
    pub const OUTSIDE: u32 = 4096;
    /// Flags that make children run at once: no other thread could take them, or the task is final.
    pub const UNDEFERS: u32 = Self::FINAL | Self::OUTSIDE;
    /// Flags that need work at the end of the body.
    pub const SLOW: u32 = Self::GROUPED
        | Self::DEPENDENT
        | Self::DETACHED
        | Self::OUTSIZED
        | Self::PINNED
        | Self::CONTROLLED
        | Self::ORDERS_CHILDREN;
}

/// Bytes of arguments that a descriptor has room for; more go to a block of their own.
pub const INLINE_BYTES: usize = 112;

#[repr(C, align(16))]
#[derive(Debug)]
struct Arguments(UnsafeCell<[u64; INLINE_BYTES / 8]>);

/// A task's descriptor.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Task {
    body: Cell<Option<Body>>,
    argument: Cell<*mut c_void>,
    parent: Cell<Option<&'static Task>>,
    flags: Cell<u32>,
    children: Cell<u32>,
    icv: Cell<&'static Icv>,
    group: Cell<Option<&'static Group>>,
    join: Join,
    waiter: Cell<Option<&'static Fiber>>,
    // Second line: nothing of it is written on the fast path but the link.
    link: AtomicPtr<Task>,
    home: &'static Pool<Task>,
    pub(crate) dependences: Cell<Option<&'static Dependences>>,
    pub(crate) child_order: Cell<Option<&'static crate::depend::ChildOrder>>,
    pub(crate) team: Cell<Option<&'static crate::team::Team>>,
    pub(crate) event: AtomicU32,
    pub(crate) priority: Cell<i32>,
    stack_base: Cell<usize>,
    arguments: Arguments,
}

// SAFETY: the cells belong to the creator until the task is queued (release), then to the worker that took
// it (acquire), then to the last one that completes it.
unsafe impl Sync for Task {}

impl Slot for Task {
    fn link(&self) -> &AtomicPtr<Self> {
        &self.link
    }

    fn home(&self) -> &'static Pool<Self> {
        self.home
    }

    fn fresh(home: &'static Pool<Self>) -> Option<&'static Self> {
        memory::place(Self::new(home))
    }
}

/// Arguments of a new task.
#[derive(Clone, Copy, Debug)]
pub struct Blueprint {
    /// The outlined body.
    pub body: Body,
    /// The creator's copy of the arguments.
    pub data: *mut c_void,
    /// Copy constructor, where bytes are not enough.
    pub copier: Option<Copier>,
    /// Bytes of arguments.
    pub size: usize,
    /// Their alignment.
    pub align: usize,
    /// Initial [`Flags`].
    pub flags: u32,
}

impl Task {
    /// A descriptor that returns to `home`.
    pub fn new(home: &'static Pool<Task>) -> Self {
        Self {
            body: Cell::new(None),
            argument: Cell::new(ptr::null_mut()),
            parent: Cell::new(None),
            flags: Cell::new(0),
            children: Cell::new(0),
            icv: Cell::new(crate::icv::initial()),
            group: Cell::new(None),
            join: Join::new(),
            waiter: Cell::new(None),
            link: AtomicPtr::new(ptr::null_mut()),
            home,
            dependences: Cell::new(None),
            child_order: Cell::new(None),
            team: Cell::new(None),
            event: AtomicU32::new(0),
            priority: Cell::new(0),
            stack_base: Cell::new(usize::MAX),
            arguments: Arguments(UnsafeCell::new([0; INLINE_BYTES / 8])),
        }
    }

    /// The task that created it.
    #[inline]
    pub fn parent(&self) -> Option<&'static Task> {
        self.parent.get()
    }

    /// True if any of `flags` is set.
    #[inline]
    pub fn has(&self, flags: u32) -> bool {
        self.flags.get() & flags != 0
    }

    /// Sets `flags`.
    #[inline]
    pub fn set(&self, flags: u32) {
        self.flags.set(self.flags.get() | flags);
    }

    /// Clears `flags`.
    pub fn clear(&self, flags: u32) {
        self.flags.set(self.flags.get() & !flags);
    }

    /// Its data environment's control variables.
    #[inline]
    pub fn icv(&self) -> &'static Icv {
        self.icv.get()
    }

    /// Gives it other control variables.
    pub fn set_icv(&self, icv: &'static Icv) {
        self.icv.set(icv);
    }

    /// The innermost taskgroup it belongs to or has opened.
    #[inline]
    pub fn group(&self) -> Option<&'static Group> {
        self.group.get()
    }

    /// Enters or leaves a taskgroup.
    pub fn set_group(&self, group: Option<&'static Group>) {
        self.group.set(group);
    }

    /// Children not known to be complete.
    #[inline]
    pub fn children(&self) -> u32 {
        self.children.get()
    }

    /// Puts another body in the place of the program's.
    pub(crate) fn wrap(&self, body: Body, argument: *mut c_void) -> (Option<Body>, *mut c_void) {
        (
            self.body.replace(Some(body)),
            self.argument.replace(argument),
        )
    }

    /// Undoes [`Task::wrap`].
    pub(crate) fn unwrap(&self, body: Option<Body>, argument: *mut c_void) {
        self.body.set(body);
        self.argument.set(argument);
    }

    /// Its place in a list of tasks.
    pub(crate) fn list_link(&self) -> &AtomicPtr<Task> {
        &self.link
    }

    /// Address of its arguments.
    pub fn argument(&self) -> *mut c_void {
        self.argument.get()
    }

    /// Makes the descriptor an implicit task of a region encountered by `parent`.
    pub fn begin_implicit(&self, parent: Option<&'static Task>, icv: &'static Icv, flags: u32) {
        self.parent.set(parent);
        self.icv.set(icv);
        self.flags.set(Flags::IMPLICIT | flags);
        self.group.set(None);
    }

    /// A child of `worker`'s current task, its arguments copied; nothing when memory ran out.
    #[inline]
    pub fn create(worker: &'static Worker, plan: &Blueprint) -> Option<&'static Task> {
        let task = Self::child(worker, plan.flags)?;
        task.body.set(Some(plan.body));
        task.copy_arguments(plan);
        tsan::release(task);
        Some(task)
    }

    /// Like [`Task::create`] for a task that runs in its creator's place, on the creator's data.
    pub fn create_undeferred(worker: &'static Worker, plan: &Blueprint) -> Option<&'static Task> {
        if plan.copier.is_some() {
            return Self::create(worker, plan);
        }
        let task = Self::child(worker, plan.flags)?;
        task.body.set(Some(plan.body));
        task.argument.set(plan.data);
        Some(task)
    }

    /// Runs `body` at once as a child of `worker`'s current task, on its stack and on the creator's data: `self` is the child's
    /// descriptor, free until now.
    #[inline(always)]
    pub fn run_undeferred(
        &'static self,
        worker: &'static Worker,
        body: Body,
        data: *mut c_void,
        flags: u32,
    ) {
        let parent = worker.current();
        self.begin_child(parent, flags);
        self.run_on_top(worker, parent, || self.invoke_on(body, data));
    }

    /// A child of `worker`'s current task without body and arguments.
    #[inline(always)]
    fn child(worker: &'static Worker, flags: u32) -> Option<&'static Task> {
        let task = worker.tasks().get()?;
        task.begin_child(worker.current(), flags);
        Some(task)
    }

    #[inline(always)]
    fn begin_child(&self, parent: &'static Task, flags: u32) {
        self.parent.set(Some(parent));
        self.icv.set(parent.icv.get());
        if parent.has(Flags::CONTROLLED) {
            parent.set(Flags::LENT);
        }
        let group = parent.group.get();
        self.group.set(group);
        let grouped = if group.is_some() { Flags::GROUPED } else { 0 };
        self.flags
            .set(flags | grouped | parent.flags.get() & Flags::UNDEFERS);
        if let Some(group) = group {
            group.enter();
        }
        parent.children.set(parent.children.get() + 1);
    }

    #[inline]
    fn copy_arguments(&self, plan: &Blueprint) {
        if plan.size > INLINE_BYTES || plan.align > 16 || plan.copier.is_some() {
            return self.copy_outsized(plan);
        }
        let to = self.arguments.0.get().cast::<u64>();
        self.argument.set(to.cast());
        let from = plan.data.cast::<u64>();
        for word in 0..plan.size / 8 {
            // SAFETY: `word` is inside the program's arguments; gcc aligns them to `plan.align`.
            let value = unsafe { from.wrapping_add(word).read_unaligned() };
            // SAFETY: `size` is at most `INLINE_BYTES`.
            unsafe { to.wrapping_add(word).write(value) };
        }
        let done = plan.size & !7;
        if done != plan.size {
            let (to, from) = (to.cast::<u8>(), plan.data.cast::<u8>());
            let (to, from) = (to.wrapping_add(done), from.wrapping_add(done));
            // SAFETY: the rest of the arguments, inside both blocks.
            unsafe { ptr::copy_nonoverlapping(from, to, plan.size - done) };
        }
    }

    #[cold]
    fn copy_outsized(&self, plan: &Blueprint) {
        let fits = plan.size <= INLINE_BYTES && plan.align <= 16;
        let to = if fits {
            self.arguments.0.get().cast::<c_void>()
        } else {
            memory::count_allocation();
            self.set(Flags::OUTSIZED);
            match System::allocate(plan.size, plan.align) {
                Some(block) => block.as_ptr().cast(),
                None => report::fatal(format_args!("no memory for a task's arguments")),
            }
        };
        self.argument.set(to);
        match plan.copier {
            // SAFETY: the program's copy constructor, destination and source as it expects.
            Some(copier) => unsafe { copier(to, plan.data) },
            // SAFETY: `size` bytes on both sides.
            None => unsafe {
                ptr::copy_nonoverlapping(plan.data.cast(), to.cast::<u8>(), plan.size)
            },
        }
    }

    /// Runs the body.
    #[inline]
    fn invoke(&'static self) {
        if let Some(body) = self.body.get() {
            self.invoke_on(body, self.argument.get());
        }
    }

    #[inline(always)]
    fn invoke_on(&'static self, body: Body, argument: *mut c_void) {
        self.stack_base.set(crate::arch::stack_pointer());
        if crate::cancel::is_enabled() {
            return self.invoke_unless_discarded(body, argument);
        }
        // SAFETY: the compiler's outlined function with the argument block it expects.
        unsafe { body(argument) };
    }

    #[cold]
    fn invoke_unless_discarded(&'static self, body: Body, argument: *mut c_void) {
        if !crate::cancel::is_discarded(Worker::current_here().team(), self) {
            // SAFETY: as in `invoke_on`.
            unsafe { body(argument) };
        }
    }

    /// True if the running code is still inside its body: not so after a `longjmp` out of it.
    fn is_entered(&self, fiber: &Fiber) -> bool {
        self.has(Flags::IMPLICIT)
            || fiber.is_running() && crate::arch::stack_pointer() < self.stack_base.get()
    }

    /// Runs it on its parent's stack: only where the parent can go on no earlier than its end. The worker that
    /// took it from a queue counts it as ended.
    #[inline]
    pub fn run_in_place(&'static self, worker: &'static Worker, parent: &'static Task) {
        self.run_on_top(worker, parent, || self.invoke());
    }

    #[inline(always)]
    fn run_on_top(
        &'static self,
        worker: &'static Worker,
        parent: &'static Task,
        invoke: impl FnOnce(),
    ) {
        worker.set_current(self);
        trace::start(worker, self);
        tsan::acquire(self);
        invoke();
        let worker = Worker::current_here();
        trace::end(worker, self);
        worker.set_current(parent);
        if !self.has(Flags::SLOW) || self.finish_slowly(worker) {
            parent.children.set(parent.children.get() - 1);
            self.retire(worker);
        }
    }

    /// Runs it on the scheduler's stack, which thereby becomes the task's own. Returns the fiber
    /// made ready for this very worker by its end.
    #[inline]
    pub fn run(&'static self, worker: &'static Worker) -> Option<&'static Fiber> {
        worker.set_current(self);
        trace::start(worker, self);
        tsan::acquire(self);
        self.invoke();
        let worker = Worker::current_here();
        trace::end(worker, self);
        let complete = !self.has(Flags::SLOW) || self.finish_slowly(worker);
        let woken = if complete {
            self.complete(worker)
        } else {
            None
        };
        worker.count_finished();
        woken
    }

    /// The body has ended and nothing else is awaited: tells the parent, from any stack.
    pub fn complete(&'static self, worker: &'static Worker) -> Option<&'static Fiber> {
        let parent = self.parent.get();
        self.retire(worker);
        parent.inspect(|parent| tsan::release(&parent.join));
        parent.and_then(|parent| parent.child_is_done(worker))
    }

    #[inline]
    fn child_is_done(&'static self, worker: &'static Worker) -> Option<&'static Fiber> {
        if !self.join.child_done() {
            return None;
        }
        if self.has(Flags::ZOMBIE) {
            worker.tasks().put(self);
            return None;
        }
        self.waiter.get().and_then(|fiber| worker.make_ready(fiber))
    }

    /// Gives the descriptor back, or leaves that to the last child.
    #[inline]
    fn retire(&'static self, worker: &'static Worker) {
        if self.children.get() == 0 {
            worker.tasks().put(self);
        } else {
            self.leave_children(worker);
        }
    }

    #[cold]
    fn leave_children(&'static self, worker: &'static Worker) {
        self.set(Flags::ZOMBIE);
        let children = self.children.get();
        self.children.set(0);
        if self.join.wait_for(children) {
            worker.tasks().put(self);
        }
    }

    /// The rarer duties at the end of a body. False if an event still has to be fulfilled.
    #[cold]
    fn finish_slowly(&'static self, worker: &'static Worker) -> bool {
        if self.has(Flags::PINNED) {
            worker.fiber().unpin(worker);
        }
        if self.has(Flags::OUTSIZED) {
            self.free_arguments();
        }
        if self.has(Flags::CONTROLLED) {
            crate::icv::give_back(worker, self);
        }
        if self.has(Flags::ORDERS_CHILDREN) {
            crate::depend::forget_children(worker, self);
        }
        if self.has(Flags::DETACHED) && !crate::detach::body_ended(self) {
            return false;
        }
        self.release_dependants(worker);
        true
    }

    /// Lets go of successors and taskgroup.
    pub fn release_dependants(&'static self, worker: &'static Worker) {
        if self.has(Flags::DEPENDENT) {
            crate::depend::complete(worker, self);
        }
        if self.has(Flags::GROUPED)
            && let Some(group) = self.group.get()
        {
            group.leave(worker);
        }
    }

    fn free_arguments(&self) {
        if let Some(block) = NonNull::new(self.argument.get().cast::<u8>()) {
            // SAFETY: allocated by `copy_outsized`; the body has ended.
            unsafe { System::release(block) };
        }
    }

    /// Waits until all children are complete.
    #[inline(always)]
    pub fn wait_for_children(&'static self, worker: &'static Worker) {
        if self.children.get() != 0 {
            self.wait_for_some(worker);
        }
    }

    /// First by running them on top, where that delays no other task, then by setting this stack aside.
    #[inline(never)]
    fn wait_for_some(&'static self, worker: &'static Worker) {
        if !self.is_entered(worker.fiber()) {
            report::fatal(format_args!(
                "taskwait in a task that was left by longjmp: a jump must not leave a task"
            ));
        }
        if worker.may_nest(self) && self.run_children(worker) {
            return;
        }
        if self.join.poll(self.children.get()) {
            self.children.set(0);
            return tsan::acquire(&self.join);
        }
        let worker = Worker::current_here();
        self.waiter.set(Some(worker.fiber()));
        worker.suspend(crate::worker::After::Join(self));
        self.children.set(0);
        tsan::acquire(&self.join);
    }

    /// Implicit tasks, when all tasks of the team have ended: there are no children left. Earlier,
    /// a child still to come would leave the counter below zero, and the last of the next ones
    /// awaited could not bring it to zero: no thread would wake the waiting task.
    #[inline]
    pub fn settle(&self) {
        if self.children.get() != 0 {
            self.children.set(0);
            self.join.reset();
        }
    }

    /// Runs children from the bottom of the deque. True when none is left.
    #[inline]
    fn run_children(&'static self, mut worker: &'static Worker) -> bool {
        trace::search(worker);
        while let Some(child) = worker.deque().take() {
            if !child
                .parent
                .get()
                .is_some_and(|parent| ptr::eq(parent, self))
            {
                worker.put_back(child);
                return false;
            }
            child.run_in_place(worker, self);
            Worker::current_here().count_finished();
            if self.children.get() == 0 {
                return true;
            }
            worker = Worker::current_here();
            trace::search(worker);
            if !worker.fiber().has_room() {
                return false;
            }
        }
        false
    }

    /// The scheduler has left this task's stack: publishes that it waits. Returns its fiber if
    /// there is nothing to wait for.
    pub fn publish_wait(&'static self) -> Option<&'static Fiber> {
        let waiter = self.waiter.get();
        if self.join.wait_for(self.children.get()) {
            waiter
        } else {
            None
        }
    }
}
