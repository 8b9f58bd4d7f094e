//! A policy chosen by name, at start
//!
//! One type for programs that choose their policy in the description or in C. Each call is forwarded
//! to the chosen policy; parameters of threads that it does not use are ignored.

use super::{
    Deadline, EarliestDeadlineFirst, FixedPriority, Membership, NonPreemptive, Pick, Policy,
    Preemptive, Priority, RoundRobin, ServerId, Servers,
};
use crate::budget::{Budget, Capacity, ConstantBandwidth, Deferrable, Sporadic};
use crate::{Refusal, ThreadId, Time};

/// Parameters of a thread for any policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Task {
    /// Importance, 0 the most important, below 64; among servers, too.
    pub priority: u8,
    /// EDF: ticks from a wake-up to its deadline.
    pub deadline: Time,
    /// Servers: ticks of budget in each period.
    pub budget: Time,
    /// Servers: ticks of a period.
    pub period: Time,
}

/// Priority of servers with deadlines.
const BAND: Priority = Priority(0);

/// Chunks that a sporadic server keeps apart.
const CHUNKS: usize = 8;

/// The policies there are.
#[derive(Clone, Debug)]
pub enum Chosen<const N: usize> {
    /// `fixed-priority`.
    FixedPriority(FixedPriority<Preemptive, N>),
    /// `non-preemptive`.
    NonPreemptive(FixedPriority<NonPreemptive, N>),
    /// `round-robin`.
    RoundRobin(FixedPriority<RoundRobin, N>),
    /// `edf`.
    Edf(EarliestDeadlineFirst<N>),
    /// `deferrable`: each thread has a deferrable server of its own.
    Deferrable(Servers<Deferrable, N, N>),
    /// `sporadic`: each thread has a sporadic server of its own.
    Sporadic(Servers<Sporadic<CHUNKS>, N, N>),
    /// `constant-bandwidth`: the same with constant-bandwidth servers, by deadline.
    ConstantBandwidth(Servers<ConstantBandwidth, N, N>),
}

impl<const N: usize> Chosen<N> {
    /// Names of the policies.
    pub const NAMES: [&str; 7] = [
        "fixed-priority",
        "non-preemptive",
        "round-robin",
        "edf",
        "deferrable",
        "sporadic",
        "constant-bandwidth",
    ];

    /// Preemptive fixed priorities.
    #[must_use]
    pub const fn new() -> Self {
        Self::FixedPriority(FixedPriority::new(Preemptive))
    }

    /// Becomes the policy of that name, without threads; `quantum` is what equals take turns of in
    /// `round-robin`, ticks. Whether there is one. It is written where it stands, since stacks are small.
    pub fn choose(&mut self, name: &str, quantum: Time) -> bool {
        match name {
            "fixed-priority" => *self = const { Self::new() },
            "non-preemptive" => {
                *self = const { Self::NonPreemptive(FixedPriority::new(NonPreemptive)) };
            }
            "round-robin" => {
                *self = const { Self::RoundRobin(FixedPriority::new(RoundRobin(1))) };
            }
            "edf" => *self = const { Self::Edf(EarliestDeadlineFirst::new()) },
            "deferrable" => *self = const { Self::Deferrable(Servers::new(false)) },
            "sporadic" => *self = const { Self::Sporadic(Servers::new(false)) },
            "constant-bandwidth" => {
                *self = const { Self::ConstantBandwidth(Servers::new(false)) };
            }
            _ => return false,
        }
        match self {
            Self::RoundRobin(policy) => policy.set_rule(RoundRobin(quantum.max(1))),
            Self::ConstantBandwidth(policy) => {
                let _new = policy.add_band(BAND);
            }
            _ => {}
        }
        true
    }
}

impl<const N: usize> Default for Chosen<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// Calls the policy that was chosen.
macro_rules! ask {
    ($chosen:expr, $policy:ident => $call:expr) => {
        match $chosen {
            Self::FixedPriority($policy) => $call,
            Self::NonPreemptive($policy) => $call,
            Self::RoundRobin($policy) => $call,
            Self::Edf($policy) => $call,
            Self::Deferrable($policy) => $call,
            Self::Sporadic($policy) => $call,
            Self::ConstantBandwidth($policy) => $call,
        }
    };
}

