//! Idle workers: watching, yielding, parking.
//!
//! An idle worker watches at growing distances, so that busy workers keep their cache lines. Then it
//! offers its core to other kernel threads; then it parks. A team larger than the
//! machine skips the watching: the thread that could make progress may be waiting for this very core.

use crate::arch;
use crate::backend::{Backend, System};
use crate::trace;
use crate::worker::Worker;
use core::sync::atomic::{AtomicU32, Ordering};

/// `OMP_WAIT_POLICY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum WaitPolicy {
    /// Watches for a while, then parks.
    Default = 0,
    /// Never parks.
    Active = 1,
    /// Parks at once.
    Passive = 2,
}

static POLICY: AtomicU32 = AtomicU32::new(WaitPolicy::Default as u32);
/// Rounds of watching before the first yield; 0: by policy.
static SPIN_ROUNDS: AtomicU32 = AtomicU32::new(0);

/// Largest distance between two looks, in pauses.
const MAX_DISTANCE: u32 = 16;
/// Looks at a barrier before the first search.
const LOOKS: u32 = 8;
/// Rounds of [`Worker::watch_for`], each of some looks, before it gives up. Where there are more threads than cores it yields after
/// each look, because the thread that it waits for may need this very core.
const WATCH: u32 = 64;
/// Looks of a round.
const ROUND: u32 = 32;
/// Looks of a round where there are more threads than cores.
const ROUND_CROWDED: u32 = 4;
const YIELDS_CROWDED: u32 = 2_000;

/// Sets the policy of all workers.
pub fn set_policy(policy: WaitPolicy) {
    POLICY.store(policy as u32, Ordering::Relaxed);
}

/// The policy of all workers.
pub fn policy() -> WaitPolicy {
    match POLICY.load(Ordering::Relaxed) {
        1 => WaitPolicy::Active,
        2 => WaitPolicy::Passive,
        _ => WaitPolicy::Default,
    }
}

/// Sets how many rounds are watched before a worker yields (`GOMP_SPINCOUNT`).
pub fn set_spin_rounds(rounds: u32) {
    SPIN_ROUNDS.store(rounds.max(1), Ordering::Relaxed);
}

/// One spell of idleness.
#[derive(Debug)]
pub struct Idle {
    rounds: u32,
    distance: u32,
    watch: u32,
    yields: u32,
}

impl Idle {
    /// A worker has just found nothing.
    #[cold]
    pub fn new(worker: &'static Worker) -> Self {
        worker.report_finished();
        let crowded = worker.team().is_crowded();
        let chosen = SPIN_ROUNDS.load(Ordering::Relaxed);
        let (watch, yields) = match policy() {
            WaitPolicy::Active if crowded => (0, u32::MAX),
            WaitPolicy::Active => (u32::MAX, 0),
            WaitPolicy::Passive => (0, 0),
            WaitPolicy::Default if crowded => (0, YIELDS_CROWDED),
            WaitPolicy::Default if chosen == 0 => (System::WATCH_ROUNDS, System::YIELDS),
            WaitPolicy::Default => (chosen, System::YIELDS),
        };
        Self {
            rounds: 0,
            distance: 1,
            watch,
            yields,
        }
    }

    /// Lets a little time pass; longer the longer nothing happened.
    pub fn step(&mut self, worker: &'static Worker, condition: &dyn Fn() -> bool) {
        self.rounds = self.rounds.saturating_add(1);
        if self.rounds <= self.watch {
            for _ in 0..self.distance {
                arch::pause();
            }
            self.distance = (self.distance * 2).min(MAX_DISTANCE);
        } else if self.rounds - self.watch <= self.yields {
            System::yield_now();
        } else {
            trace::park(worker);
            worker.park(condition);
            trace::unpark(worker);
            self.rounds = 0;
        }
    }
}

impl Worker {
    /// Waits for about as long as a steal takes: where all threads do the same they come within that time, and a thread that looked for work
    /// at once would take from another what that is about to run, and from its cache what it counts.
    #[inline]
    pub(crate) fn look_briefly(&self, condition: &dyn Fn() -> bool) {
        if self.team().is_crowded() {
            return;
        }
        for _ in 0..LOOKS {
            if condition() {
                return;
            }
            arch::pause();
        }
    }

    /// Watches for something that another thread does soon, as long as there is no work that the worker could do meanwhile. False if
    /// the event did not come: the caller then has to suspend or to park.
    pub(crate) fn watch_for(&self, has_come: &dyn Fn() -> bool) -> bool {
        self.watch_from_afar(1, has_come)
    }

    /// As [`Worker::watch_for`]; the distance of its looks grows to `farthest` pauses.
    #[cold]
    pub(crate) fn watch_from_afar(&self, farthest: u32, has_come: &dyn Fn() -> bool) -> bool {
        let crowded = self.team().is_crowded();
        let rounds = match policy() {
            WaitPolicy::Passive => 1,
            _ => WATCH,
        };
        let looks = if crowded { ROUND_CROWDED } else { ROUND };
        let mut distance = 1;
        for _ in 0..rounds {
            for _ in 0..looks {
                if has_come() {
                    return true;
                }
                if crowded {
                    System::yield_now();
                } else {
                    (0..distance).for_each(|_| arch::pause());
                    distance = farthest.min(distance * 2);
                }
            }
            if self.sees_work() {
                return false;
            }
        }
        false
    }

    /// Parks unless `condition` holds or there is work. The heavy fence between the announcement
    /// and the last look lets the threads that change something do without any fence.
    fn park(&'static self, condition: &dyn Fn() -> bool) {
        let team = self.team();
        self.parked().store(1, Ordering::Relaxed);
        team.add_sleeper();
        System::heavy_fence();
        if condition() || self.sees_work() {
            self.parked().store(0, Ordering::Relaxed);
        }
        if team.orphaned.load(Ordering::Relaxed) {
            crate::report::fatal(format_args!(
                "a process that was forked inside a parallel region waits for a task or thread \
                 that fork did not copy"
            ));
        }
        while self.parked().load(Ordering::Acquire) == 1 {
            System::park(self.parked(), 1);
        }
        team.remove_sleeper();
    }

    /// Ends the sleep of this worker. True if it slept.
    pub(crate) fn wake(&self) -> bool {
        let parked = self.parked();
        if parked.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let (won, lost) = (Ordering::AcqRel, Ordering::Relaxed);
        let woke = parked.compare_exchange(1, 0, won, lost).is_ok();
        if woke {
            System::unpark(parked);
        }
        woke
    }
}

/// Rounds that a worker watches before it yields; 0 if the policy decides.
pub fn spin_rounds() -> u32 {
    SPIN_ROUNDS.load(Ordering::Relaxed)
}
