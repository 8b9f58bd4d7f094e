//! Dependences between sibling tasks.
//!
//! The parent alone orders its children: for every address it keeps the tasks of the latest
//! *generation* of accesses (one writer, or a set of readers, or of mutually exclusive writers, …)
//! and of the one before. A task waits for the generation before its own. Completion is lock-free:
//! successors are pushed on the predecessor's list until the predecessor closes it.
#![expect(unsafe_code, reason = "successor lists are linked by address")]

use crate::exclusion::Exclusion;
use crate::fiber::Fiber;
use crate::memory;
use crate::pool::{Pool, Slot};
use crate::report;
use crate::task::{Body, Flags, Task};
use crate::team::Team;
use crate::tsan;
use crate::worker::{After, Worker};
use core::cell::Cell;
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

pub(crate) use crate::depend_list::{Access, Kind};
pub(crate) use crate::depend_table::ChildOrder;

/// One task's part in the order of its siblings. Counted: by the task until it completes, and by
/// every generation that names it.
#[derive(Debug)]
pub struct Dependences {
    task: Cell<Option<&'static Task>>,
    waiter: Cell<Option<&'static Fiber>>,
    team: Cell<Option<&'static Team>>,
    unmet: AtomicU32,
    users: AtomicU32,
    successors: AtomicPtr<Edge>,
    pub(crate) exclusions: Cell<Option<&'static Edge>>,
    wrapped: Cell<(Option<Body>, *mut c_void)>,
    link: AtomicPtr<Dependences>,
    home: &'static Pool<Dependences>,
}

/// A link of a list: to a successor, to a member of a generation, or to an exclusion to hold.
#[derive(Debug)]
pub struct Edge {
    pub(crate) target: Cell<Option<&'static Dependences>>,
    pub(crate) exclusion: Cell<Option<&'static Exclusion>>,
    pub(crate) next: AtomicPtr<Edge>,
    home: &'static Pool<Edge>,
}

// SAFETY: cells are written before the task is queued and read after it was taken.
unsafe impl Sync for Dependences {}
// SAFETY: cells are written before the edge is published.
unsafe impl Sync for Edge {}

/// Marks the list of a task that has completed.
const CLOSED: *mut Edge = ptr::without_provenance_mut(1);

impl Slot for Dependences {
    fn link(&self) -> &AtomicPtr<Self> {
        &self.link
    }

    fn home(&self) -> &'static Pool<Self> {
        self.home
    }

    fn fresh(home: &'static Pool<Self>) -> Option<&'static Self> {
        memory::place(Self {
            task: Cell::new(None),
            waiter: Cell::new(None),
            team: Cell::new(None),
            unmet: AtomicU32::new(0),
            users: AtomicU32::new(0),
            successors: AtomicPtr::new(ptr::null_mut()),
            exclusions: Cell::new(None),
            wrapped: Cell::new((None, ptr::null_mut())),
            link: AtomicPtr::new(ptr::null_mut()),
            home,
        })
    }
}

impl Slot for Edge {
    fn link(&self) -> &AtomicPtr<Self> {
        &self.next
    }

    fn home(&self) -> &'static Pool<Self> {
        self.home
    }

    fn fresh(home: &'static Pool<Self>) -> Option<&'static Self> {
        memory::place(Self {
            target: Cell::new(None),
            exclusion: Cell::new(None),
            next: AtomicPtr::new(ptr::null_mut()),
            home,
        })
    }
}

impl Edge {
    /// The next link of a list that no thread changes any more.
    pub(crate) fn following(&self) -> Option<&'static Edge> {
        follow(self.next.load(Ordering::Relaxed))
    }

    pub(crate) fn set_following(&self, next: Option<&'static Edge>) {
        let next = next.map_or(ptr::null_mut(), |next| ptr::from_ref(next).cast_mut());
        self.next.store(next, Ordering::Relaxed);
    }

    pub(crate) fn make(worker: &'static Worker) -> &'static Edge {
        let edge = worker.edges().get();
        edge.unwrap_or_else(|| report::fatal(format_args!("no memory for a dependence")))
    }
}

fn follow(edge: *mut Edge) -> Option<&'static Edge> {
    // SAFETY: links hold `'static` edges or null.
    unsafe { edge.as_ref() }
}

