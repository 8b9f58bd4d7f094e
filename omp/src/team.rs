//! Teams: the workers of a parallel region, kept for the next region of the same leader.
#![expect(unsafe_code, reason = "workers are reached through a growable table")]

use crate::backend::{Backend, System};
use crate::fiber::Fiber;
use crate::icv::Icv;
use crate::memory;
use crate::priority::Urgent;
use crate::task::Task;
use crate::worker::Worker;
use crate::workshare::WorkShare;
use core::cell::Cell;
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// Places for the workers; replaced by a larger one when the team grows.
struct Table {
    slots: &'static [AtomicPtr<Worker>],
}

#[repr(C, align(64))]
#[derive(Debug)]
struct Line<T>(T);

/// See the module. Fields that only change between regions come first.
#[repr(C, align(64))]
pub struct Team {
    table: AtomicPtr<Table>,
    size: AtomicU32,
    crowded: AtomicBool,
    live: AtomicU32,
    pub(crate) regions: Cell<u32>,
    /// The worker that encountered the construct, and goes on as the team's first.
    pub(crate) encountered_by: Cell<Option<&'static Worker>>,
    /// Number of enclosing parallel regions, this one included.
    pub(crate) level: Cell<u32>,
    /// Number of enclosing parallel regions of several threads.
    pub(crate) active_level: Cell<u32>,
    pub(crate) league: Cell<crate::league::League>,
    tasking: Line<AtomicBool>,
    sleepers: Line<AtomicU32>,
    pub(crate) arrived: Line2,
    pub(crate) generation: Line2,
    pub(crate) joined: Line2,
    /// Number of `single` constructs that have their thread.
    pub(crate) singles: AtomicU32,
    /// First worksharing construct of the region.
    pub(crate) first_share: AtomicPtr<WorkShare>,
    /// The process was forked inside the region: the other threads do not exist.
    pub(crate) orphaned: AtomicBool,
    /// Address that `copyprivate` broadcasts.
    pub(crate) broadcast: AtomicPtr<c_void>,
    /// `cancel parallel` has been met.
    pub(crate) cancelled: AtomicBool,
    /// Number of detached tasks with an ended body and an event that is not fulfilled.
    pub(crate) awaited_events: AtomicU32,
    /// A worker keeps control variables that tasks of the region may use still.
    pub(crate) has_lent: AtomicBool,
    /// Threads of the contention group besides the initial one, where it has a limit and this team its initial task.
    pub(crate) busy_helpers: AtomicU32,
    /// How many of them are this region's.
    pub(crate) reserved: Cell<u32>,
    /// Private copies of the region's task reductions.
    pub(crate) reductions: Cell<*mut usize>,
    urgent: Urgent,
    icv: Cell<Option<&'static Icv>>,
    /// Control variables where OMP_NUM_THREADS lists the level; kept from region to region.
    pub(crate) listed_icv: Cell<Option<&'static Icv>>,
    phases: (bool, bool),
}

/// A counter on a line of its own.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct Line2(pub(crate) AtomicU32);

// SAFETY: cells are written by the leader between regions, published by the orders' numbers.
unsafe impl Sync for Team {}

fn new_table(capacity: usize) -> Option<&'static Table> {
    memory::place(Table {
        slots: memory::pointers(capacity)?,
    })
}

