//! The test every policy must pass
//!
//! Drives a policy through a long random life of threads (blocks, time-outs, wake-ups, yields,
//! changed parameters, removals) in virtual time and checks what no policy may get wrong: it picks
//! ready threads only, idles only where it may, is bounded in its decisions, and each of its
//! announced times leads somewhere. Seeded, so that a failure repeats.

use crate::policy::Policy;
use crate::scheduler::Scheduler;
use crate::thread::{NEVER, ThreadId, Time};

/// Properties of a policy that the harness may assume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// While a thread is ready, one runs (not so for policies with budgets).
    pub work_conserving: bool,
    /// A running thread may lose the processor while it is ready and has not yielded.
    pub preemptive: bool,
}

/// A small generator (xorshift64*; Marsaglia 2003, Vigna 2016).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Seeded; the seed 0 is replaced.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(if seed == 0 {
            0x9E37_79B9_7F4A_7C15
        } else {
            seed
        })
    }

    /// Uniform enough in `0..bound`; `bound` is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) % bound
    }
}

struct Life<P: Policy, F, const N: usize> {
    scheduler: Scheduler<P, N>,
    parameters: F,
    random: Random,
    alive: [bool; N],
    now: Time,
    yielded: bool,
}

/// Takes `steps` random steps with `policy` and up to `N` threads. Their parameters come from
/// `parameters`.
///
/// # Panics
/// The policy breaks `promise` or a rule of every policy; the message names the rule.
pub fn put_through<P: Policy, const N: usize>(
    policy: P,
    properties: Properties,
    seed: u64,
    steps: usize,
    parameters: impl FnMut(&mut Random) -> P::Parameters,
) {
    let mut life = Life::<P, _, N> {
        scheduler: Scheduler::new(policy),
        parameters,
        random: Random::new(seed),
        alive: [false; N],
        now: 0,
        yielded: false,
    };
    for _ in 0..steps {
        life.step();
        life.decide_and_run(properties);
    }
}

impl<P: Policy, F: FnMut(&mut Random) -> P::Parameters, const N: usize> Life<P, F, N> {
    fn any_thread(&mut self) -> ThreadId {
        ThreadId(self.random.below(N as u64) as u16)
    }

    fn step(&mut self) {
        self.yielded = false;
        let thread = self.any_thread();
        match self.random.below(16) {
            0 => self.add(),
            1 => self.remove(thread),
            2 => self.change(thread),
            3..8 => self.scheduler.wakeup(thread, self.now),
            8..12 => self.block_current(),
            12 => self.yield_current(),
            _ => {}
        }
    }

    fn add(&mut self) {
        let parameters = (self.parameters)(&mut self.random);
        match self.scheduler.add(parameters, self.now) {
            Ok(thread) => {
                let was_alive = core::mem::replace(&mut self.alive[thread.index()], true);
                assert!(!was_alive, "{thread:?} given twice");
            }
            Err(_) => assert!(
                self.alive.iter().all(|&alive| alive),
                "refused with room left"
            ),
        }
    }

    fn remove(&mut self, thread: ThreadId) {
        let was = core::mem::take(&mut self.alive[thread.index()]);
        assert_eq!(
            self.scheduler.remove(thread, self.now).is_ok(),
            was,
            "removing {thread:?}"
        );
    }

    fn change(&mut self, thread: ThreadId) {
        let parameters = (self.parameters)(&mut self.random);
        let is_changed = self
            .scheduler
            .set_parameters(thread, parameters, self.now)
            .is_ok();
        assert_eq!(
            is_changed,
            self.alive[thread.index()],
            "changing {thread:?}"
        );
    }

    fn block_current(&mut self) {
        let until = match self.random.below(3) {
            0 => NEVER,
            _ => self.now + 1 + self.random.below(200),
        };
        if let Some(thread) = self.scheduler.current() {
            self.scheduler.block(thread, until, self.now);
        }
    }

    fn yield_current(&mut self) {
        if let Some(thread) = self.scheduler.current() {
            self.scheduler.yield_now(thread, self.now);
            self.yielded = true;
        }
    }

