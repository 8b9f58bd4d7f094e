//! Schedules in virtual time, by the policies that run on target
//!
//! [`simulate`] drives `bulkhead_sched`'s scheduler with the VCPUs and tasks of a partition, from
//! event to event, and returns the responses of each task. Cores share nothing and are simulated
//! one after another; statistics are streamed, so that memory does not grow with the simulated
//! time. The same seed gives the same schedule. Executed intervals go to an [`Observer`], e.g.
//! [`gantt`].
#![forbid(unsafe_code)]

mod core_model;
pub mod gantt;
mod policy;
mod statistics;

pub use core_model::{Options, SetUpError, simulate_core};
pub use statistics::Statistics;

use bulkhead_model::timing::Timing;

/// An executed interval of a core, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Index of the task.
    pub task: usize,
    /// Core of the partition.
    pub core: usize,
    /// Start.
    pub from: u64,
    /// End.
    pub until: u64,
}

/// Is told what runs.
pub trait Observer {
    /// A task ran without a break.
    fn ran(&mut self, stretch: Stretch);
}

/// Looks at nothing.
impl Observer for () {
    fn ran(&mut self, _stretch: Stretch) {}
}

/// Result of a simulation.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// By task, in the order of the description.
    pub tasks: Vec<Statistics>,
    /// Decisions of the scheduler.
    pub events: u64,
}

/// Simulates all cores of a partition.
///
/// # Errors
/// [`SetUpError`] where a core has more VCPUs or tasks than a scheduler takes.
pub fn simulate(
    timing: &Timing,
    options: Options,
    observer: &mut impl Observer,
) -> Result<Outcome, SetUpError> {
    let mut outcome = Outcome {
        tasks: vec![Statistics::default(); timing.tasks.len()],
        events: 0,
    };
    let mut cores: Vec<_> = timing.vcpus.iter().map(|vcpu| vcpu.core).collect();
    cores.sort_unstable();
    cores.dedup();
    for core in cores {
        outcome.events += simulate_core(timing, core, options, &mut outcome.tasks, observer)?;
    }
    Ok(outcome)
}
