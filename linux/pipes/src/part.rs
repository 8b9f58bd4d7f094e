//! The stages of a pipe that run here: their common start, stop and end

use crate::plan::{Pipe, Placement};
use crate::reservation::Running;
use crate::stage::ticks_of;
use bulkhead_linux::ticks;
use bulkhead_stages::request::{LONGEST_WAIT_NS, Verb};
use std::sync::atomic::Ordering::Acquire;
use std::time::{Duration, Instant};

/// Messages leave a pipe within this and two periods of each stage for each message that may wait
/// there.
const END: Duration = Duration::from_secs(1);

/// Stages that begin and end together.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) stages: Vec<Running>,
    /// Indices of the stages out of which an end of task has to come: the last ones, or all stages
    /// if the pipe begins here, because the client does not see the end if it has no later stage.
    awaited: Vec<usize>,
}

/// Deadline of stages that are ending.
#[derive(Clone, Copy)]
pub(crate) struct End {
    /// Tick at which the last end of a task entered the pipe.
    at: u64,
    /// Time by which everything has left the pipe.
    until: Instant,
}

impl Part {
    pub(crate) fn new(pipe: &Pipe, stages: Vec<Running>) -> Self {
        let here = pipe.stages.iter().enumerate();
        let here = here.filter(|(_, stage)| stage.place != Placement::Elsewhere);
        let begins = here.clone().any(|(_, stage)| stage.from == 0);
        let awaited = here.filter(|(_, stage)| begins || stage.traced);
        Self {
            awaited: awaited.map(|(place, _)| place).collect(),
            stages,
        }
    }

    /// Deadline for everything that entered the pipe before tick `at`.
    pub(crate) fn end(&self, at: u64) -> End {
        let periods = self.stages.iter().map(Running::longest);
        let all = periods.fold(END, Duration::saturating_add);
        End {
            at,
            until: Instant::now() + all.min(Duration::from_nanos(LONGEST_WAIT_NS)),
        }
    }

    /// Returns whether everything has left, or the deadline is over.
    pub(crate) fn is_over(&self, end: &End) -> bool {
        let awaited = self
            .stages
            .iter()
            .filter(|one| self.awaited.contains(&one.place));
        let mut open = awaited.filter(|one| one.shared.ended.load(Acquire) < end.at);
        Instant::now() > end.until || open.all(Running::has_ended)
    }

    /// Starts first stages here, not before tick `at`, or ends their task.
    pub(crate) fn execute(&self, verb: Verb, at: u64) {
        let Some(one) = self.stages.first() else {
            return;
        };
        match verb {
            Verb::Stop => one.halt.stop(),
            _ => one
                .halt
                .start(at.min(ticks().saturating_add(ticks_of(LONGEST_WAIT_NS)))),
        }
        self.stages.iter().for_each(Running::wake);
    }

    /// Lets all threads end.
    pub(crate) fn retire(&self) {
        self.stages.iter().for_each(Running::retire);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    /// Indices of the stages out of which an end has to come, of `sample | filter | emit` with
    /// these stages here.
    fn awaited(here: &[usize]) -> Vec<usize> {
        let text = "each/sample,1,2,0,1,1,1/filter,1,2,1,2,1,1/emit,1,2,2,3,1,1";
        let plan: Plan = text.parse().expect("a plan");
        let mut pipe = plan.pipes.into_iter().next().expect("a pipe");
        pipe.stages[2].traced = true;
        let stages = pipe.stages.iter_mut().enumerate();
        stages
            .filter(|(place, _)| !here.contains(place))
            .for_each(|(_, stage)| stage.place = Placement::Elsewhere);
        Part::new(&pipe, Vec::new()).awaited
    }

    #[test]
    fn an_end_comes_out_of_last_stages_and_where_it_begins_out_of_all() {
        assert_eq!(awaited(&[1]), []);
        assert_eq!(awaited(&[1, 2]), [2]);
        assert_eq!(awaited(&[0, 1]), [0, 1]);
        assert_eq!(awaited(&[0, 2]), [0, 2]);
    }
}
