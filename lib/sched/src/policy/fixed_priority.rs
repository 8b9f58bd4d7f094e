//! Fixed priorities: preemptive, non-preemptive, and with round robin among equals
//!
//! One queue of 64 levels; the three rules differ in when they ask it again.

use crate::policy::interface::{Pick, Policy};
use crate::queue::ReadyQueue;
use crate::thread::{NEVER, Refusal, ThreadId, Time};

/// Priorities of threads.
const PRIORITIES: usize = 64;

/// Priority of a thread, 0 the most important, below 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority(pub u8);

/// Ceiling of a thread without one: less important than every priority.
const NO_CEILING: Priority = Priority(u8::MAX);

/// When a running thread gives way.
pub trait Rule {
    /// True if a more important thread preempts at once.
    const PREEMPTIVE: bool;

    /// Longest stretch before an equal has its turn ([`NEVER`]: none).
    fn quantum(&self) -> Time;
}

/// The most important ready thread runs, always; equals in order of wake-up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Preemptive;

/// The running thread runs until it blocks or yields.
#[derive(Clone, Copy, Debug, Default)]
pub struct NonPreemptive;

/// As [`Preemptive`]; equals take turns of so many cycles.
#[derive(Clone, Copy, Debug)]
pub struct RoundRobin(pub Time);

impl Rule for Preemptive {
    const PREEMPTIVE: bool = true;
    fn quantum(&self) -> Time {
        NEVER
    }
}

impl Rule for NonPreemptive {
    const PREEMPTIVE: bool = false;
    fn quantum(&self) -> Time {
        NEVER
    }
}

impl Rule for RoundRobin {
    const PREEMPTIVE: bool = true;
    fn quantum(&self) -> Time {
        self.0
    }
}

/// Fixed-priority policy under a [`Rule`].
#[derive(Clone, Debug)]
pub struct FixedPriority<R, const N: usize> {
    rule: R,
    ready: ReadyQueue<N>,
    /// Priorities at which threads run: their own, or the ceiling where that is more important.
    priorities: [Priority; N],
    base: [Priority; N],
    ceilings: [Priority; N],
    /// The thread that was picked last, while it is ready.
    running: Option<ThreadId>,
    /// Used part of each thread's current quantum.
    used: [Time; N],
}

impl<R: Rule, const N: usize> FixedPriority<R, N> {
    /// A policy without threads.
    #[must_use]
    pub const fn new(rule: R) -> Self {
        Self {
            rule,
            ready: ReadyQueue::new(),
            priorities: [Priority(0); N],
            base: [Priority(0); N],
            ceilings: [NO_CEILING; N],
            running: None,
            used: [0; N],
        }
    }

    /// Changes the rule.
    pub const fn set_rule(&mut self, rule: R)
    where
        R: Copy,
    {
        self.rule = rule;
    }

    /// Priority at which a thread runs.
    #[must_use]
    pub fn priority(&self, thread: ThreadId) -> Priority {
        self.priorities[thread.index()]
    }

    /// Queues a thread anew, if it is ready, behind those of the priority at which it runs from now on.
    fn place(&mut self, thread: ThreadId) {
        let place = thread.index();
        let priority = self.base[place].min(self.ceilings[place]);
        self.priorities[place] = priority;
        if self.ready.contains(thread) {
            self.ready.remove(thread);
            self.ready.push_back(thread, priority.0);
        }
    }

    /// Moves threads that have used up their quantum to the back; each at most once, since its use is cleared.
    fn expire_quantum(&mut self) {
        while let Some(thread) = self.ready.first()
            && self.used[thread.index()] >= self.rule.quantum()
        {
            self.used[thread.index()] = 0;
            self.ready.rotate(thread);
        }
    }

    fn choose(&self) -> Option<ThreadId> {
        match self.running {
            Some(thread) if !R::PREEMPTIVE => Some(thread),
            _ => self.ready.first(),
        }
    }
}

fn checked(parameters: Priority) -> Result<Priority, Refusal> {
    if usize::from(parameters.0) < PRIORITIES {
        Ok(parameters)
    } else {
        Err(Refusal::BadParameters)
    }
}

impl<R: Rule, const N: usize> Policy for FixedPriority<R, N> {
    type Parameters = Priority;

