//! A policy chosen by name, at start
//!
//! One type for programs that choose their policy in the description or in C. Each call is forwarded
//! to the chosen policy; parameters of threads that it does not use are ignored.

use crate::budget::{Budget, Capacity, ConstantBandwidth, Deferrable, Sporadic};
use crate::policy::edf::{Deadline, EarliestDeadlineFirst};
use crate::policy::fixed_priority::{
    FixedPriority, NonPreemptive, Preemptive, Priority, RoundRobin, Rule,
};
use crate::policy::interface::{Pick, Policy};
use crate::policy::server::{Membership, ServerId, Servers};
use crate::thread::{Refusal, ThreadId, Time};

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

/// Priority of the band in which servers are ordered by deadline.
const BAND: Priority = Priority(0);

/// Chunks that a sporadic server keeps apart.
const CHUNKS: usize = 8;

/// Declares [`Chosen`] with a line per policy: variant, name, type, initial value.
macro_rules! policies {
    (($dollar:tt) $($(#[$doc:meta])* $variant:ident $name:literal $policy:ty = $new:expr;)*) => {
        /// Calls the policy that was chosen.
        macro_rules! forward {
            ($dollar chosen:expr, $dollar policy:ident => $dollar call:expr) => {
                match $dollar chosen { $(Chosen::$variant($dollar policy) => $dollar call,)* }
            };
        }

        /// The policies there are.
        #[derive(Clone, Debug)]
        pub enum Chosen<const N: usize> {
            $($(#[$doc])* $variant($policy),)*
        }

        impl<const N: usize> Chosen<N> {
            /// Names of the policies.
            pub const NAMES: [&str; [$($name),*].len()] = [$($name),*];

            /// Becomes the policy of that name, without threads; `quantum` is the ticks after which equals take
            /// turns in `round-robin`. Returns whether there is such a policy. The policy is written in place,
            /// because stacks are small.
            pub fn choose(&mut self, name: &str, quantum: Time) -> bool {
                match name {
                    $($name => *self = const { Self::$variant($new) },)*
                    _ => return false,
                }
                forward!(self, policy => policy.prepare(quantum));
                true
            }
        }
    };
}

policies! {
    ($)
    /// `fixed-priority`.
    FixedPriority "fixed-priority" FixedPriority<Preemptive, N> = FixedPriority::new(Preemptive);
    /// `non-preemptive`.
    NonPreemptive "non-preemptive" FixedPriority<NonPreemptive, N> = FixedPriority::new(NonPreemptive);
    /// `round-robin`.
    RoundRobin "round-robin" FixedPriority<RoundRobin, N> = FixedPriority::new(RoundRobin(1));
    /// `edf`.
    Edf "edf" EarliestDeadlineFirst<N> = EarliestDeadlineFirst::new();
    /// `deferrable`: each thread has a deferrable server of its own.
    Deferrable "deferrable" Servers<Deferrable, N, N> = Servers::new(false);
    /// `sporadic`: each thread has a sporadic server of its own.
    Sporadic "sporadic" Servers<Sporadic<CHUNKS>, N, N> = Servers::new(false);
    /// `constant-bandwidth`: each thread has a constant-bandwidth server of its own, by deadline.
    ConstantBandwidth "constant-bandwidth" Servers<ConstantBandwidth, N, N> = Servers::new(false);
}

impl<const N: usize> Chosen<N> {
    /// Preemptive fixed priorities.
    #[must_use]
    pub const fn new() -> Self {
        Self::FixedPriority(FixedPriority::new(Preemptive))
    }
}

impl<const N: usize> Default for Chosen<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// How a policy is set up, and what it takes of a [`Task`].
trait Choice: Policy {
    /// Sets up the policy before it has threads.
    fn prepare(&mut self, _quantum: Time) {}

    /// Returns the policy's parameters of a thread.
    fn parameters(
        &mut self,
        thread: ThreadId,
        task: &Task,
        now: Time,
    ) -> Result<Self::Parameters, Refusal>;
}

impl<R: Equals, const N: usize> Choice for FixedPriority<R, N> {
    fn prepare(&mut self, quantum: Time) {
        self.set_rule(R::with_quantum(quantum));
    }

    fn parameters(&mut self, _: ThreadId, task: &Task, _: Time) -> Result<Priority, Refusal> {
        Ok(Priority(task.priority))
    }
}

/// A rule among threads of equal priority that a quantum describes.
trait Equals: Rule + Copy {
    fn with_quantum(quantum: Time) -> Self;
}

impl Equals for Preemptive {
    fn with_quantum(_: Time) -> Self {
        Self
    }
}

impl Equals for NonPreemptive {
    fn with_quantum(_: Time) -> Self {
        Self
    }
}

impl Equals for RoundRobin {
    fn with_quantum(quantum: Time) -> Self {
        Self(quantum.max(1))
    }
}

impl<const N: usize> Choice for EarliestDeadlineFirst<N> {
    fn parameters(&mut self, _: ThreadId, task: &Task, _: Time) -> Result<Deadline, Refusal> {
        Ok(Deadline(task.deadline))
    }
}

impl<B: OwnBudget, const N: usize> Choice for Servers<B, N, N> {
    fn prepare(&mut self, _: Time) {
        if let Some(band) = B::BAND {
            let _new = self.add_band(band);
        }
    }

    fn parameters(
        &mut self,
        thread: ThreadId,
        task: &Task,
        now: Time,
    ) -> Result<Membership, Refusal> {
        let limits = Capacity {
            capacity: task.budget,
            period: task.period,
        };
        let budget = B::full(limits, now).map_err(|_| Refusal::BadParameters)?;
        let priority = B::BAND.unwrap_or(Priority(task.priority));
        own_server(self, thread, budget, priority, now)
    }
}

/// A budget that a thread can have for itself.
trait OwnBudget: Budget + Copy {
    /// Priority of the band of all such servers, where they are ordered by deadline.
    const BAND: Option<Priority> = None;

    fn full(limits: Capacity, now: Time) -> Result<Self, Refusal>;
}

impl OwnBudget for Deferrable {
    fn full(limits: Capacity, now: Time) -> Result<Self, Refusal> {
        Self::new(limits, now)
    }
}

impl OwnBudget for Sporadic<CHUNKS> {
    fn full(limits: Capacity, now: Time) -> Result<Self, Refusal> {
        Self::new(limits, now)
    }
}

impl OwnBudget for ConstantBandwidth {
    const BAND: Option<Priority> = Some(BAND);

    fn full(limits: Capacity, now: Time) -> Result<Self, Refusal> {
        Self::new(limits, now)
    }
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
        forward!(self, policy => {
            let parameters = policy.parameters(thread, &task, now)?;
            policy.add(thread, parameters, now)
        })
    }

    fn remove(&mut self, thread: ThreadId) {
        forward!(self, policy => policy.remove(thread));
    }

    fn set_parameters(&mut self, thread: ThreadId, task: Task, now: Time) -> Result<(), Refusal> {
        forward!(self, policy => {
            let parameters = policy.parameters(thread, &task, now)?;
            policy.set_parameters(thread, parameters, now)
        })
    }

    fn set_ceiling(&mut self, thread: ThreadId, ceiling: Option<Priority>) -> Result<(), Refusal> {
        forward!(self, policy => policy.set_ceiling(thread, ceiling))
    }

    fn outranks(&self, thread: ThreadId, running: ThreadId) -> bool {
        forward!(self, policy => policy.outranks(thread, running))
    }

    fn wakeup(&mut self, thread: ThreadId, now: Time) {
        forward!(self, policy => policy.wakeup(thread, now));
    }

    fn block(&mut self, thread: ThreadId, now: Time) {
        forward!(self, policy => policy.block(thread, now));
    }

    fn yield_now(&mut self, thread: ThreadId, now: Time) {
        forward!(self, policy => policy.yield_now(thread, now));
    }

    fn favour(&mut self, thread: ThreadId) {
        forward!(self, policy => policy.favour(thread));
    }

    fn charge(&mut self, thread: ThreadId, from: Time, until: Time) {
        forward!(self, policy => policy.charge(thread, from, until));
    }

    fn surcharge(&mut self, thread: ThreadId, cycles: Time, now: Time) {
        forward!(self, policy => policy.surcharge(thread, cycles, now));
    }

    fn pick(&mut self, now: Time) -> Option<Pick> {
        forward!(self, policy => policy.pick(now))
    }

    fn next_event(&self, now: Time) -> Time {
        forward!(self, policy => policy.next_event(now))
    }
}
