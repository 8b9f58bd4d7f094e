//! Internal control variables.
//!
//! Every task points to the variables of its data environment; a task that changes one gets a copy
//! of its own first, so that children keep the values they were created with.
#![expect(unsafe_code, reason = "shares cells between a task and its children")]

use crate::backend::{Backend, System};
use crate::memory;
use crate::pool::{Pool, Slot};
use crate::report;
use crate::task::{Flags, Task};
use crate::team::Team;
use crate::worker::Worker;
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

/// Most threads of one team that the runtime tries to start.
pub(crate) const MAX_THREADS: u32 = 1 << 16;

/// `OMP_TARGET_OFFLOAD=mandatory`.
pub static OFFLOAD_MANDATORY: AtomicBool = AtomicBool::new(false);

/// Kind of a loop schedule, numbered as in `omp_sched_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Schedule {
    /// Equal parts, decided beforehand.
    Static = 1,
    /// First come, first served.
    Dynamic = 2,
    /// Dynamic with shrinking chunks.
    Guided = 3,
    /// The implementation's choice.
    Auto = 4,
}

/// `omp_sched_monotonic`, the modifier bit.
pub const MONOTONIC: u32 = 0x8000_0000;

impl Schedule {
    /// From `omp_sched_t`, modifier ignored.
    pub fn from_number(number: u32) -> Option<Self> {
        match number & !MONOTONIC {
            1 => Some(Self::Static),
            2 => Some(Self::Dynamic),
            3 => Some(Self::Guided),
            4 => Some(Self::Auto),
            _ => None,
        }
    }
}

/// The variables of one data environment.
#[derive(Debug)]
pub struct Icv {
    /// nthreads-var.
    pub threads: Cell<u32>,
    /// dyn-var.
    pub dynamic: Cell<bool>,
    /// run-sched-var: kind.
    pub schedule: Cell<Schedule>,
    /// run-sched-var: the monotonic modifier was given.
    pub monotonic: Cell<bool>,
    /// run-sched-var: chunk size, 0 for the default.
    pub chunk: Cell<i32>,
    /// max-active-levels-var.
    pub max_active_levels: Cell<u32>,
    /// thread-limit-var.
    pub thread_limit: Cell<u32>,
    /// default-device-var.
    pub device: Cell<i32>,
    /// def-allocator-var.
    pub allocator: Cell<usize>,
    link: AtomicPtr<Icv>,
    home: Option<&'static Pool<Icv>>,
}

// SAFETY: written by one task while it has no children; read by its children later.
unsafe impl Sync for Icv {}

impl Slot for Icv {
    fn link(&self) -> &AtomicPtr<Self> {
        &self.link
    }

    fn home(&self) -> &'static Pool<Self> {
        match self.home {
            Some(home) => home,
            None => report::fatal(format_args!(
                "internal error: the initial variables in a pool"
            )),
        }
    }

    fn fresh(home: &'static Pool<Self>) -> Option<&'static Self> {
        memory::place(Self {
            home: Some(home),
            ..Self::initial_values()
        })
    }
}

impl Icv {
    const fn initial_values() -> Self {
        Self {
            threads: Cell::new(1),
            dynamic: Cell::new(false),
            schedule: Cell::new(Schedule::Dynamic),
            monotonic: Cell::new(false),
            chunk: Cell::new(1),
            max_active_levels: Cell::new(1),
            thread_limit: Cell::new(u32::MAX),
            device: Cell::new(0),
            allocator: Cell::new(1),
            link: AtomicPtr::new(ptr::null_mut()),
            home: None,
        }
    }

    fn copy_from(&self, other: &Self) {
        self.threads.set(other.threads.get());
        self.dynamic.set(other.dynamic.get());
        self.schedule.set(other.schedule.get());
        self.monotonic.set(other.monotonic.get());
        self.chunk.set(other.chunk.get());
        self.max_active_levels.set(other.max_active_levels.get());
        self.thread_limit.set(other.thread_limit.get());
        self.device.set(other.device.get());
        self.allocator.set(other.allocator.get());
    }
}