impl Team {
    /// A team without workers.
    pub fn create() -> &'static Team {
        let zero = || Line2(AtomicU32::new(0));
        memory::place_or_die(Self {
            table: AtomicPtr::new(ptr::null_mut()),
            size: AtomicU32::new(0),
            crowded: AtomicBool::new(false),
            live: AtomicU32::new(0),
            regions: Cell::new(0),
            encountered_by: Cell::new(None),
            level: Cell::new(0),
            active_level: Cell::new(0),
            league: Cell::new(crate::league::League::NONE),
            tasking: Line(AtomicBool::new(false)),
            sleepers: Line(AtomicU32::new(0)),
            arrived: zero(),
            generation: zero(),
            joined: zero(),
            singles: AtomicU32::new(0),
            first_share: AtomicPtr::new(ptr::null_mut()),
            orphaned: AtomicBool::new(false),
            broadcast: AtomicPtr::new(ptr::null_mut()),
            cancelled: AtomicBool::new(false),
            awaited_events: AtomicU32::new(0),
            has_lent: AtomicBool::new(false),
            busy_helpers: AtomicU32::new(0),
            reserved: Cell::new(0),
            reductions: Cell::new(ptr::null_mut()),
            urgent: Urgent::new(),
            icv: Cell::new(None),
            listed_icv: Cell::new(None),
            phases: (false, false),
        })
    }

    /// The only worker of a new team, on `native`: until the team grows no other worker takes from its queue.
    pub(crate) fn first_of_new(native: &'static Fiber) -> &'static Worker {
        let team = Self::create();
        let worker = Worker::create(team, 0, native);
        worker.deque().set_private(true);
        team.install(0, worker);
        team.set_live(1);
        worker
    }

    fn table(&self) -> &'static [AtomicPtr<Worker>] {
        // SAFETY: null or a table that is never freed.
        unsafe { self.table.load(Ordering::Acquire).as_ref() }.map_or(&[], |table| table.slots)
    }

    /// Number of threads in the region.
    #[inline(always)]
    pub fn size(&self) -> u32 {
        self.size.load(Ordering::Relaxed)
    }

    pub(crate) fn set_size(&self, size: u32) {
        self.size.store(size, Ordering::Relaxed);
        self.crowded
            .store(size as usize > crate::icv::cores(), Ordering::Relaxed);
    }

    /// True if there are more threads than cores.
    pub fn is_crowded(&self) -> bool {
        self.crowded.load(Ordering::Relaxed)
    }

    /// Worker number `index`.
    #[inline]
    pub fn worker(&self, index: u32) -> Option<&'static Worker> {
        let slot = self.table().get(index as usize)?;
        // SAFETY: null or a worker, which is never freed.
        unsafe { slot.load(Ordering::Acquire).as_ref() }
    }

    /// Number of workers, those that sit out this region included.
    pub(crate) fn live(&self) -> u32 {
        self.live.load(Ordering::Relaxed)
    }

    pub(crate) fn set_live(&self, live: u32) {
        self.live.store(live, Ordering::Relaxed);
    }

    /// All workers: tasks of earlier, larger regions are in their counts.
    pub(crate) fn all_workers(&self) -> impl Iterator<Item = &'static Worker> {
        (0..self.live()).filter_map(|index| self.worker(index))
    }

    /// The workers of the region.
    pub fn workers(&self) -> impl Iterator<Item = &'static Worker> {
        let slots = self.table().iter().take(self.size() as usize);
        // SAFETY: null or a worker, which is never freed.
        slots.filter_map(|slot| unsafe { slot.load(Ordering::Acquire).as_ref() })
    }

    pub(crate) fn install(&self, index: u32, worker: &'static Worker) -> bool {
        if index as usize >= self.table().len() && !self.enlarge(index as usize + 1) {
            return false;
        }
        let Some(slot) = self.table().get(index as usize) else {
            return false;
        };
        slot.store(ptr::from_ref(worker).cast_mut(), Ordering::Release);
        true
    }

    fn enlarge(&self, capacity: usize) -> bool {
        let Some(table) = new_table(capacity.next_power_of_two().max(8)) else {
            return false;
        };
        for (new, old) in table.slots.iter().zip(self.table()) {
            new.store(old.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.table
            .store(ptr::from_ref(table).cast_mut(), Ordering::Release);
        true
    }

    /// Queue of tasks with a priority above the default.
    #[inline(always)]
    pub(crate) fn urgent(&self) -> &Urgent {
        &self.urgent
    }

    /// True if any task was made in this region.
    #[inline]
    pub(crate) fn is_tasking(&self) -> bool {
        self.tasking.0.load(Ordering::Relaxed)
    }

    pub(crate) fn start_tasking(&self) {
        if !self.is_tasking() {
            self.tasking.0.store(true, Ordering::SeqCst);
        }
    }

    pub(crate) fn stop_tasking(&self) {
        if self.is_tasking() {
            self.tasking.0.store(false, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn has_sleepers(&self) -> bool {
        self.sleepers.0.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn add_sleeper(&self) {
        self.sleepers.0.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn remove_sleeper(&self) {
        self.sleepers.0.fetch_sub(1, Ordering::SeqCst);
    }

    /// Wakes one parked worker, if there is one.
    #[cold]
    pub(crate) fn wake_one(&self) {
        let _ = self.workers().any(Worker::wake);
    }

    /// Wakes all parked workers.
    pub(crate) fn wake_all(&self) {
        System::light_fence();
        if self.has_sleepers() {
            self.workers().for_each(|worker| {
                worker.wake();
            });
        }
    }

    /// Wakes `worker` if it is parked.
    pub(crate) fn wake(&self, worker: &Worker) {
        System::light_fence();
        if self.has_sleepers() {
            worker.wake();
        }
    }

    /// Address that orders the accesses before the next barrier with those behind it; those of two
    /// successive barriers differ, because a thread may be at the second before all have left the
    /// first.
    #[inline(always)]
    pub(crate) fn phase(&self) -> &bool {
        let even = self.generation.0.load(Ordering::Relaxed) & 1 == 0;
        if even { &self.phases.0 } else { &self.phases.1 }
    }

    /// Control variables that the implicit tasks start with.
    pub(crate) fn icv_storage(&self) -> &Cell<Option<&'static Icv>> {
        &self.icv
    }

    /// The task that encountered the region's construct.
    pub fn parent_task(&self) -> Option<&'static Task> {
        self.encountered_by.get().map(Worker::current)
    }
}

impl core::fmt::Debug for Team {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "team of {} at level {}", self.size(), self.level.get())
    }
}
