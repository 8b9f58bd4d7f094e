//! Earliest deadline first
//!
//! Liu and Layland 1973. A thread's absolute deadline is set when it wakes; the order among equal
//! deadlines is unspecified but reproducible.

use crate::policy::interface::{Pick, Policy};
use crate::thread::{NEVER, Refusal, ThreadId, Time};
use crate::timeouts::Timeouts;

/// Relative deadline of a thread, cycles after each wake-up, not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(pub Time);

/// EDF policy for up to `N` threads.
#[derive(Clone, Debug)]
pub struct EarliestDeadlineFirst<const N: usize> {
    relative: [Deadline; N],
    absolute: [Time; N],
    /// Ready threads by absolute deadline: a time-out that is never expired, only looked at.
    ready: Timeouts<N>,
}

impl<const N: usize> Default for EarliestDeadlineFirst<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> EarliestDeadlineFirst<N> {
    /// A policy without threads.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            relative: [Deadline(0); N],
            absolute: [NEVER; N],
            ready: Timeouts::new(),
        }
    }

    /// Absolute deadline of the thread's current activation.
    #[must_use]
    pub fn deadline(&self, thread: ThreadId) -> Time {
        self.absolute[thread.index()]
    }
}

fn checked(parameters: Deadline) -> Result<Deadline, Refusal> {
    if parameters.0 == 0 {
        Err(Refusal::BadParameters)
    } else {
        Ok(parameters)
    }
}

impl<const N: usize> Policy for EarliestDeadlineFirst<N> {
    type Parameters = Deadline;

    fn add(&mut self, thread: ThreadId, parameters: Deadline, _now: Time) -> Result<(), Refusal> {
        self.relative[thread.index()] = checked(parameters)?;
        Ok(())
    }

    fn remove(&mut self, thread: ThreadId) {
        self.ready.disarm(thread);
    }

    fn set_parameters(
        &mut self,
        thread: ThreadId,
        parameters: Deadline,
        _now: Time,
    ) -> Result<(), Refusal> {
        self.relative[thread.index()] = checked(parameters)?;
        Ok(())
    }

    fn wakeup(&mut self, thread: ThreadId, now: Time) {
        let deadline = now.saturating_add(self.relative[thread.index()].0);
        self.absolute[thread.index()] = deadline;
        self.ready.arm(thread, deadline);
    }

    fn block(&mut self, thread: ThreadId, _now: Time) {
        self.ready.disarm(thread);
    }

    fn yield_now(&mut self, thread: ThreadId, now: Time) {
        self.wakeup(thread, now);
    }

    fn charge(&mut self, _thread: ThreadId, _from: Time, _until: Time) {}

    fn pick(&mut self, _now: Time) -> Option<Pick> {
        self.ready.first().map(|thread| Pick {
            thread,
            until: NEVER,
            server: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scheduler;

    #[test]
    fn earliest_runs() {
        let mut scheduler = Scheduler::<_, 4>::new(EarliestDeadlineFirst::<4>::new());
        let slow = scheduler.add(Deadline(100), 0).expect("room");
        let fast = scheduler.add(Deadline(30), 0).expect("room");
        scheduler.wakeup(slow, 0);
        assert_eq!(scheduler.decide(0).thread, Some(slow));
        scheduler.wakeup(fast, 10);
        assert_eq!(scheduler.decide(10).thread, Some(fast));
        scheduler.block(fast, NEVER, 20);
        assert_eq!(scheduler.decide(20).thread, Some(slow));
        scheduler.wakeup(fast, 90);
        assert_eq!(scheduler.decide(90).thread, Some(slow));
        assert_eq!(scheduler.add(Deadline(0), 0), Err(Refusal::BadParameters));
    }
}
