//! Scheduling overhead of a core in the analysis
//!
//! `bulkhead_analysis::overhead` over what is described. Bottom halves start and end like VCPUs, as
//! often as a job of them needs budgets, and count as more important than all.

use super::{Task, Timing, VcpuKind};
use bulkhead_abi::timing::MAX_CHUNKS;
use bulkhead_analysis::Reservation;
use bulkhead_analysis::overhead::{Jobs, Keeping, Request};

/// The VCPUs of a core with what their decisions take, and what those of all others take.
pub(super) struct Prolonged {
    /// In the order of the ranks.
    pub(super) mains: Vec<Reservation>,
    /// More important than all.
    pub(super) ahead: Vec<Reservation>,
}

impl Timing {
    /// Main VCPUs, by rank, as they are to be counted.
    pub(super) fn prolonged(&self, core: usize, ranked: &[(usize, Reservation)]) -> Prolonged {
        let requests = ranked.iter();
        let requests = requests.map(|&(index, limits)| self.request_of(index, limits));
        let keeping = self.keeping();
        Prolonged {
            mains: requests
                .map(|vcpu| self.overhead.prolong(&vcpu, &keeping))
                .collect(),
            ahead: self.ahead(core),
        }
    }

    /// How budgets are kept.
    pub(crate) fn keeping(&self) -> Keeping {
        Keeping {
            chunks: MAX_CHUNKS as u64,
            quantum: self.schedule.quantum_ns,
        }
    }

    /// Jobs of the tasks on a VCPU in a time.
    pub(crate) fn jobs_in(&self, index: usize, window: u64) -> u64 {
        let tasks = self.tasks.iter().filter(|task| task.vcpu == index);
        tasks.map(|task| self.jobs(task).within(window)).sum()
    }

    fn request_of(&self, index: usize, limits: Reservation) -> Request {
        Request {
            limits,
            jobs: self.jobs_in(index, limits.period),
        }
    }

    /// Jobs of the tasks on a core, and of the runtime's threads without a budget.
    pub(crate) fn jobs_on(&self, core: usize) -> impl Iterator<Item = Jobs> {
        let tasks = self.tasks.iter();
        let here = tasks.filter(move |task| self.vcpus[task.vcpu].core == core);
        let polls = self.polls.iter().filter(move |(on, _)| *on == core);
        let polls = polls.map(|(_, period)| Jobs::each(*period));
        here.map(|task| self.jobs(task)).chain(polls)
    }

    fn jobs(&self, task: &Task) -> Jobs {
        let jobs = match self.vcpus[task.vcpu].kind {
            VcpuKind::Io { percent } => {
                let same = self.tasks.iter().filter(|other| other.vcpu == task.vcpu);
                let causes = same.filter_map(|other| self.vcpus[other.cause].budget());
                let shortest = causes.map(|main| main.period).min().unwrap_or(0);
                let work = task.wcet_ns.saturating_add(self.overhead.job);
                Jobs::of_bottom_half(task.period_ns, work, percent, shortest)
            }
            _ => Jobs::each(task.period_ns),
        };
        jobs.in_bursts(task.burst).after(self.jitter(task))
    }

