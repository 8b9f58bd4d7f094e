//! Kernel threads: how each gets its first worker, what stays when it ends, and `fork`.

#![expect(unsafe_code, reason = "shares a list under a lock")]

use crate::backend::{Backend, System};
use crate::environment;
use crate::exceptions;
use crate::fiber::Fiber;
use crate::icv;
use crate::lock;
use crate::memory;
use crate::spinlock::SpinLock;
use crate::stack_overflow;
use crate::task::Flags;
use crate::team::Team;
use crate::worker::Worker;
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering};

/// First workers of kernel threads that have ended, with their teams: for the next new thread.
struct Vacant {
    lock: SpinLock,
    first: Cell<Option<&'static Worker>>,
}

// SAFETY: `first` and the links behind it are only touched under the lock.
unsafe impl Sync for Vacant {}

static VACANT: Vacant = Vacant {
    lock: SpinLock::new(),
    first: Cell::new(None),
};

/// Initialises the runtime once: when the library is loaded, or at the first call.
pub fn start() {
    static STARTED: AtomicBool = AtomicBool::new(false);
    environment::read_once();
    System::prepare_fences();
    if !STARTED.swap(true, Ordering::Relaxed) {
        System::watch_fork(before_fork, after_fork_in_parent, after_fork_in_child);
    }
}

/// Gives the calling kernel thread a worker: a team of one, which leads others.
#[cold]
pub fn attach() -> &'static Worker {
    start();
    let worker = take_vacant().unwrap_or_else(first_worker);
    worker.native().set_bounds(System::own_stack());
    worker.exceptions.set(exceptions::of_this_thread());
    worker
        .implicit()
        .begin_implicit(None, icv::initial(), Flags::OUTSIDE);
    worker.set_current(worker.implicit());
    worker.set_here();
    System::watch_exit(leave);
    stack_overflow::watch();
    worker
}

impl Worker {
    /// The worker this code runs on now; ask again after anything that may set the stack aside.
    #[inline(always)]
    pub fn current_here() -> &'static Worker {
        Self::attached().unwrap_or_else(attach)
    }
}

fn first_worker() -> &'static Worker {
    let native = memory::place_or_die(Fiber::new(crate::backend::Stack { low: 0, high: 0 }));
    let worker = Team::first_of_new(native);
    worker.team().set_size(1);
    worker
}

fn take_vacant() -> Option<&'static Worker> {
    let guard = VACANT.lock.lock();
    let worker = VACANT.first.get();
    VACANT
        .first
        .set(worker.and_then(|worker| worker.vacant_next.take()));
    drop(guard);
    worker
}

/// The calling kernel thread ends: its first worker waits for another one.
extern "C" fn leave(_: *mut core::ffi::c_void) {
    let worker = Worker::current_here();
    if worker.team().level.get() != 0 {
        return;
    }
    let guard = VACANT.lock.lock();
    worker.vacant_next.set(VACANT.first.replace(Some(worker)));
    drop(guard);
}

extern "C" fn before_fork() {
    VACANT.lock.acquire();
    memory::lock_for_fork();
}

extern "C" fn after_fork_in_parent() {
    memory::unlock_after_fork();
    VACANT.lock.release();
}

/// Only the calling thread lives on: every team that it is in or leads has shrunk to it.
extern "C" fn after_fork_in_child() {
    VACANT.first.set(None);
    after_fork_in_parent();
    lock::forget_waiters();
    if crate::arch::current_worker().is_null() {
        return;
    }
    let worker = Worker::current_here();
    let enclosing = core::iter::successors(Some(worker), |w| w.team().encountered_by.get());
    for inside in enclosing {
        orphan(inside);
    }
    forget_helpers(worker);
}

/// The teams that `leader` leads, and those that their first workers lead, have no helpers.
fn forget_helpers(leader: &'static Worker) {
    for team in [leader.inner.get(), leader.initial.get()]
        .into_iter()
        .flatten()
    {
        team.set_live(1);
        if let Some(first) = team.worker(0) {
            first.forget_counts();
            forget_helpers(first);
        }
    }
}

/// `worker` is all that is left of its team.
fn orphan(worker: &'static Worker) {
    let team = worker.team();
    team.set_live(1);
    team.busy_helpers.store(0, Ordering::Relaxed);
    team.reserved.set(0);
    if team.size() > 1 {
        team.orphaned.store(true, Ordering::Relaxed);
        team.set_size(1);
        team.install(0, worker);
        worker.become_first();
    }
}
