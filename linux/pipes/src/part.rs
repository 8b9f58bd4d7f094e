//! The stages of a pipe that run here: when all that went in has come out of them, and their end

use crate::begin::Running;
use crate::plan::{Pipe, Place};
use crate::stage::ticks_of;
use bulkhead_linux::ticks;
use bulkhead_stages::request::{LONGEST_WAIT_NS, Verb};
use std::sync::atomic::Ordering::Acquire;
use std::time::{Duration, Instant};

/// What goes into a pipe before its end comes out of it within this and two of each stage's periods for each message that may wait there.
const END: Duration = Duration::from_secs(1);

/// They begin and end together.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) stages: Vec<Running>,
    /// Places of those out of which its end has to come: last ones of the pipe, or all where it begins here. Who asks does not see that where it has
    /// none behind them.
    awaited: Vec<usize>,
}

/// By when a part that is to end does.
#[derive(Clone, Copy)]
pub(crate) struct End {
    /// The tick at which the last end of a task went into the pipe.
    at: u64,
    /// By then all of it has come out.
    until: Instant,
}

impl Part {
    pub(crate) fn new(pipe: &Pipe, stages: Vec<Running>) -> Self {
        let here = pipe.stages.iter().enumerate();
        let here = here.filter(|(_, stage)| stage.place != Place::Elsewhere);
        let begins = here.clone().any(|(_, stage)| stage.from == 0);
        let awaited = here.filter(|(_, stage)| begins || stage.traced);
        Self {
            awaited: awaited.map(|(place, _)| place).collect(),
            stages,
        }
    }

    /// It is to end, once what went into the pipe before that tick has come out, or will not any more.
    pub(crate) fn end(&self, at: u64) -> End {
        let periods = self.stages.iter().map(Running::longest);
        let all = periods.fold(END, Duration::saturating_add);
        End {
            at,
            until: Instant::now() + all.min(Duration::from_nanos(LONGEST_WAIT_NS)),
        }
    }

    /// Whether it may.
    pub(crate) fn is_over(&self, end: &End) -> bool {
        let awaited = self
            .stages
            .iter()
            .filter(|one| self.awaited.contains(&one.place));
        let mut open = awaited.filter(|one| one.shared.ended.load(Acquire) < end.at);
        Instant::now() > end.until || open.all(Running::has_ended)
    }

    /// Has first stages here begin, not before a tick, or end a task.
    pub(crate) fn have(&self, verb: Verb, at: u64) {
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

    /// Has all threads end.
    pub(crate) fn retire(&self) {
        self.stages.iter().for_each(Running::retire);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    /// The places out of which an end has to come of `sample | filter | emit`, of which these are here.
    fn awaited(here: &[usize]) -> Vec<usize> {
        let text = "each/sample,1,2,0,1,1,1/filter,1,2,1,2,1,1/emit,1,2,2,3,1,1";
        let plan: Plan = text.parse().expect("a plan");
        let mut pipe = plan.pipes.into_iter().next().expect("a pipe");
        pipe.stages[2].traced = true;
        let stages = pipe.stages.iter_mut().enumerate();
        stages
            .filter(|(place, _)| !here.contains(place))
            .for_each(|(_, stage)| stage.place = Place::Elsewhere);
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