/// Asks the chosen policy for `add` or `set_parameters` with its own kind of parameters.
macro_rules! with_parameters {
    ($chosen:expr, $call:ident, $thread:expr, $task:expr, $now:expr) => {{
        let priority = Priority($task.priority);
        let limits = Capacity {
            capacity: $task.budget,
            period: $task.period,
        };
        let bad = |_| Refusal::BadParameters;
        match $chosen {
            Self::FixedPriority(policy) => policy.$call($thread, priority, $now),
            Self::NonPreemptive(policy) => policy.$call($thread, priority, $now),
            Self::RoundRobin(policy) => policy.$call($thread, priority, $now),
            Self::Edf(policy) => policy.$call($thread, Deadline($task.deadline), $now),
            Self::Deferrable(policy) => {
                let budget = Deferrable::new(limits, $now).map_err(bad)?;
                let membership = own_server(policy, $thread, budget, priority, $now)?;
                policy.$call($thread, membership, $now)
            }
            Self::Sporadic(policy) => {
                let budget = Sporadic::new(limits, $now).map_err(bad)?;
                let membership = own_server(policy, $thread, budget, priority, $now)?;
                policy.$call($thread, membership, $now)
            }
            Self::ConstantBandwidth(policy) => {
                let budget = ConstantBandwidth::new(limits, $now).map_err(bad)?;
                let membership = own_server(policy, $thread, budget, BAND, $now)?;
                policy.$call($thread, membership, $now)
            }
        }
    }};
}

/// The thread's own server, the one of its index, with a fresh budget.
fn own_server<B: Budget + Copy, const N: usize>(
    policy: &mut Servers<B, N, N>,
    thread: ThreadId,
    budget: B,
    priority: Priority,
    now: Time,
) -> Result<Membership, Refusal> {
    let server = ServerId(thread.0);
    // Indices are given out lowest first, to threads and to servers.
    if policy.budget(server).is_none() {
        return policy.add_server(budget, priority).map(Membership);
    }
    let ready = policy.is_ready(server);
    if ready {
        policy.block(thread, now);
    }
    policy.change(server, priority, |old| *old = budget, now);
    if ready {
        policy.wakeup(thread, now);
    }
    Ok(Membership(server))
}

impl<const N: usize> Policy for Chosen<N> {
    type Parameters = Task;

    fn add(&mut self, thread: ThreadId, task: Task, now: Time) -> Result<(), Refusal> {
        with_parameters!(self, add, thread, task, now)
    }

    fn remove(&mut self, thread: ThreadId) {
        ask!(self, policy => policy.remove(thread));
    }

    fn set_parameters(&mut self, thread: ThreadId, task: Task, now: Time) -> Result<(), Refusal> {
        with_parameters!(self, set_parameters, thread, task, now)
    }

    fn outranks(&self, thread: ThreadId, running: ThreadId) -> bool {
        ask!(self, policy => policy.outranks(thread, running))
    }

    fn wakeup(&mut self, thread: ThreadId, now: Time) {
        ask!(self, policy => policy.wakeup(thread, now));
    }

    fn block(&mut self, thread: ThreadId, now: Time) {
        ask!(self, policy => policy.block(thread, now));
    }

    fn yield_now(&mut self, thread: ThreadId, now: Time) {
        ask!(self, policy => policy.yield_now(thread, now));
    }

    fn charge(&mut self, thread: ThreadId, from: Time, until: Time) {
        ask!(self, policy => policy.charge(thread, from, until));
    }

    fn surcharge(&mut self, thread: ThreadId, cycles: Time, now: Time) {
        ask!(self, policy => policy.surcharge(thread, cycles, now));
    }

    fn pick(&mut self, now: Time) -> Option<Pick> {
        ask!(self, policy => policy.pick(now))
    }

    fn next_event(&self, now: Time) -> Time {
        ask!(self, policy => policy.next_event(now))
    }
}