    fn is_ready(&self, thread: usize) -> bool {
        self.alive[thread] && !self.scheduler.is_blocked(ThreadId(thread as u16))
    }

    fn decide_and_run(&mut self, properties: Properties) {
        let before = self.scheduler.current();
        let decision = self.scheduler.decide(self.now);
        assert_eq!(
            decision,
            self.scheduler.decide(self.now),
            "asked twice, answered differently"
        );
        if let Some(thread) = decision.thread {
            assert!(
                self.is_ready(thread.index()),
                "picked {thread:?}, which is not ready"
            );
        }
        let ready = (0..N).any(|thread| self.is_ready(thread));
        if properties.work_conserving {
            assert_eq!(
                decision.thread.is_some(),
                ready,
                "idle beside a ready thread"
            );
        } else if ready && decision.thread.is_none() {
            assert!(decision.timer != NEVER, "a ready thread is forgotten");
        }
        if let Some(thread) = before.filter(|_| !properties.preemptive && !self.yielded)
            && self.is_ready(thread.index())
        {
            assert_eq!(decision.thread, before, "{thread:?} was preempted");
        }
        assert!(
            decision.timer > self.now,
            "asks to decide again in the past"
        );
        self.scheduler.dispatched(decision.thread, self.now);
        let step = 1 + self.random.below(50);
        self.now = (self.now + step).min(decision.timer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Capacity, ConstantBandwidth, Deferrable, Polling, Sporadic, Utilisation};
    use crate::policy::{
        Binding, Chosen, Deadline, EarliestDeadlineFirst, FixedPriority, Membership, NonPreemptive,
        Order, Place, Preemptive, Priority, RoundRobin, ServerId, Servers, Slot, Task, TimeTable,
        Vcpus,
    };

    const STEPS: usize = 20_000;
    const CONSERVING: Properties = Properties {
        work_conserving: true,
        preemptive: true,
    };
    const BUDGETED: Properties = Properties {
        work_conserving: false,
        preemptive: true,
    };

    fn priority(random: &mut Random) -> Priority {
        Priority(random.below(5) as u8)
    }

    fn membership(random: &mut Random) -> Membership {
        Membership(ServerId(random.below(4) as u16))
    }

    #[test]
    fn fixed_priority() {
        for seed in 1..20 {
            put_through::<_, 12>(
                FixedPriority::<_, 12>::new(Preemptive),
                CONSERVING,
                seed,
                STEPS,
                priority,
            );
            put_through::<_, 12>(
                FixedPriority::<_, 12>::new(NonPreemptive),
                Properties {
                    preemptive: false,
                    ..CONSERVING
                },
                seed,
                STEPS,
                priority,
            );
            put_through::<_, 12>(
                FixedPriority::<_, 12>::new(RoundRobin(20)),
                CONSERVING,
                seed,
                STEPS,
                priority,
            );
        }
    }

    #[test]
    fn earliest_deadline_first() {
        for seed in 1..20 {
            let policy = EarliestDeadlineFirst::<12>::new();
            put_through::<_, 12>(policy, CONSERVING, seed, STEPS, |random| {
                Deadline(1 + random.below(300))
            });
        }
    }

    #[test]
    fn every_policy_by_its_name() {
        assert!(!Chosen::<12>::new().choose("fair", 1));
        for (name, seed) in Chosen::<12>::NAMES.into_iter().cycle().zip(1..60) {
            let mut policy = Chosen::<12>::new();
            assert!(policy.choose(name, 20), "{name}");
            let properties = Properties {
                work_conserving: !["deferrable", "sporadic", "constant-bandwidth"].contains(&name),
                preemptive: name != "non-preemptive",
            };
            put_through::<_, 12>(policy, properties, seed, STEPS, |random| Task {
                priority: random.below(5) as u8,
                deadline: 1 + random.below(300),
                budget: 1 + random.below(20),
                period: 20 + random.below(200),
            });
        }
    }

    fn servers<B: crate::budget::Budget + Copy>(
        background: bool,
        budget: impl Fn(Capacity) -> B,
    ) -> Servers<B, 12, 4> {
        let mut policy = Servers::new(background);
        for (index, (capacity, period)) in
            [(5, 40), (10, 60), (3, 10), (30, 200)].iter().enumerate()
        {
            let limits = Capacity {
                capacity: *capacity,
                period: *period,
            };
            policy
                .add_server(budget(limits), Priority(index as u8))
                .expect("room");
        }
        policy
    }

    #[test]
    fn server_policies() {
        for seed in 1..20 {
            for background in [false, true] {
                let sporadic = servers(background, |limits| {
                    Sporadic::<4>::new(limits, 0).expect("valid")
                });
                let deferrable = servers(background, |limits| {
                    Deferrable::new(limits, 0).expect("valid")
                });
                let polling = servers(background, |limits| Polling::new(limits, 0).expect("valid"));
                let properties = Properties {
                    work_conserving: background,
                    ..BUDGETED
                };
                put_through::<_, 12>(sporadic, properties, seed, STEPS, membership);
                put_through::<_, 12>(deferrable, properties, seed, STEPS, membership);
                put_through::<_, 12>(polling, properties, seed, STEPS, membership);
            }
        }
    }

    const LIMITS: [(u64, u64); 2] = [(5, 40), (10, 60)];

    fn limits((capacity, period): (u64, u64)) -> Capacity {
        Capacity { capacity, period }
    }

    #[test]
    fn vcpus() {
        for seed in 1..20 {
            for background in [false, true] {
                let mut policy = Vcpus::<12, 4, 4>::new(background);
                for pair in LIMITS {
                    policy.add_main(limits(pair), 0).expect("room");
                }
                let tenth = Utilisation::ratio(1, 10).expect("valid");
                policy.add_io(tenth, [40, 60], 0).expect("room");
                let properties = Properties {
                    work_conserving: background,
                    ..BUDGETED
                };
                put_through::<_, 12>(policy, properties, seed, STEPS, |random| {
                    let cause = ServerId(random.below(2) as u16);
                    let vcpu = [cause, ServerId(2)][random.below(2) as usize];
                    Binding { vcpu, cause }
                });
            }
        }
    }

    /// VCPUs by deadline; and in time partitions, with a band and turns.
    #[test]
    fn deadlines_bands_and_time_partitions() {
        for seed in 1..20 {
            let mut by_deadline = Vcpus::<12, 2, 4>::new(false);
            by_deadline.set_order(Order::EarliestDeadline).expect("new");
            let mut table = Vcpus::<12, 8, 4, 3, 3>::new(false);
            table.set_order(Order::FixedPriority).expect("new");
            let slots = [(30, 1), (50, 0), (90, 2)].map(|(end, partition)| Slot { end, partition });
            let servers = table.servers_mut();
            let slots = TimeTable::of(&slots).expect("valid");
            servers.set_table(slots).expect("partitions are there");
            servers.set_quantum(20);
            servers.add_band(Priority(2)).expect("no band yet");
            for pair in LIMITS {
                by_deadline.add_main(limits(pair), 0).expect("room");
                for place in [
                    Place::Band(Priority(2)),
                    Place::Partition(0, Priority(3)),
                    Place::Partition(1, Priority(3)),
                    Place::Partition(2, Priority(1)),
                ] {
                    table.add_placed(limits(pair), place, 0).expect("room");
                }
            }
            put_through::<_, 12>(by_deadline, BUDGETED, seed, STEPS, |random| {
                Binding::main(ServerId(random.below(2) as u16))
            });
            put_through::<_, 12>(table, BUDGETED, seed, STEPS, |random| {
                Binding::main(ServerId(random.below(8) as u16))
            });
        }
    }

    #[test]
    fn constant_bandwidth() {
        for seed in 1..20 {
            let mut policy = Servers::<_, 12, 2>::new(false);
            policy.add_band(Priority(0)).expect("no band yet");
            for pair in LIMITS {
                let budget = ConstantBandwidth::new(limits(pair), 0).expect("valid");
                policy.add_server(budget, Priority(0)).expect("room");
            }
            put_through::<_, 12>(policy, BUDGETED, seed, STEPS, |random| {
                Membership(ServerId(random.below(2) as u16))
            });
        }
    }
}
