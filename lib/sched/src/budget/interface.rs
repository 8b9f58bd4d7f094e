//! Interface of budgets of processor time

use crate::thread::{NEVER, Refusal, Time};

/// A capacity of `capacity` cycles in every `period` cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// C, cycles.
    pub capacity: Time,
    /// T, cycles.
    pub period: Time,
}

impl Capacity {
    /// Checks 0 < C ≤ T and that no time of the machine's life overflows.
    ///
    /// # Errors
    /// [`Refusal::BadParameters`].
    pub const fn checked(self) -> Result<Self, Refusal> {
        let fits = self.capacity > 0 && self.capacity <= self.period;
        if fits && self.period <= Time::MAX >> 2 {
            Ok(self)
        } else {
            Err(Refusal::BadParameters)
        }
    }
}

/// The budget of a server.
pub trait Budget {
    /// The server has something to run from now on.
    fn ready(&mut self, now: Time);

    /// The server stops running: it blocked or was preempted.
    fn stop(&mut self, now: Time);

    /// The server has nothing to run from now on.
    fn idle(&mut self, now: Time) {
        self.stop(now);
    }

    /// The server executed in `from..until`.
    fn charge(&mut self, from: Time, until: Time);

    /// Cycles it may execute from now on without a break; 0 = exhausted.
    fn available(&self, now: Time) -> Time;

    /// When an exhausted budget becomes available again.
    fn next_replenishment(&self, now: Time) -> Time;

    /// By when what is available is due, in an EDF band; [`NEVER`] where the budget has no deadlines.
    fn deadline(&self) -> Time {
        NEVER
    }
}
