//! Share of the processor that a component may use

use bulkhead_sched::budget::{Budget, Capacity, Sporadic};
use bulkhead_sched::{NEVER, Time};

/// Maximum number of budget chunks with different replenishment times; more preemptions in a period
/// merge them.
const CHUNKS: usize = 8;

/// All time, or a budget per period.
#[derive(Clone, Copy)]
pub(crate) enum Share {
    Whole,
    Limited(Sporadic<CHUNKS>),
}

impl Share {
    /// A budget per period, from `now` on; nothing if it is not valid.
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