impl Dependences {
    fn make(worker: &'static Worker, task: Option<&'static Task>) -> &'static Self {
        let Some(new) = worker.dependences().get() else {
            report::fatal(format_args!("no memory for a task's dependences"))
        };
        new.task.set(task);
        new.waiter.set(None);
        new.team.set(Some(worker.team()));
        new.unmet.store(1, Ordering::Relaxed);
        new.users.store(1, Ordering::Relaxed);
        new.successors.store(ptr::null_mut(), Ordering::Relaxed);
        new.exclusions.set(None);
        new
    }

    /// True if its task has completed.
    pub(crate) fn is_closed(&self) -> bool {
        let closed = self.successors.load(Ordering::Acquire) == CLOSED;
        if closed {
            tsan::acquire(&self.successors);
        }
        closed
    }

    /// Adds a reference.
    pub(crate) fn share(&self) {
        self.users.fetch_add(1, Ordering::Relaxed);
    }

    /// Removes a reference.
    pub(crate) fn drop_share(&'static self, worker: &'static Worker) {
        if self.users.fetch_sub(1, Ordering::AcqRel) == 1 {
            worker.dependences().put(self);
        }
    }

    /// `self` must wait for `predecessor`, unless that has completed.
    pub(crate) fn wait_for(&'static self, worker: &'static Worker, predecessor: &'static Self) {
        if ptr::eq(self, predecessor) || predecessor.is_closed() {
            return;
        }
        let edge = Edge::make(worker);
        edge.target.set(Some(self));
        self.unmet.fetch_add(1, Ordering::Relaxed);
        let mut head = predecessor.successors.load(Ordering::Acquire);
        while head != CLOSED {
            edge.next.store(head, Ordering::Relaxed);
            let new = ptr::from_ref(edge).cast_mut();
            let (won, lost) = (Ordering::AcqRel, Ordering::Acquire);
            match predecessor
                .successors
                .compare_exchange_weak(head, new, won, lost)
            {
                Ok(_) => return,
                Err(other) => head = other,
            }
        }
        tsan::acquire(&predecessor.successors);
        self.unmet.fetch_sub(1, Ordering::Relaxed);
        worker.edges().put(edge);
    }

    /// One thing less to wait for. True if it was the last.
    fn meet(&self) -> bool {
        tsan::release(&self.unmet);
        self.unmet.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// The waiting task's stack has been left. Returns its fiber if nothing is unmet.
    pub fn publish_wait(&self) -> Option<&'static Fiber> {
        let waiter = self.waiter.get();
        if self.meet() { waiter } else { None }
    }

    fn start(&'static self, worker: &'static Worker) {
        tsan::acquire(&self.unmet);
        if let Some(fiber) = self.waiter.get() {
            worker.make_ready_later(fiber);
        } else if let Some(task) = self.task.get() {
            tsan::release(task);
            release(worker, task, self.team.get());
        }
    }
}

/// Queues a task that has become ready.
fn release(worker: &'static Worker, task: &'static Task, team: Option<&'static Team>) {
    match team {
        Some(team) if !ptr::eq(team, worker.team()) => {
            team.urgent().push(task);
            team.wake_all();
        }
        Some(team) if task.priority.get() > 0 => {
            team.urgent().push(task);
            worker.notify();
        }
        _ => worker.enqueue(task),
    }
}

/// Puts a new task into its parent's order. If it is ready, queues it or, where no other worker could take it, runs it at once: tasks
/// then follow the program's order, for which its caches are best.
pub(crate) fn submit(
    worker: &'static Worker,
    task: &'static Task,
    accesses: impl Iterator<Item = Access>,
) {
    let dependences = Dependences::make(worker, Some(task));
    task.dependences.set(Some(dependences));
    task.set(Flags::DEPENDENT);
    let order = ChildOrder::of(worker, worker.current());
    for access in accesses {
        order.add(worker, dependences, access);
    }
    if dependences.exclusions.get().is_some() {
        dependences
            .wrapped
            .set(task.wrap(run_exclusively, ptr::from_ref(task).cast_mut().cast()));
    }
    if !dependences.meet() {
        return;
    }
    if worker.may_run_at_once() && !task.has(Flags::DETACHED) {
        tsan::acquire(&dependences.unmet);
        task.run_in_place(worker, worker.current());
        Worker::current_here().count_finished();
    } else {
        dependences.start(worker);
    }
}

/// Waits until a task with these accesses could start; leaves no trace in the order.
pub(crate) fn wait(accesses: impl Iterator<Item = Access>) {
    let worker = Worker::current_here();
    let Some(order) = worker.current().child_order.get() else {
        return;
    };
    let dependences = Dependences::make(worker, None);
    for access in accesses {
        order.look_up(worker, dependences, access);
    }
    dependences.waiter.set(Some(worker.fiber()));
    if dependences.unmet.load(Ordering::Acquire) != 1 {
        worker.suspend(After::Dependence(dependences));
    }
    tsan::acquire(&dependences.unmet);
    dependences.drop_share(Worker::current_here());
}

/// A task has completed: its successors wait for it no longer.
pub fn complete(worker: &'static Worker, task: &'static Task) {
    let Some(dependences) = task.dependences.take() else {
        return;
    };
    tsan::release(&dependences.successors);
    let mut next = follow(dependences.successors.swap(CLOSED, Ordering::AcqRel));
    while let Some(edge) = next {
        next = edge.following();
        if let Some(successor) = edge.target.get()
            && successor.meet()
        {
            successor.start(worker);
        }
        worker.edges().put(edge);
    }
    dependences.drop_share(worker);
}

/// The parent has ended: no more children will be ordered.
pub fn forget_children(worker: &'static Worker, parent: &'static Task) {
    if let Some(order) = parent.child_order.take() {
        order.clear(worker);
    }
    parent.clear(Flags::ORDERS_CHILDREN);
}

/// Body of a task that must hold exclusions: takes them, in the order of their addresses, runs the
/// program's body, gives them back.
///
/// # Safety
/// `task` is the descriptor whose body this is.
unsafe extern "C" fn run_exclusively(task: *mut c_void) {
    // SAFETY: `submit` passes the task's own descriptor.
    let Some(task) = (unsafe { task.cast::<Task>().as_ref() }) else {
        return;
    };
    let Some(dependences) = task.dependences.get() else {
        return;
    };
    let (body, argument) = dependences.wrapped.get();
    task.unwrap(body, argument);
    each_exclusion(dependences, Exclusion::enter);
    if let Some(body) = body {
        // SAFETY: the program's body with its own argument.
        unsafe { body(argument) };
    }
    each_exclusion(dependences, Exclusion::leave);
    crate::exclusion::forget(Worker::current_here(), dependences);
}

fn each_exclusion(dependences: &Dependences, act: fn(&Exclusion)) {
    let mut next = dependences.exclusions.get();
    while let Some(edge) = next {
        if let Some(exclusion) = edge.exclusion.get() {
            act(exclusion);
        }
        next = edge.following();
    }
}
