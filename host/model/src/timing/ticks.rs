//! Times in the ticks of the partition's counter, as its scheduler counts them
//!
//! Run-time admission rounds costs and budgets up, and periods and slots down, to whole ticks. The analysis does the same, so that run-time admission admits
//! all that the analysis accepts.

use super::{
    CoreAnalysis, NO_DEADLINE, PriorityTask, PriorityThread, Slot, Task, Timing, Vcpu, VcpuKind,
};
use bulkhead_analysis::Reservation;
use bulkhead_analysis::overhead::Overhead;

const NS_PER_S: u128 = 1_000_000_000;

/// Conversion between nanoseconds and ticks of a counter.
#[derive(Clone, Copy)]
pub(super) struct Ticks {
    /// Of the counter.
    hz: u128,
}

impl Ticks {
    fn down(self, ns: u64) -> u64 {
        clamp(u128::from(ns) * self.hz / NS_PER_S)
    }

    fn up(self, ns: u64) -> u64 {
        match ns {
            NO_DEADLINE => NO_DEADLINE,
            ns => clamp((u128::from(ns) * self.hz).div_ceil(NS_PER_S)),
        }
    }

    /// Nanoseconds in so many ticks, rounded up.
    pub(super) fn ns(self, ticks: u64) -> u64 {
        clamp((u128::from(ticks) * NS_PER_S).div_ceil(self.hz))
    }

    fn vcpu(self, vcpu: &Vcpu) -> Vcpu {
        let mut counted = vcpu.clone();
        if let VcpuKind::Main {
            capacity_ns,
            period_ns,
        }
        | VcpuKind::Reservation {
            capacity_ns,
            period_ns,
        } = &mut counted.kind
        {
            *period_ns = self.down(*period_ns);
            *capacity_ns = self.up(*capacity_ns).min(*period_ns);
        }
        counted
    }

    fn task(self, task: &Task, vcpu: &Vcpu) -> Task {
        let budget = vcpu.budget().filter(|_| task.is_stage);
        let whole = budget.map(|budget| self.vcpu(vcpu).budget().unwrap_or(budget));
        Task {
            // The WCET of a stage is its part of a whole budget.
            wcet_ns: match whole {
                Some(whole) => whole.capacity / task.burst.max(1),
                // Run-time admission counts the jobs of bottom halves; jobs on a Main VCPU add up to its budget, not their roundings.
                None if vcpu.budget().is_none() => self.up(task.wcet_ns),
                None => self.down(task.wcet_ns),
            },
            period_ns: self.down(task.period_ns),
            // What another task releases comes as late as this.
            deadline_ns: self.up(task.deadline_ns),
            ..task.clone()
        }
    }

    fn thread(self, thread: &PriorityThread) -> PriorityThread {
        let task = |task: &PriorityTask| PriorityTask {
            wcet_ns: self.up(task.wcet_ns),
            period_ns: self.down(task.period_ns),
            ..task.clone()
        };
        let budget = |budget: Reservation| Reservation {
            // What the kernel grants is rounded down, what a thread takes is rounded up.
            capacity: self.down(budget.capacity),
            period: self.down(budget.period),
        };
        PriorityThread {
            budget: thread.budget.map(budget),
            task: thread.task.as_ref().map(task),
            ..thread.clone()
        }
    }

    fn slot(self, slot: &Slot) -> Slot {
        let start_ns = self.down(slot.start_ns);
        let end = self.down(slot.start_ns.saturating_add(slot.length_ns));
        Slot {
            start_ns,
            length_ns: end.saturating_sub(start_ns),
            ..slot.clone()
        }
    }

    fn overhead(self, overhead: Overhead) -> Overhead {
        Overhead {
            decision: self.up(overhead.decision),
            interrupt: self.up(overhead.interrupt),
            job: self.up(overhead.job),
            stage: self.up(overhead.stage),
            blocking: self.up(overhead.blocking),
        }
    }

