//! A stage's budget: which of its jobs need more, and what is done about it
//!
//! Linux cuts who uses up a reservation, and lets it go on with the next one. It tells nobody but, where that is asked for, the process, by a
//! signal that does not say which thread it was. So a stage asks the kernel what its thread used until a job was
//! released, and until it ended (`doc/design/linux.md`).

use crate::plan::Stage;
use crate::stage::{compute, ticks_of};
use bulkhead_linux::{ticks, used_ns};
use bulkhead_stages::overrun::{self, Spent};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Looks at the thread's clock while a job overruns on purpose: few, since the kernel cuts at each, and it is to do so by itself.
const LOOKS: u64 = 8;
/// Rounds that are computed between two looks at the machine's counter.
const ROUNDS: u64 = 100;

/// What ends a pipe here: all its stages look at it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Halt(Arc<Ends>);

#[derive(Debug, Default)]
struct Ends {
    halted: AtomicBool,
    retired: AtomicBool,
    stopped: AtomicBool,
    /// The tick before which it does not begin.
    start: AtomicU64,
}

impl Halt {
    /// It stopped itself: what is under way in it here is dropped, and nothing is made.
    pub(crate) fn halt(&self) {
        self.0.halted.store(true, Relaxed);
    }

    pub(crate) fn is_halted(&self) -> bool {
        self.0.halted.load(Relaxed)
    }

    /// First stages here send the end of a task and rest.
    pub(crate) fn stop(&self) {
        self.0.stopped.store(true, Relaxed);
    }

    /// They begin, not before a tick.
    pub(crate) fn start(&self, at: u64) {
        self.0.start.store(at, Relaxed);
        self.0.stopped.store(false, Release);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.0.stopped.load(Acquire)
    }

    pub(crate) fn starts(&self) -> u64 {
        self.0.start.load(Relaxed)
    }

    /// Its threads end, whatever comes.
    pub(crate) fn retire(&self) {
        self.0.retired.store(true, Relaxed);
    }

    /// Whether first stages here wait for what comes.
    pub(crate) fn goes_on(&self) -> bool {
        !self.is_halted() && !self.is_stopped() && !self.is_retired()
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.0.retired.load(Relaxed)
    }
}

/// The budget of a stage that runs.
pub(crate) struct Budget {
    spent: Spent,
    /// What a job that overruns on purpose needs, if any does, nanoseconds: its budget, and half of a job's share of one besides.
    too_much: Option<u64>,
    jobs: u64,
}

impl Budget {
    /// Of a stage of which some jobs overrun on purpose, or none.
    pub(crate) fn new(stage: &Stage, on_purpose: bool) -> Self {
        let share = stage.runtime_ns / u64::from(stage.messages.max(1));
        Self {
            spent: Spent::new(stage.runtime_ns, ticks_of(stage.period_ns)),
            too_much: on_purpose.then_some(stage.runtime_ns + share / 2),
            jobs: 0,
        }
    }

    /// A job begins that was released at a tick, when its thread had used so much.
    pub(crate) fn begin(&mut self, release: u64, used: Option<u64>) {
        self.jobs += 1;
        let Some(used) = used else {
            return;
        };
        self.spent.released(release, used);
        if let Some(needed) = self.too_much
            && overrun::is_on_purpose(self.jobs)
        {
            use_up(used.saturating_add(needed), needed / LOOKS);
        }
    }

    /// The job has ended, and sends next: whether it overran.
    pub(crate) fn overran(&mut self) -> bool {
        used_ns().is_some_and(|used| self.spent.overran(used))
    }
}

/// Computes until the thread has used so many nanoseconds, in pieces of so many.
fn use_up(needed: u64, piece: u64) {
    while used_ns().is_some_and(|used| used < needed) {
        let until = ticks().saturating_add(ticks_of(piece));
        while ticks() < until {
            compute(ROUNDS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    /// Of these jobs of a stage with 20 ms in every 100 ms, how many overran.
    fn overruns(on_purpose: bool, jobs: u64) -> u64 {
        let plan: Plan = "each/emit,20000000,100000000,0,1,1,1"
            .parse()
            .expect("plan");
        let mut budget = Budget::new(&plan.pipes[0].stages[0], on_purpose);
        let overran = (1..=jobs).map(|job| {
            budget.begin(job * ticks_of(100_000_000), used_ns());
            u64::from(budget.overran())
        });
        overran.sum()
    }

    #[test]
    fn the_processor_time_of_a_thread_tells_which_jobs_overrun() {
        assert_eq!(overruns(true, 99), 0);
        assert_eq!(overruns(true, 200), 2);
        assert_eq!(overruns(false, 200), 0);
    }

    #[test]
    fn who_sleeps_uses_nothing() {
        let plan: Plan = "each/emit,20000000,100000000,0,1,1,1"
            .parse()
            .expect("plan");
        let mut budget = Budget::new(&plan.pipes[0].stages[0], false);
        budget.begin(0, used_ns());
        std::thread::sleep(std::time::Duration::from_millis(40));
        assert!(!budget.overran());
    }

    #[test]
    fn a_pipe_is_halted_for_all_that_know_it() {
        let halt = Halt::default();
        let other = halt.clone();
        assert!(!other.is_halted());
        halt.halt();
        assert!(other.is_halted());
    }
}
