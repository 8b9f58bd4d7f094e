//! What of the processor a component may use

use bulkhead_sched::budget::{Budget, Capacity, Sporadic};
use bulkhead_sched::{NEVER, Time};

/// Chunks of a budget that come back at different times; more preemptions in a period merge them.
const CHUNKS: usize = 8;

/// All there is, or so much in each period.
#[derive(Clone, Copy)]
pub(crate) enum Share {
    Whole,
    Limited(Sporadic<CHUNKS>),
}

impl Share {
    /// So much in each period, from `now` on; nothing where that is no budget.
    pub(crate) fn limited(capacity: Capacity, now: Time) -> Option<Self> {
        Sporadic::new(capacity, now).ok().map(Self::Limited)
    }
}

impl Budget for Share {
    fn ready(&mut self, now: Time) {
        if let Self::Limited(budget) = self {
            budget.ready(now);
        }
    }

    fn stop(&mut self, now: Time) {
        if let Self::Limited(budget) = self {
            budget.stop(now);
        }
    }

    fn idle(&mut self, now: Time) {
        if let Self::Limited(budget) = self {
            budget.idle(now);
        }
    }

    fn charge(&mut self, from: Time, until: Time) {
        if let Self::Limited(budget) = self {
            budget.charge(from, until);
        }
    }

    fn available(&self, now: Time) -> Time {
        match self {
            Self::Whole => NEVER,
            Self::Limited(budget) => budget.available(now),
        }
    }

    fn next_replenishment(&self, now: Time) -> Time {
        match self {
            Self::Whole => NEVER,
            Self::Limited(budget) => budget.next_replenishment(now),
        }
    }
}