    fn add(&mut self, thread: ThreadId, parameters: Priority, _now: Time) -> Result<(), Refusal> {
        self.base[thread.index()] = checked(parameters)?;
        self.priorities[thread.index()] = parameters;
        self.ceilings[thread.index()] = NO_CEILING;
        self.used[thread.index()] = 0;
        Ok(())
    }

    fn outranks(&self, thread: ThreadId, running: ThreadId) -> bool {
        R::PREEMPTIVE && self.priorities[thread.index()] < self.priorities[running.index()]
    }

    fn remove(&mut self, thread: ThreadId) {
        self.ready.remove(thread);
    }

    fn set_parameters(
        &mut self,
        thread: ThreadId,
        parameters: Priority,
        _now: Time,
    ) -> Result<(), Refusal> {
        self.base[thread.index()] = checked(parameters)?;
        self.place(thread);
        Ok(())
    }

    fn set_ceiling(&mut self, thread: ThreadId, ceiling: Option<Priority>) -> Result<(), Refusal> {
        let ceiling = ceiling.map_or(Ok(NO_CEILING), checked)?;
        self.ceilings[thread.index()] = ceiling;
        self.place(thread);
        self.ready.bring_forward(thread);
        Ok(())
    }

    fn wakeup(&mut self, thread: ThreadId, _now: Time) {
        self.used[thread.index()] = 0;
        self.ready
            .push_back(thread, self.priorities[thread.index()].0);
    }

    fn block(&mut self, thread: ThreadId, _now: Time) {
        self.ready.remove(thread);
        self.running = self.running.filter(|&running| running != thread);
    }

    fn yield_now(&mut self, thread: ThreadId, _now: Time) {
        self.used[thread.index()] = 0;
        self.ready.rotate(thread);
        self.running = None;
    }

    fn charge(&mut self, thread: ThreadId, from: Time, until: Time) {
        self.used[thread.index()] = self.used[thread.index()].saturating_add(until - from);
    }

