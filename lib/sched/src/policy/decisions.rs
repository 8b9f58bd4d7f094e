//! Comparison of decisions with those that a test expects

use super::Policy;
use crate::{Scheduler, ThreadId, Time};

/// Has the scheduler decide, compares thread and time with the expected ones, and runs the thread.
pub(super) fn run<P: Policy, const N: usize>(
    scheduler: &mut Scheduler<P, N>,
    now: Time,
    thread: Option<ThreadId>,
    timer: Time,
) {
    let decision = scheduler.decide(now);
    assert_eq!(
        (decision.thread, decision.timer),
        (thread, timer),
        "at {now}"
    );
    scheduler.dispatched(decision.thread, now);
}
