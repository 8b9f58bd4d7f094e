//! The budget of a stage: detects jobs that need more, and reacts
//!
//! Linux throttles a thread that uses up its reservation until the next period. It reports this at
//! most to the process, by a signal that does not name the thread. Therefore a stage asks the
//! kernel how much time its thread had used when a job was released and when it ended
//! (`doc/design/linux.md`).

use crate::plan::Stage;
use crate::stage::{compute, ticks_of};
use bulkhead_linux::{ticks, used_ns};
use bulkhead_stages::overrun::{self, Spent};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Checks of the thread's clock in a job that overruns on purpose: few, because the kernel
/// throttles at each, and the job is to be throttled only for its length.
const LOOKS: u64 = 8;
/// Iterations between two reads of the machine's counter.
const ROUNDS: u64 = 100;

/// State of a pipe here that all its stages poll.
#[derive(Clone, Debug, Default)]
pub(crate) struct Halt(Arc<Ends>);

#[derive(Debug, Default)]
struct Ends {
    halted: AtomicBool,
    retired: AtomicBool,
    stopped: AtomicBool,
    /// Tick before which the pipe does not begin.
    start: AtomicU64,
}

impl Halt {
    /// Halts the pipe at an overrun: messages in it are dropped, and no new ones are made.
    pub(crate) fn halt(&self) {
        self.0.halted.store(true, Relaxed);
    }

    pub(crate) fn is_halted(&self) -> bool {
        self.0.halted.load(Relaxed)
    }

    /// Lets first stages here send the end of a task and rest.
    pub(crate) fn stop(&self) {
        self.0.stopped.store(true, Relaxed);
    }

    /// Starts first stages here, not before tick `at`.
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

    /// Lets the threads end in any state.
    pub(crate) fn retire(&self) {
        self.0.retired.store(true, Relaxed);
    }

    /// Returns whether the pipe is not stopped.
    pub(crate) fn continues(&self) -> bool {
        !self.is_halted() && !self.is_stopped() && !self.is_retired()
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.0.retired.load(Relaxed)
    }
}

/// Budget of a running stage.
pub(crate) struct Budget {
    spent: Spent,
    /// Nanoseconds that a job needs which overruns on purpose: the budget, and half of a job's
    /// share of one.
    too_much: Option<u64>,
    jobs: u64,
}

impl Budget {
    /// The budget of a stage; `on_purpose`: some of its jobs overrun.
    pub(crate) fn new(stage: &Stage, on_purpose: bool) -> Self {
        let share = stage.runtime_ns / u64::from(stage.messages.max(1));
        Self {
            spent: Spent::new(stage.runtime_ns, ticks_of(stage.period_ns)),
            too_much: on_purpose.then_some(stage.runtime_ns + share / 2),
            jobs: 0,
        }
    }

    /// Begins a job that was released at tick `release`; the thread had used `used` nanoseconds by
    /// then.
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

    /// Ends a job before it sends. Returns whether it overran.
    pub(crate) fn overran(&mut self) -> bool {
        used_ns().is_some_and(|used| self.spent.overran(used))
    }
}

/// Computes until the thread has used `needed` nanoseconds, in steps of `piece`.
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

    /// Runs so many jobs of a stage with 20 ms in every 100 ms. Returns how many overran.
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
    fn a_sleeping_thread_uses_nothing() {
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