    fn pick(&mut self, now: Time) -> Option<Pick> {
        self.expire_quantum();
        self.running = self.choose();
        self.running.map(|thread| {
            let remaining = self
                .rule
                .quantum()
                .saturating_sub(self.used[thread.index()]);
            let limited = self.rule.quantum() != NEVER && self.ready.has_equal(thread);
            Pick {
                thread,
                until: if limited {
                    now.saturating_add(remaining)
                } else {
                    NEVER
                },
                server: None,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Decision, Scheduler};

    fn started<R: Rule>(rule: R, priorities: [u8; 3]) -> Scheduler<FixedPriority<R, 4>, 4> {
        let mut scheduler = Scheduler::new(FixedPriority::new(rule));
        for priority in priorities {
            let thread = scheduler.add(Priority(priority), 0).expect("room");
            scheduler.wakeup(thread, 0);
        }
        scheduler
    }

    fn run<R: Rule>(scheduler: &mut Scheduler<FixedPriority<R, 4>, 4>, now: Time) -> Decision {
        let decision = scheduler.decide(now);
        scheduler.dispatched(decision.thread, now);
        decision
    }

    #[test]
    fn more_important_preempts() {
        let mut scheduler = started(Preemptive, [5, 3, 9]);
        assert_eq!(run(&mut scheduler, 0).thread, Some(ThreadId(1)));
        assert_eq!(scheduler.block(ThreadId(1), 100, 10), None);
        assert_eq!(
            run(&mut scheduler, 10),
            Decision {
                thread: Some(ThreadId(0)),
                timer: 100,
                account: None,
            }
        );
        assert_eq!(run(&mut scheduler, 100).thread, Some(ThreadId(1)));
    }

    #[test]
    fn non_preemptive_runs_to_its_block() {
        let mut scheduler = started(NonPreemptive, [5, 3, 9]);
        assert_eq!(run(&mut scheduler, 0).thread, Some(ThreadId(1)));
        scheduler.block(ThreadId(1), 100, 10);
        assert_eq!(run(&mut scheduler, 10).thread, Some(ThreadId(0)));
        assert_eq!(run(&mut scheduler, 100).thread, Some(ThreadId(0)));
        scheduler.yield_now(ThreadId(0), 120);
        assert_eq!(run(&mut scheduler, 120).thread, Some(ThreadId(1)));
    }

    #[test]
    fn equals_take_turns() {
        let mut scheduler = started(RoundRobin(10), [4, 4, 9]);
        assert_eq!(
            run(&mut scheduler, 0),
            Decision {
                thread: Some(ThreadId(0)),
                timer: 10,
                account: None,
            }
        );
        assert_eq!(
            run(&mut scheduler, 10),
            Decision {
                thread: Some(ThreadId(1)),
                timer: 20,
                account: None,
            }
        );
        assert_eq!(
            run(&mut scheduler, 15),
            Decision {
                thread: Some(ThreadId(1)),
                timer: 20,
                account: None,
            }
        );
        assert_eq!(run(&mut scheduler, 20).thread, Some(ThreadId(0)));
        scheduler.block(ThreadId(0), NEVER, 22);
        assert_eq!(
            run(&mut scheduler, 22),
            Decision {
                thread: Some(ThreadId(1)),
                timer: NEVER,
                account: None,
            }
        );
    }

    #[test]
    fn a_ceiling_raises_a_thread_and_returns_it_to_the_front() {
        let mut scheduler = started(Preemptive, [5, 5, 3]);
        assert_eq!(scheduler.block(ThreadId(2), 100, 0), None);
        assert_eq!(run(&mut scheduler, 0).thread, Some(ThreadId(0)));
        scheduler
            .set_ceiling(ThreadId(0), Some(Priority(2)), 10)
            .expect("a priority");
        // The thread of priority 3 is ready, and waits; a change of the own priority waits, too.
        assert_eq!(run(&mut scheduler, 100).thread, Some(ThreadId(0)));
        scheduler
            .set_parameters(ThreadId(0), Priority(6), 100)
            .expect("a priority");
        assert_eq!(run(&mut scheduler, 100).thread, Some(ThreadId(0)));
        scheduler
            .set_parameters(ThreadId(0), Priority(5), 100)
            .expect("a priority");
        scheduler.set_ceiling(ThreadId(0), None, 110).expect("none");
        assert_eq!(run(&mut scheduler, 110).thread, Some(ThreadId(2)));
        assert_eq!(scheduler.block(ThreadId(2), NEVER, 120), None);
        assert_eq!(run(&mut scheduler, 120).thread, Some(ThreadId(0)));
        // A ceiling below the thread's own priority changes nothing.
        scheduler
            .set_ceiling(ThreadId(0), Some(Priority(9)), 130)
            .expect("a priority");
        assert_eq!(run(&mut scheduler, 130).thread, Some(ThreadId(0)));
        let refused = scheduler.set_ceiling(ThreadId(0), Some(Priority(64)), 130);
        assert_eq!(refused, Err(Refusal::BadParameters));
    }

    #[test]
    fn a_suspended_thread_waits_without_a_time_out() {
        let mut scheduler = started(Preemptive, [5, 3, 9]);
        assert_eq!(scheduler.block(ThreadId(1), 100, 0), None);
        scheduler.suspend(ThreadId(1), 10);
        scheduler.suspend(ThreadId(0), 10);
        assert_eq!(
            run(&mut scheduler, 10),
            Decision {
                thread: Some(ThreadId(2)),
                timer: NEVER,
                account: None
            }
        );
        scheduler.wakeup(ThreadId(0), 20);
        assert_eq!(run(&mut scheduler, 200).thread, Some(ThreadId(0)));
        scheduler.wakeup(ThreadId(1), 210);
        assert_eq!(run(&mut scheduler, 210).thread, Some(ThreadId(1)));
    }

    #[test]
    fn bad_priority_is_refused() {
        let mut scheduler = started(Preemptive, [5, 3, 9]);
        assert_eq!(scheduler.add(Priority(64), 0), Err(Refusal::BadParameters));
        assert_eq!(
            scheduler.set_parameters(ThreadId(0), Priority(200), 0),
            Err(Refusal::BadParameters)
        );
        assert_eq!(
            scheduler.set_parameters(ThreadId(3), Priority(1), 0),
            Err(Refusal::NoSuchThread)
        );
    }
}
