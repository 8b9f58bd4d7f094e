//! Interface of scheduling policies

use super::fixed_priority::Priority;
use super::server::ServerId;
use crate::thread::{NEVER, Refusal, ThreadId, Time};

/// The policy's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The thread to run.
    pub thread: ThreadId,
    /// Latest end, if no other event comes before ([`NEVER`]: no limit).
    pub until: Time,
    /// The server with the budget that ends then; `None` if no budget ends.
    pub server: Option<ServerId>,
}

/// A scheduling policy of one core.
pub trait Policy {
    /// Parameters of a thread: a priority, a deadline, a server.
    type Parameters: Copy;

    /// Takes in a thread, not ready.
    ///
    /// # Errors
    /// [`Refusal`], with nothing changed.
    fn add(
        &mut self,
        thread: ThreadId,
        parameters: Self::Parameters,
        now: Time,
    ) -> Result<(), Refusal>;

    /// Drops a thread that is not ready.
    fn remove(&mut self, thread: ThreadId);

    /// Changes a thread's parameters, ready or not.
    ///
    /// # Errors
    /// [`Refusal`], with nothing changed.
    fn set_parameters(
        &mut self,
        thread: ThreadId,
        parameters: Self::Parameters,
        now: Time,
    ) -> Result<(), Refusal>;

    /// Raises a thread to a priority ceiling where its own priority is lower; `None`: it has its own priority again, and
    /// runs before its equals.
    ///
    /// # Errors
    /// [`Refusal::BadParameters`]: threads have no priorities under this policy, or it has no such priority.
    fn set_ceiling(
        &mut self,
        _thread: ThreadId,
        _ceiling: Option<Priority>,
    ) -> Result<(), Refusal> {
        Err(Refusal::BadParameters)
    }

    /// Returns true if `thread`, were it ready, would be picked instead of `running`; `false` if that takes
    /// more than a look. Lets a queue hand over to its consumer without asking for a pick.
    fn outranks(&self, _thread: ThreadId, _running: ThreadId) -> bool {
        false
    }

    /// Returns true if the thread runs only while no thread does for which this is false. Its time-outs cause no decision
    /// while such a thread runs, so that it takes no time from one.
    fn is_background(&self, _thread: ThreadId) -> bool {
        false
    }

    /// The thread became ready.
    fn wakeup(&mut self, thread: ThreadId, now: Time);

    /// The thread is no longer ready.
    fn block(&mut self, thread: ThreadId, now: Time);

    /// The thread, still ready, lets its equals run.
    fn yield_now(&mut self, thread: ThreadId, now: Time);

    /// The thread, which was activated from outside, runs before its equals.
    fn favour(&mut self, _thread: ThreadId) {}

    /// The thread executed in `from..until`.
    fn charge(&mut self, thread: ThreadId, from: Time, until: Time);

    /// So many cycles up to `now` were spent on the thread's behalf before it could run (the top half
    /// of an interrupt): they are charged as its execution is.
    fn surcharge(&mut self, _thread: ThreadId, _cycles: Time, _now: Time) {}

    /// Picks the thread to run now.
    fn pick(&mut self, now: Time) -> Option<Pick>;

    /// When the answer may change without any call, beyond the pick's own limit.
    fn next_event(&self, _now: Time) -> Time {
        NEVER
    }
}
