//! Parallel regions: fork and join.
//!
//! A leader keeps its helpers from region to region. Each helper watches one cache line of its
//! own, on which the leader writes body, argument and finally a new number: one transfer starts a
//! helper. At the end helpers count themselves out and watch again; only the leader waits.
#![expect(
    unsafe_code,
    reason = "calls the region's body; turns a thread's argument into its worker"
)]

use crate::backend::{Backend, System};
use crate::exceptions;
use crate::icv;
use crate::task::Body;
use crate::team::Team;
use crate::tsan;
use crate::worker::Worker;
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};

/// Shows that a region was begun and has to be ended, on the same thread.
#[derive(Clone, Copy, Debug)]
pub struct Leader(());

/// Runs `body` on a team of `requested` threads (0: the default number).
#[inline]
pub(crate) fn run(body: Body, data: *mut c_void, requested: u32, bind: u32) {
    let team = fork(body, data, requested, bind, &|_| ());
    // SAFETY: the compiler's outlined function with the argument it expects.
    unsafe { body(data) };
    join(team);
}

/// Starts a region; the caller then runs the body as the team's first thread. `prepare` sees the
/// team before its helpers start.
pub fn fork(
    body: Body,
    data: *mut c_void,
    requested: u32,
    bind: u32,
    prepare: &dyn Fn(&'static Worker),
) -> Leader {
    let outer = Worker::current_here();
    let team = match outer.inner.get() {
        Some(team) => team,
        None => first_team(outer),
    };
    let size = team_size(outer, team, requested);
    let leader = set_up(outer, team, size);
    if size > 1 {
        crate::affinity::place_team(outer, team, bind);
    }
    prepare(leader);
    start_helpers(team, body, data);
    leader.set_here();
    if leader.place.get() != leader.settled.get() {
        crate::affinity::settle_here(leader);
    }
    Leader(())
}

#[cold]
fn first_team(outer: &'static Worker) -> &'static Team {
    let native = crate::memory::place_or_die(crate::fiber::Fiber::new(outer.fiber().bounds()));
    let team = Team::first_of_new(native).team();
    outer.inner.set(Some(team));
    team
}

fn team_size(outer: &'static Worker, team: &'static Team, requested: u32) -> u32 {
    let icv = outer.current().icv();
    let outer_team = outer.team();
    if outer_team.active_level.get() >= icv.max_active_levels.get() {
        return 1;
    }
    let mut size = if requested == 0 {
        icv.threads.get()
    } else {
        requested
    };
    if icv.dynamic.get() {
        size = size.min(icv::cores() as u32);
    }
    let limit = icv.thread_limit.get();
    let size = if limit == u32::MAX {
        size.max(1)
    } else {
        reserve(outer_team, team, size, limit)
    };
    if size > team.live() {
        team.grow(size).max(1)
    } else {
        size
    }
}

/// The team of the initial task around `team`: its contention group's.
fn contention_group(team: &'static Team) -> &'static Team {
    let outwards = core::iter::successors(Some(team), |team| {
        team.encountered_by.get().map(Worker::team)
    });
    let mut outwards = outwards.skip_while(|team| team.level.get() != 0);
    outwards.next().unwrap_or(team)
}

/// Size of a region that wants `size` threads, where its contention group may have `limit` at a time.
#[cold]
fn reserve(outer: &'static Team, team: &'static Team, size: u32, limit: u32) -> u32 {
    let busy = &contention_group(outer).busy_helpers;
    let mut helpers = busy.load(Ordering::Relaxed);
    loop {
        let room = limit.saturating_sub(1).saturating_sub(helpers);
        let granted = size.saturating_sub(1).min(room);
        let (won, lost) = (Ordering::Relaxed, Ordering::Relaxed);
        match busy.compare_exchange(helpers, helpers + granted, won, lost) {
            Ok(_) => {
                team.reserved.set(granted);
                return granted + 1;
            }
            Err(other) => helpers = other,
        }
    }
}

/// The region that reserved threads has ended.
#[cold]
fn give_back_reserved(team: &'static Team) {
    let reserved = team.reserved.take();
    if let Some(outer) = team.encountered_by.get() {
        let busy = &contention_group(outer.team()).busy_helpers;
        busy.fetch_sub(reserved, Ordering::Relaxed);
    }
}

/// Runs `body` as an initial task of its own, on the caller's thread: outside of all regions that are around the caller, with the
/// control variables the program began with, and with at most `limit` threads in its contention group.
pub(crate) fn run_initial(body: Body, data: *mut c_void, limit: Option<u32>) {
    let outer = Worker::current_here();
    let team = outer.initial.get().unwrap_or_else(|| {
        let native = crate::memory::place_or_die(crate::fiber::Fiber::new(outer.fiber().bounds()));
        let team = Team::first_of_new(native).team();
        outer.initial.set(Some(team));
        team
    });
    let leader = begin_region(outer, team, 1);
    team.level.set(0);
    team.active_level.set(0);
    team.league.set(crate::league::League::NONE);
    team.icv_storage().set(Some(icv::initial()));
    leader.place.set(outer.place.get());
    leader.settled.set(outer.settled.get());
    begin(leader);
    leader.set_here();
    if let Some(limit) = limit {
        icv::modify(|icv| icv.thread_limit.set(limit.max(1)));
    }
    // SAFETY: the compiler's outlined function with the argument it expects.
    unsafe { body(data) };
    crate::barrier::wait_for_tasks(leader);
    crate::workshare::leave_last(leader);
    outer.set_here();
}

/// Ends the threads that `leader` keeps for its next regions; it is in none.
pub(crate) fn release_threads(leader: &'static Worker) {
    if !System::THREADS_END {
        return;
    }
    for team in [leader.inner.get(), leader.initial.get()]
        .into_iter()
        .flatten()
    {
        if let Some(first) = team.worker(0) {
            release_threads(first);
            release_helpers(team);
            first.forget_counts();
        }
    }
}

fn release_helpers(team: &'static Team) {
    let helpers = team.live() - 1;
    let number = team.regions.get().wrapping_add(1);
    team.regions.set(number);
    team.set_size(team.live());
    team.joined.0.store(0, Ordering::Relaxed);
    for helper in team.workers().skip(1) {
        helper.order().body.set(None);
        helper.order().number.store(number, Ordering::Release);
    }
    team.wake_all();
    while team.joined.0.load(Ordering::Acquire) != helpers {
        System::yield_now();
    }
    team.set_live(1);
    team.set_size(1);
}

/// The helper's thread ends, and before it those that it keeps.
#[cold]
fn retire(worker: &'static Worker) {
    release_threads(worker);
    worker.forget_counts();
    worker.is_retired.store(true, Ordering::Relaxed);
    worker.team().joined.0.fetch_add(1, Ordering::Release);
}

#[inline]
fn set_up(outer: &'static Worker, team: &'static Team, size: u32) -> &'static Worker {
    let leader = begin_region(outer, team, size);
    icv::inherit(outer, team);
    begin(leader);
    leader
}

#[inline]
fn begin_region(outer: &'static Worker, team: &'static Team, size: u32) -> &'static Worker {
    team.encountered_by.set(Some(outer));
    let enclosing = outer.team();
    team.level.set(enclosing.level.get() + 1);
    team.active_level
        .set(enclosing.active_level.get() + u32::from(size > 1));
    team.league.set(enclosing.league.get());
    team.set_size(size);
    team.stop_tasking();
    team.joined.0.store(0, Ordering::Relaxed);
    team.singles.store(0, Ordering::Relaxed);
    team.first_share.store(ptr::null_mut(), Ordering::Relaxed);
    if team.cancelled.load(Ordering::Relaxed) {
        team.cancelled.store(false, Ordering::Relaxed);
        team.arrived.0.store(0, Ordering::Relaxed);
    }
    let Some(leader) = team.worker(0) else {
        crate::report::fatal(format_args!("internal error: a team without its leader"))
    };
    leader.native().set_bounds(outer.fiber().bounds());
    leader.exceptions.set(outer.exceptions.get());
    icv::take_back_lent(leader);
    leader
}

/// Resets what counts within one region, and makes the implicit task current.
///
/// State that the implicit task left of the region before is cleared here and not at that region's end:
/// helpers do not wait for it, so children of theirs may end after they do and still count in the
/// descriptor. All have ended before the leader ordered this region.
#[inline]
fn begin(worker: &'static Worker) {
    let team = worker.team();
    worker.singles.set(0);
    worker.share.set(None);
    worker.nest.set(0);
    worker.set_tasking(false);
    let implicit = worker.implicit();
    implicit.settle();
    if implicit.has(crate::task::Flags::SLOW) {
        icv::give_back(worker, implicit);
        crate::depend::forget_children(worker, implicit);
    }
    if let Some(icv) = team.icv_storage().get() {
        let outside = if team.level.get() == 0 {
            crate::task::Flags::OUTSIDE
        } else {
            0
        };
        implicit.begin_implicit(team.parent_task(), icv, outside);
    }
    worker.set_current(implicit);
    if worker.place.get() != worker.settled.get() {
        crate::affinity::settle_here(worker);
    }
}

fn start_helpers(team: &'static Team, body: Body, data: *mut c_void) {
    let number = team.regions.get().wrapping_add(1);
    team.regions.set(number);
    tsan::release(&team.regions);
    for helper in team.workers().skip(1) {
        let order = helper.order();
        order.body.set(Some(body));
        order.data.set(data);
        order.number.store(number, Ordering::Release);
    }
    if team.size() > 1 {
        team.wake_all();
    }
}

/// Ends a region: returns when all its threads and tasks have ended.
#[inline]
pub fn join(_: Leader) {
    let leader = Worker::current_here();
    let leader = if leader.team().size() == 1 {
        join_alone(leader)
    } else {
        join_team(leader)
    };
    crate::workshare::leave_last(leader);
    let team = leader.team();
    if team.reserved.get() != 0 {
        give_back_reserved(team);
    }
    if let Some(outer) = team.encountered_by.get() {
        outer.set_here();
    }
}

/// For callers that do not carry the [`Leader`] across: the one of this thread.
pub fn join_current() {
    join(Leader(()));
}

fn join_alone(leader: &'static Worker) -> &'static Worker {
    if leader.team().is_tasking() {
        crate::barrier::wait_for_tasks(leader);
    }
    leader
}

fn join_team(leader: &'static Worker) -> &'static Worker {
    leader.check_at_barrier("the end of a parallel region");
    let team = leader.team();
    let helpers = team.size() - 1;
    let joined = || team.joined.0.load(Ordering::Acquire) == helpers;
    // A thread with tasks of its own has better things to do than to wait for the others.
    if leader.deque().is_empty() {
        leader.look_briefly(&joined);
    }
    leader.wait_until(&|| joined() && crate::barrier::is_quiescent(team));
    tsan::acquire(&team.joined);
    tsan::acquire(team.phase());
    leader
}

impl Team {
    /// Starts helpers until there are `size` workers. Returns how many there are.
    pub(crate) fn grow(&'static self, size: u32) -> u32 {
        if let Some(first) = self.worker(0) {
            first.deque().set_private(false);
        }
        while self.live() < size && self.add_helper(self.live()) {
            self.set_live(self.live() + 1);
        }
        self.live().min(size)
    }

    fn add_helper(&'static self, index: u32) -> bool {
        let Some(worker) = self.retired_or_new(index) else {
            return false;
        };
        let argument = ptr::from_ref(worker) as usize;
        let started = System::spawn(helper_main, argument, crate::fiber::stack_bytes());
        if let Err(error) = started {
            warn_no_thread(index, error.0);
        }
        started.is_ok()
    }

    /// Returns worker number `index`, which has no thread yet; reuses one with an ended thread.
    fn retired_or_new(&'static self, index: u32) -> Option<&'static Worker> {
        let retired = self.worker(index);
        if let Some(worker) =
            retired.filter(|worker| worker.is_retired.swap(false, Ordering::Relaxed))
        {
            worker.order().number.store(0, Ordering::Relaxed);
            return Some(worker);
        }
        let nowhere = crate::backend::Stack { low: 0, high: 0 };
        let worker = Worker::create(
            self,
            index,
            crate::memory::place(crate::fiber::Fiber::new(nowhere))?,
        );
        self.install(index, worker).then_some(worker)
    }
}

#[cold]
fn warn_no_thread(index: u32, error: i32) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        crate::report::warn(format_args!(
            "the system refused thread number {index} of a team (error {error}); \
             the team goes on with {index}"
        ));
    }
}

/// Body of a helper's kernel thread.
pub(crate) extern "C" fn helper_main(worker: usize) {
    // SAFETY: `Team::add_helper` passes the address of a worker, which is never freed.
    let Some(worker) = (unsafe { (worker as *const Worker).as_ref() }) else {
        return;
    };
    worker.set_here();
    worker.native().set_bounds(System::own_stack());
    worker.exceptions.set(exceptions::of_this_thread());
    crate::stack_overflow::watch();
    System::name_thread(worker.index());
    let mut seen = 0;
    loop {
        let number = &worker.order().number;
        let ordered = || number.load(Ordering::Acquire) != seen;
        worker.look_briefly(&ordered);
        worker.wait_until(&ordered);
        seen = number.load(Ordering::Acquire);
        if worker.order().body.get().is_none() {
            return retire(worker);
        }
        help(worker);
    }
}

fn help(worker: &'static Worker) {
    tsan::acquire(&worker.team().regions);
    begin(worker);
    let order = worker.order();
    if let Some(body) = order.body.get() {
        // SAFETY: the compiler's outlined function with the argument it expects.
        unsafe { body(order.data.get()) };
    }
    crate::workshare::leave_last(worker);
    let team = worker.team();
    if !worker.deque().is_empty() {
        // Tasks of its own come before the leader takes note of its end, and would steal them.
        worker.wait_until(&|| worker.deque().is_empty());
    }
    if team.orphaned.load(Ordering::Relaxed) {
        crate::report::fatal(format_args!(
            "a process that was forked inside a parallel region reached the region's end on a \
             thread whose leader it does not have"
        ));
    }
    tsan::release(&team.joined);
    team.joined.0.fetch_add(1, Ordering::Release);
    team.wake(team.worker(0).unwrap_or(worker));
}