static INITIAL: Icv = Icv::initial_values();

/// Number of cores, asked once: at start, before any thread was bound.
static CORES: AtomicUsize = AtomicUsize::new(0);

/// cancel-var.
pub static CANCELLATION: AtomicBool = AtomicBool::new(false);
/// max-task-priority-var.
pub static MAX_TASK_PRIORITY: AtomicI32 = AtomicI32::new(0);
/// nteams-var.
pub static TEAMS: AtomicU32 = AtomicU32::new(0);
/// teams-thread-limit-var.
pub static TEAMS_THREAD_LIMIT: AtomicU32 = AtomicU32::new(0);

/// `OMP_NUM_THREADS` of the deeper levels.
pub static THREADS_BY_LEVEL: [AtomicU32; 8] = [const { AtomicU32::new(0) }; 8];

/// The variables that the program starts with.
pub fn initial() -> &'static Icv {
    &INITIAL
}

/// Number of cores the process could use when it started.
#[inline]
pub fn cores() -> usize {
    match CORES.load(Ordering::Relaxed) {
        0 => {
            let cores = System::core_set().iter().count().max(1);
            CORES.store(cores, Ordering::Relaxed);
            cores
        }
        cores => cores,
    }
}

/// Gives the implicit tasks of `team` the variables of the task that encountered the region.
#[inline]
pub fn inherit(outer: &'static Worker, team: &'static Team) {
    let icv = outer.current().icv();
    let storage = team.icv_storage();
    let level = team.level.get() as usize;
    let listed = THREADS_BY_LEVEL
        .get(level)
        .map_or(0, |n| n.load(Ordering::Relaxed));
    if listed == 0 {
        storage.set(Some(icv));
    } else if let Some(copy) = team.listed_icv.get().or_else(|| outer.icvs().get()) {
        copy.copy_from(icv);
        copy.threads.set(listed);
        team.listed_icv.set(Some(copy));
        storage.set(Some(copy));
    }
}

/// Lets the current task change its variables.
pub fn modify(change: impl FnOnce(&Icv)) {
    let worker = Worker::current_here();
    let task = worker.current();
    if !task.has(Flags::CONTROLLED) || task.has(Flags::LENT) {
        let Some(copy) = worker.icvs().get() else {
            return;
        };
        copy.copy_from(task.icv());
        give_back(worker, task);
        task.set_icv(copy);
        task.set(Flags::CONTROLLED);
    }
    change(task.icv());
}

/// The task needs its variables no longer. Descendants, even of children that have ended, may use
/// them until the region ends.
pub fn give_back(worker: &'static Worker, task: &'static Task) {
    if task.has(Flags::CONTROLLED) {
        let icv = task.icv();
        if task.has(Flags::LENT) {
            let next = worker.lent_icvs.replace(Some(icv));
            let next = next.map_or(ptr::null_mut(), |next| ptr::from_ref(next).cast_mut());
            icv.link.store(next, Ordering::Relaxed);
            worker.team().has_lent.store(true, Ordering::Relaxed);
        } else {
            worker.icvs().put(icv);
        }
        task.clear(Flags::CONTROLLED | Flags::LENT);
    }
}

/// The leader, between regions, when all tasks of its team have ended: recycles what they used. Not later, and no helper does so for
/// itself: one that comes late to a region may have run tasks of it before.
pub fn take_back_lent(leader: &'static Worker) {
    let team = leader.team();
    if !team.has_lent.load(Ordering::Relaxed) {
        return;
    }
    team.has_lent.store(false, Ordering::Relaxed);
    for worker in team.all_workers() {
        while let Some(icv) = worker.lent_icvs.get() {
            // SAFETY: null or the next one lent.
            let next = unsafe { icv.link.load(Ordering::Relaxed).as_ref() };
            worker.lent_icvs.set(next);
            leader.icvs().put(icv);
        }
    }
}