    /// Converts the result for a core from ticks to nanoseconds.
    pub(super) fn core(self, core: CoreAnalysis) -> CoreAnalysis {
        let all = |times: Vec<(usize, Option<u64>)>| {
            let times = times.into_iter();
            times
                .map(|(index, time)| (index, time.map(|time| self.ns(time))))
                .collect()
        };
        let inflation = core.inflation.into_iter();
        let io = core.io.into_iter();
        CoreAnalysis {
            mains: all(core.mains),
            misfit: core.misfit.map(|(index, lacks)| (index, self.ns(lacks))),
            inflation: inflation
                .map(|time| time.map(|time| self.ns(time)))
                .collect(),
            slots: all(core.slots),
            tasks: all(core.tasks),
            io: io
                .map(|(index, mut io)| {
                    io.longest = self.ns(io.longest);
                    (index, io)
                })
                .collect(),
            ..core
        }
    }
}

impl Timing {
    /// The counter that the scheduler reads.
    pub(super) fn ticks(&self) -> Ticks {
        Ticks {
            hz: u128::from(self.counter_hz.get()),
        }
    }

    /// Returns this timing with every time in ticks.
    pub(super) fn in_ticks(&self) -> Self {
        let ticks = self.ticks();
        let down = |&(core, ns): &(usize, u64)| (core, ticks.down(ns));
        let mut schedule = self.schedule.clone();
        schedule.quantum_ns = schedule.quantum_ns.map(|ns| ticks.down(ns));
        schedule.frame_ns = ticks.down(schedule.frame_ns);
        schedule.slots = schedule.slots.iter().map(|slot| ticks.slot(slot)).collect();
        let doorbells = self.doorbells.iter();
        let task = |task: &Task| ticks.task(task, &self.vcpus[task.vcpu]);
        Self {
            schedule,
            vcpus: self.vcpus.iter().map(|vcpu| ticks.vcpu(vcpu)).collect(),
            tasks: self.tasks.iter().map(task).collect(),
            threads: self.threads.iter().map(|one| ticks.thread(one)).collect(),
            overhead: ticks.overhead(self.overhead),
            switch_ns: ticks.up(self.switch_ns),
            doorbells: doorbells
                .map(|&(limit, per)| (limit, ticks.down(per)))
                .collect(),
            polls: self.polls.iter().map(down).collect(),
            ..*self
        }
    }
}

fn clamp(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::Place;
    use std::num::NonZero;

    /// One VCPU of which all that it lacks is the rounding: 0.5 of 16 ns.
    #[test]
    fn what_fits_by_less_than_a_tick_does_not() {
        let main = |capacity_ns| Vcpu {
            name: "v".into(),
            span: 0..0,
            kind: VcpuKind::Main {
                capacity_ns,
                period_ns: 16_000,
            },
            place: Place::default(),
            core: 0,
        };
        let timing = |hz| Timing {
            vcpus: vec![main(998 * 16)],
            overhead: Overhead {
                decision: 8,
                ..Overhead::default()
            },
            counter_hz: NonZero::new(hz).expect("not 0"),
            ..Timing::default()
        };
        let misfit = |hz| timing(hz).analyse().remove(0).misfit;
        assert_eq!(misfit(1_000_000_000), None, "three decisions of 8 ns");
        assert_eq!(misfit(62_500_000), Some((0, 16)), "of 16 ns each");
    }

    /// Jobs of 62.5 ticks on a VCPU of 125.
    #[test]
    fn jobs_that_add_up_to_a_budget_fit_it() {
        let vcpu = Vcpu {
            name: "v".into(),
            span: 0..0,
            kind: VcpuKind::Main {
                capacity_ns: 2_000,
                period_ns: 16_000,
            },
            place: Place::default(),
            core: 0,
        };
        let task = |name: &str| Task {
            name: name.into(),
            span: 0..0,
            vcpu: 0,
            cause: 0,
            after: None,
            wcet_ns: 1_000,
            period_ns: 16_000,
            deadline_ns: 16_000,
            burst: 1,
            is_stage: false,
        };
        let timing = Timing {
            vcpus: vec![vcpu],
            tasks: vec![task("a"), task("b")],
            counter_hz: NonZero::new(62_500_000).expect("not 0"),
            ..Timing::default()
        };
        let core = timing.analyse().remove(0);
        assert!(
            core.tasks.iter().all(|(_, bound)| bound.is_some()),
            "{core:?}"
        );
    }

    #[test]
    fn a_time_is_whole_ticks() {
        let ticks = Ticks { hz: 62_500_000 };
        assert_eq!((ticks.down(31), ticks.up(31), ticks.ns(2)), (1, 2, 32));
        assert_eq!(ticks.up(NO_DEADLINE), NO_DEADLINE);
    }
}