    /// Loads of highest priority on a core: releases, slots, doorbells and blocking.
    pub(crate) fn ahead(&self, core: usize) -> Vec<Reservation> {
        let slots = self.schedule.slots.iter();
        let slots = slots.filter(|slot| slot.core == core).count() as u64;
        let changes = self.overhead.of_slots(slots, self.schedule.frame_ns);
        let jobs = self.jobs_on(core).map(|jobs| self.overhead.of_jobs(jobs));
        let waking = self
            .jobs_on(core)
            .flat_map(|jobs| self.overhead.of_waking(jobs));
        let doorbells = self.doorbells.iter();
        let doorbells =
            doorbells.flat_map(|&(limit, per_ns)| self.overhead.of_doorbell(limit, per_ns));
        let once = [changes, self.overhead.of_blocking()];
        let all = jobs.chain(waking).chain(doorbells).chain(once);
        all.flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::{Order, Place, Schedule, Slot, Vcpu};
    use bulkhead_analysis::admission::{Admission, Misfit, Refused};
    use bulkhead_analysis::core_overhead::CoreOverhead;
    use bulkhead_analysis::overhead::Overhead;
    use bulkhead_analysis::placement::Placement;
    use bulkhead_analysis::time_partitions::{self, Placed};
    use bulkhead_analysis::utilisation::Fraction;
    use bulkhead_analysis::vcpu::Io;
    use proptest::prelude::*;

    const MOST: usize = 8;
    const FRAME_NS: u64 = 20_000_000;

    /// A scheduler that is asked for one VCPU after the other.
    enum Scheduler {
        Ordered(Admission<MOST>),
        Placed(Placement<MOST, 1>),
    }

    impl Scheduler {
        fn new(timing: &Timing) -> Result<Self, Refused> {
            let slots = &timing.schedule.slots;
            let count = |core_overhead: &mut CoreOverhead| {
                core_overhead.count(timing.overhead, timing.keeping())?;
                for &(limit, per_ns) in &timing.doorbells {
                    core_overhead.doorbell(limit, per_ns)?;
                }
                core_overhead.slots(slots.len() as u64, FRAME_NS)
            };
            if timing.schedule.order == Order::FixedPriority {
                let mut placement = Placement::new();
                count(placement.core_overhead())?;
                for slot in slots {
                    let slot = time_partitions::Slot {
                        start: slot.start_ns,
                        length: slot.length_ns,
                        partition: slot.partition,
                    };
                    placement.slot(FRAME_NS, slot)?;
                }
                return Ok(Self::Placed(placement));
            }
            let mut admission = Admission::new();
            if timing.schedule.order == Order::EarliestDeadline {
                admission.by_deadline();
            }
            count(admission.core_overhead())?;
            Ok(Self::Ordered(admission))
        }

        /// Asks for the last VCPU.
        fn ask(&mut self, timing: &Timing) -> Result<(), Refused> {
            let number = timing.vcpus.len() - 1;
            let vcpu = &timing.vcpus[number];
            let tasks = || timing.tasks.iter().filter(|task| task.vcpu == number);
            let jobs = tasks().map(|task| timing.jobs(task));
            let VcpuKind::Io { percent } = vcpu.kind else {
                let limits = vcpu.budget().expect("valid");
                return match self {
                    Self::Ordered(core) => core.main(number, limits, jobs),
                    Self::Placed(core) => {
                        let placed = Placed {
                            limits,
                            partition: vcpu.place.partition,
                            priority: vcpu.place.priority,
                            reservation: matches!(vcpu.kind, VcpuKind::Reservation { .. }),
                        };
                        core.vcpu(number, placed, jobs)
                    }
                };
            };
            let cause = tasks().map(|task| &timing.vcpus[task.cause]).next();
            let cause = cause.expect("it works for one");
            let period = cause.budget().expect("valid").period;
            let utilisation = Fraction::ratio(percent.into(), 100).expect("valid");
            match self {
                Self::Ordered(core) => core.io(utilisation, [period; 2], jobs),
                Self::Placed(core) => {
                    let io = Io {
                        utilisation,
                        longest: period,
                        rank: cause.place.priority.into(),
                    };
                    core.io(io, jobs)
                }
            }
        }
    }

    /// A Main VCPU: C in percent of T, T in 10 us, distances of its jobs in percent of T, priority,
    /// time partition, whether it is a reservation.
    type Main = (u64, u64, Vec<u64>, u8, u8, bool);
    /// An I/O VCPU: percent, C of its jobs in percent of the T of the main VCPU for which it works,
    /// and a number that selects this VCPU.
    type Half = (u32, u64, usize);

    /// Without VCPUs.
    fn empty(order: Order, decision: u64) -> Timing {
        let by_priority = order == Order::FixedPriority;
        let slot = Slot {
            name: "slot".into(),
            core: 0,
            partition: 1,
            start_ns: 1_000_000,
            length_ns: 15_000_000,
        };
        Timing {
            schedule: Schedule {
                order,
                frame_ns: if by_priority { FRAME_NS } else { 0 },
                slots: by_priority.then_some(slot).into_iter().collect(),
                ..Schedule::default()
            },
            overhead: Overhead {
                decision,
                interrupt: decision / 9,
                job: decision / 2,
                stage: decision,
                blocking: decision / 2,
            },
            doorbells: vec![(2, 3_000_000)],
            ..Timing::default()
        }
    }

    /// All periods differ, because the two sides order equal periods differently: the description
    /// by position, a scheduler by arrival.
    fn timing(mains: &[Main], halves: &[Half], order: Order, decision: u64) -> Timing {
        let by_priority = order == Order::FixedPriority;
        let mut timing = empty(order, decision);
        for (number, (percent, period, jobs, priority, partition, reservation)) in
            mains.iter().enumerate()
        {
            let period_ns = period * 10_000 + number as u64 * 100;
            let capacity_ns = period_ns * percent / 100;
            let band = by_priority && *reservation;
            timing.vcpus.push(Vcpu {
                name: format!("main{number}"),
                span: 0..0,
                kind: match band {
                    true => VcpuKind::Reservation {
                        capacity_ns,
                        period_ns,
                    },
                    false => VcpuKind::Main {
                        capacity_ns,
                        period_ns,
                    },
                },
                place: Place {
                    partition: if band { 0 } else { *partition },
                    priority: *priority,
                },
                core: 0,
            });
            let distances = jobs.iter().map(|percent| period_ns * percent / 100);
            let tasks = distances.map(|distance| (number, number, capacity_ns, distance));
            timing.tasks.extend(tasks.map(task));
        }
        for &(percent, wcet, cause) in halves {
            let cause = cause % mains.len();
            let period = timing.vcpus[cause].budget().expect("valid").period;
            let number = timing.vcpus.len();
            timing.vcpus.push(Vcpu {
                name: format!("io{number}"),
                span: 0..0,
                kind: VcpuKind::Io { percent },
                place: Place::default(),
                core: 0,
            });
            let half = (number, cause, period * wcet / 100, period);
            timing.tasks.push(task(half));
        }
        timing
    }

    fn task((vcpu, cause, wcet_ns, period_ns): (usize, usize, u64, u64)) -> Task {
        Task {
            name: format!("of{vcpu}"),
            span: 0..0,
            vcpu,
            cause,
            wcet_ns,
            period_ns,
            deadline_ns: period_ns,
            after: None,
            burst: 1,
            is_stage: false,
        }
    }

    /// Returns the part of the description up to the VCPU of that number.
    fn up_to(timing: &Timing, number: usize) -> Timing {
        let tasks = timing.tasks.iter();
        Timing {
            vcpus: timing.vcpus[..=number].to_vec(),
            tasks: tasks.filter(|task| task.vcpu <= number).cloned().collect(),
            ..timing.clone()
        }
    }

    fn shapes() -> impl Strategy<Value = (Vec<Main>, Vec<Half>)> {
        let jobs = prop::collection::vec(40u64..250, 0..3);
        let main = (2u64..30, 50u64..4000, jobs, 0u8..4, 0u8..2, any::<bool>());
        let mains = prop::collection::vec(main, 1..6);
        (
            mains,
            prop::collection::vec((1u32..8, 1u64..5, 0usize..6), 0..3),
        )
    }

    fn orders() -> impl Strategy<Value = Order> {
        prop::sample::select(vec![
            Order::RateMonotonic,
            Order::EarliestDeadline,
            Order::FixedPriority,
        ])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        /// A VCPU requested at run time is admitted if the description of all VCPUs up to it is
        /// accepted. Otherwise it is rejected because of the same VCPU, with the same shortage.
        #[test]
        fn a_scheduler_answers_as_the_description_is_answered(
            (mains, halves) in shapes(),
            order in orders(),
            decision in prop::sample::select(vec![0, 3_600, 14_400, 57_600]),
        ) {
            let all = timing(&mains, &halves, order, decision);
            let mut scheduler = Scheduler::new(&all).expect("there is room");
            for number in 0..all.vcpus.len() {
                let known = up_to(&all, number);
                let catalogue = known.analyse()[0].misfit;
                let asked = scheduler.ask(&known);
                let expected = catalogue.map(|(vcpu, lacks)| Refused::Misfit(Misfit { vcpu, lacks }));
                prop_assert_eq!(asked.err(), expected);
                if expected.is_some() {
                    break;
                }
            }
        }
    }
}
