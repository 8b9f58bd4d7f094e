//! Workers: the threads of a team, and how each finds its next task.
//!
//! Order of a search: fibers that only this worker may resume, its run queue (first in, first
//! out), its own deque (last in, first out), then every other worker once. A worker that finds
//! nothing watches, and parks when watching does not pay; see `idle`.
#![expect(unsafe_code, reason = "turns the thread pointer into a reference")]

pub(crate) mod schedule;
mod search;
mod throttle;

use crate::arch;
use crate::deque::Deque;
use crate::exceptions::Exceptions;
use crate::fiber::Fiber;
use crate::inbox::{FiberList, Inbox};
use crate::memory;
use crate::pool::Pool;
use crate::report;
use crate::spinlock::SpinLock;
use crate::task::{Body, Flags, Task};
use crate::taskgroup::Group;
use crate::team::Team;
use crate::tsan;
use crate::workshare::WorkShare;
use core::cell::Cell;
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Next activity of a worker.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// Runs a closure.
    Task(&'static Task),
    /// Resumes a fiber.
    Fiber(&'static Fiber),
}

/// Duty towards a fiber once its stack has been left.
#[derive(Clone, Copy, Debug)]
pub enum After {
    /// Nothing: another structure refers to the fiber.
    Nothing,
    /// Recycles the free fiber.
    Recycle(&'static Fiber),
    /// Lets it wait for the task's children.
    Join(&'static Task),
    /// Lets it wait for a taskgroup.
    Group(&'static Group),
    /// Releases the lock of the queue that has it.
    Unlock(&'static SpinLock),
    /// Resumes it when there is nothing better to do.
    Defer(&'static Fiber),
    /// Lets it wait for a dependence; see `depend`.
    Dependence(&'static crate::depend::Dependences),
}

/// A region's start, on a line of its own that the helper watches.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Order {
    /// Changes with every region that this helper takes part in.
    pub number: AtomicU32,
    /// Body of the region.
    pub body: Cell<Option<Body>>,
    /// Its argument.
    pub data: Cell<*mut c_void>,
}

#[repr(C, align(64))]
#[derive(Debug)]
struct ParkLine(AtomicU32);

/// A condition that a native fiber waits for, alive while that fiber is set aside.
type Condition = &'static dyn Fn() -> bool;

/// One thread of a team.
#[repr(C, align(64))]
pub struct Worker {
    /// Number of loops of the `ordered(n)` nest that it is in; 0 in a team of one thread. First, where `libgomp.c` reads it.
    pub(crate) nest: Cell<usize>,
    current: Cell<&'static Task>,
    fiber: Cell<&'static Fiber>,
    team: Cell<&'static Team>,
    index: Cell<u32>,
    tasking: Cell<bool>,
    after: Cell<After>,
    handed: Cell<Option<Work>>,
    condition: Cell<Option<Condition>>,
    mine: FiberList,
    held: FiberList,
    victim: Cell<u32>,
    /// When the last search began, for the trace.
    #[cfg(feature = "trace")]
    pub(crate) search_began: Cell<u64>,
    /// The number of ended tasks at the last report; see `idle`.
    pub(crate) reported: Cell<isize>,
    tasks: Pool<Task>,
    fibers: Pool<Fiber>,
    icvs: Pool<crate::icv::Icv>,
    groups: Pool<Group>,
    edges: Pool<crate::depend::Edge>,
    dependences: Pool<crate::depend::Dependences>,
    entries: Pool<crate::depend_table::Entry>,
    orders: Pool<crate::depend_table::ChildOrder>,
    exclusions: Pool<crate::exclusion::Exclusion>,
    work_shares: Pool<WorkShare>,
    deque: Deque<Task>,
    ready: Deque<Fiber>,
    deferred: Deque<Fiber>,
    inbox: Inbox,
    order: Order,
    parked: ParkLine,
    implicit: Cell<&'static Task>,
    /// Control variables that tasks of the region may use still; see `icv`.
    pub(crate) lent_icvs: Cell<Option<&'static crate::icv::Icv>>,
    /// Where its kernel thread keeps C++ exceptions, if the program has any.
    pub(crate) exceptions: Cell<Option<&'static Cell<Exceptions>>>,
    native: Cell<&'static Fiber>,
    /// The next one without a kernel thread.
    pub(crate) vacant_next: Cell<Option<&'static Worker>>,
    /// Its place, its part of the place list, and the place it was last moved to.
    pub(crate) place: Cell<Option<u32>>,
    pub(crate) partition: Cell<crate::affinity::Partition>,
    pub(crate) settled: Cell<Option<u32>>,
    /// The team it leads when it encounters a parallel construct.
    pub(crate) inner: Cell<Option<&'static Team>>,
    /// Team of the initial task that it runs for a `target` construct.
    pub(crate) initial: Cell<Option<&'static Team>>,
    /// Its kernel thread has ended, in good order.
    pub(crate) is_retired: AtomicBool,
    /// Number of `single` constructs it has met in this region.
    pub(crate) singles: Cell<u32>,
    /// The worksharing construct it is in, or was in last.
    pub(crate) share: Cell<Option<&'static WorkShare>>,
    pub(crate) loop_state: crate::workshare::LoopState,
}

// SAFETY: cells are the owning kernel thread's; what others touch is atomic. A team's leader sets
// `team`, `index` and the order before it publishes the order's number (release).
unsafe impl Sync for Worker {}

impl core::fmt::Debug for Worker {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "worker {}", self.index.get())
    }
}

impl Worker {
    /// A worker that belongs to `team` as number `index` and runs on `native`.
    pub fn create(team: &'static Team, index: u32, native: &'static Fiber) -> &'static Worker {
        let no_home: &'static Pool<Task> = memory::place_or_die(Pool::new());
        let implicit = memory::place_or_die(Task::new(no_home));
        memory::place_or_die(Self {
            nest: Cell::new(0),
            current: Cell::new(implicit),
            fiber: Cell::new(native),
            team: Cell::new(team),
            index: Cell::new(index),
            tasking: Cell::new(false),
            after: Cell::new(After::Nothing),
            handed: Cell::new(None),
            condition: Cell::new(None),
            mine: FiberList::new(),
            held: FiberList::new(),
            victim: Cell::new(index),
            #[cfg(feature = "trace")]
            search_began: Cell::new(0),
            reported: Cell::new(0),
            tasks: Pool::new(),
            fibers: Pool::new(),
            icvs: Pool::new(),
            groups: Pool::new(),
            edges: Pool::new(),
            dependences: Pool::new(),
            entries: Pool::new(),
            orders: Pool::new(),
            exclusions: Pool::new(),
            work_shares: Pool::new(),
            deque: Deque::new(memory::pointers),
            ready: Deque::new(memory::pointers),
            deferred: Deque::new(memory::pointers),
            inbox: Inbox::new(),
            order: Order {
                number: AtomicU32::new(0),
                body: Cell::new(None),
                data: Cell::new(ptr::null_mut()),
            },
            parked: ParkLine(AtomicU32::new(0)),
            implicit: Cell::new(implicit),
            lent_icvs: Cell::new(None),
            exceptions: Cell::new(None),
            native: Cell::new(native),
            vacant_next: Cell::new(None),
            place: Cell::new(None),
            partition: Cell::new(crate::affinity::Partition::ALL),
            settled: Cell::new(None),
            inner: Cell::new(None),
            initial: Cell::new(None),
            is_retired: AtomicBool::new(false),
            singles: Cell::new(0),
            share: Cell::new(None),
            loop_state: crate::workshare::LoopState::new(),
        })
    }

    /// The worker this code runs on now, if the kernel thread has one.
    #[inline(always)]
    pub fn attached() -> Option<&'static Worker> {
        // SAFETY: the thread's word is null or what `set_here` stored.
        unsafe { arch::current_worker().cast::<Worker>().as_ref() }
    }

    /// Makes this kernel thread run as `self`.
    #[inline(always)]
    pub fn set_here(&'static self) {
        arch::set_current_worker(ptr::from_ref(self).cast());
    }

    /// The task that runs on it.
    #[inline(always)]
    pub fn current(&self) -> &'static Task {
        self.current.get()
    }

    /// Says which task runs on it.
    #[inline(always)]
    pub fn set_current(&self, task: &'static Task) {
        self.current.set(task);
    }

    /// The fiber that it runs on.
    #[inline(always)]
    pub fn fiber(&self) -> &'static Fiber {
        self.fiber.get()
    }

    pub(crate) fn set_fiber(&self, fiber: &'static Fiber) {
        self.fiber.set(fiber);
    }

    /// Its kernel thread's own stack.
    pub fn native(&self) -> &'static Fiber {
        self.native.get()
    }

    /// Its team.
    #[inline(always)]
    pub fn team(&self) -> &'static Team {
        self.team.get()
    }

    /// The team has shrunk to this worker.
    pub(crate) fn become_first(&self) {
        self.index.set(0);
    }

    /// Its number in the team.
    #[inline(always)]
    pub fn index(&self) -> u32 {
        self.index.get()
    }

    /// Its implicit task.
    pub fn implicit(&self) -> &'static Task {
        self.implicit.get()
    }

    /// Pool of its tasks' descriptors.
    #[inline(always)]
    pub fn tasks(&'static self) -> &'static Pool<Task> {
        &self.tasks
    }

    /// Pool of private control variables.
    pub fn icvs(&'static self) -> &'static Pool<crate::icv::Icv> {
        &self.icvs
    }

    /// Pool of its taskgroups.
    pub fn groups(&'static self) -> &'static Pool<Group> {
        &self.groups
    }

    /// Pool of its worksharing constructs.
    pub(crate) fn work_shares(&'static self) -> &'static Pool<WorkShare> {
        &self.work_shares
    }

    /// Pool of its links of dependences.
    pub(crate) fn edges(&'static self) -> &'static Pool<crate::depend::Edge> {
        &self.edges
    }

    /// Pool of its parts in an order of dependences.
    pub(crate) fn dependences(&'static self) -> &'static Pool<crate::depend::Dependences> {
        &self.dependences
    }

    /// Pool of its addresses with dependences.
    pub(crate) fn entries(&'static self) -> &'static Pool<crate::depend_table::Entry> {
        &self.entries
    }

    /// Pool of its orders of children.
    pub(crate) fn orders(&'static self) -> &'static Pool<crate::depend_table::ChildOrder> {
        &self.orders
    }

    /// Pool of its exclusions.
    pub(crate) fn exclusions(&'static self) -> &'static Pool<crate::exclusion::Exclusion> {
        &self.exclusions
    }

    /// Its queue of tasks.
    #[inline(always)]
    pub fn deque(&self) -> &Deque<Task> {
        &self.deque
    }

    /// How it is told to start a region.
    pub fn order(&self) -> &Order {
        &self.order
    }

    pub(crate) fn parked(&self) -> &AtomicU32 {
        &self.parked.0
    }

    /// One more task has ended here.
    #[inline(always)]
    pub fn count_finished(&self) {
        tsan::release(self.team.get().phase());
        let finished = &self.deque.finished;
        finished.store(finished.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// Its team, which has no tasks, has shrunk to it: what it made and others ended, or the other way round, is not
    /// waited for.
    pub(crate) fn forget_counts(&self) {
        let created = self.deque.created.load(Ordering::Relaxed);
        self.deque.finished.store(created, Ordering::Relaxed);
    }

    /// One more task was made here.
    #[inline(always)]
    pub fn count_created(&self) {
        let created = &self.deque.created;
        created.store(created.load(Ordering::Relaxed) + 1, Ordering::Release);
        if !self.tasking.get() {
            self.tasking.set(true);
            self.team.get().start_tasking();
        }
    }

    /// True if it has made tasks in this region.
    pub(crate) fn set_tasking(&self, tasking: bool) {
        self.tasking.set(tasking);
    }

    /// True if a task that waits for its children may run them on top of itself. An implicit task
    /// may not (in a team): its stack cannot move, and a child that blocks there could not either.
    #[inline]
    pub fn may_nest(&self, task: &Task) -> bool {
        (!task.has(Flags::IMPLICIT) || self.team.get().size() == 1) && self.fiber.get().has_room()
    }

    /// Refuses to treat an explicit task as the thread itself.
    #[inline]
    pub fn check_at_barrier(&self, place: &str) {
        if !self.current.get().has(Flags::IMPLICIT) {
            report::fatal(format_args!(
                "{place} was reached inside an explicit task: it is nested wrongly, or the task \
                 was left by longjmp"
            ));
        }
    }
}
