//! VCPUs and tasks of a partition, and what the analysis answers for them
//!
//! The rules, `check` and the simulator read the same [`Timing`]; [`Timing::analyse`] applies
//! `bulkhead-analysis` core by core. Times are nanoseconds.

mod explain;

use crate::system::Span;
use bulkhead_analysis::utilisation::{self, Fraction};
use bulkhead_analysis::vcpu::{self, Io};
use bulkhead_analysis::{Reservation, Time};
use bulkhead_sched::budget::Utilisation;

/// What a partition schedules.
#[derive(Clone, Debug, Default)]
pub struct Timing {
    /// In the order of the description.
    pub vcpus: Vec<Vcpu>,
    /// In the order of the description.
    pub tasks: Vec<Task>,
}

/// A VCPU.
#[derive(Clone, Debug)]
pub struct Vcpu {
    /// Name, at most 15 characters.
    pub name: String,
    /// Where it is described.
    pub span: Span,
    /// Its budget.
    pub kind: VcpuKind,
    /// Core of the partition, from 0.
    pub core: usize,
}

/// Budget of a VCPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VcpuKind {
    /// Sporadic server.
    Main {
        /// C.
        capacity_ns: u64,
        /// T.
        period_ns: u64,
    },
    /// Bandwidth-preserving server of so many percent.
    Io {
        /// U, 1 to 100.
        percent: u32,
    },
}

/// A task.
#[derive(Clone, Debug)]
pub struct Task {
    /// Name, at most 15 characters.
    pub name: String,
    /// Where it is described.
    pub span: Span,
    /// Index of the VCPU it runs on.
    pub vcpu: usize,
    /// Index of the main VCPU it works for: its own where that is one.
    pub cause: usize,
    /// Worst-case execution time of a job.
    pub wcet_ns: u64,
    /// Shortest distance of two jobs.
    pub period_ns: u64,
    /// From release to end; at most the period.
    pub deadline_ns: u64,
}

/// The answer for one core.
#[derive(Clone, Debug)]
pub struct CoreAnalysis {
    /// Core of the partition, from 0.
    pub core: usize,
    /// Main VCPUs, most important first: index, and the response of a whole budget, `None` where
    /// it does not fit into T.
    pub mains: Vec<(usize, Option<Time>)>,
    /// I/O VCPUs: index, and as others see it.
    pub io: Vec<(usize, Io)>,
    /// Σ C/T + Σ (2 − U)·U.
    pub demand: Fraction,
    /// n(2^{1/n} − 1).
    pub rate_monotonic: Fraction,
    /// Tasks: index and bound of the response, `None` where there is none within the period.
    pub tasks: Vec<(usize, Option<Time>)>,
}

impl Timing {
    /// The cores that have VCPUs, in order, each analysed. Expects C and T that are valid, and
    /// tasks whose VCPUs fit them; others count for nothing.
    #[must_use]
    pub fn analyse(&self) -> Vec<CoreAnalysis> {
        let mut cores: Vec<_> = self.vcpus.iter().map(|vcpu| vcpu.core).collect();
        cores.sort_unstable();
        cores.dedup();
        cores
            .into_iter()
            .map(|core| self.analyse_core(core))
            .collect()
    }

    /// Main VCPUs of a core, by period; of equals, the first described is the more important.
    #[must_use]
    pub fn ranked(&self, core: usize) -> Vec<(usize, Reservation)> {
        let here = self
            .vcpus
            .iter()
            .enumerate()
            .filter(|(_, vcpu)| vcpu.core == core);
        let main = |(index, vcpu): (usize, &Vcpu)| match vcpu.kind {
            VcpuKind::Main {
                capacity_ns,
                period_ns,
            } => Some((index, Reservation::new(capacity_ns, period_ns)?)),
            VcpuKind::Io { .. } => None,
        };
        let mut mains: Vec<_> = here.filter_map(main).collect();
        mains.sort_by_key(|(_, main)| main.period);
        mains
    }

    /// I/O VCPUs of a core that work for somebody, as others see them.
    #[must_use]
    pub fn io(&self, core: usize) -> Vec<(usize, Io)> {
        let ranked = self.ranked(core);
        let here = self
            .vcpus
            .iter()
            .enumerate()
            .filter(|(_, vcpu)| vcpu.core == core);
        let io = |(index, vcpu): (usize, &Vcpu)| {
            let VcpuKind::Io { percent } = vcpu.kind else {
                return None;
            };
            let causes = self.tasks.iter().filter(|task| task.vcpu == index);
            let ranks: Vec<usize> = causes
                .filter_map(|task| ranked.iter().position(|(main, _)| *main == task.cause))
                .collect();
            let longest = ranks.iter().map(|&rank| ranked[rank].1.period).max()?;
            let utilisation = Fraction::ratio(percent.into(), 100)?;
            Some((
                index,
                Io {
                    utilisation,
                    longest,
                    rank: *ranks.iter().min()?,
                },
            ))
        };
        here.filter_map(io).collect()
    }

    fn analyse_core(&self, core: usize) -> CoreAnalysis {
        let ranked = self.ranked(core);
        let mains: Vec<_> = ranked.iter().map(|(_, main)| *main).collect();
        let numbered = self.io(core);
        let io: Vec<_> = numbered.iter().map(|(_, io)| *io).collect();
        let shares: Vec<_> = io.iter().map(|io| io.utilisation).collect();
        let responses: Vec<_> = (0..mains.len())
            .map(|rank| vcpu::main_response(&mains, &io, rank))
            .collect();
        let tasks = self.tasks.iter().enumerate();
        let tasks = tasks.filter(|(_, task)| self.vcpus[task.vcpu].core == core);
        let bound = |task: &Task| match self.vcpus[task.vcpu].kind {
            VcpuKind::Main { .. } => {
                let rank = ranked.iter().position(|(index, _)| *index == task.vcpu)?;
                self.work_bound(task, mains[rank], responses[rank]?)
            }
            VcpuKind::Io { percent } => self.bottom_half_bound(task, percent, &mains, &numbered),
        };
        CoreAnalysis {
            core,
            demand: utilisation::demand(&mains, &shares).unwrap_or(Fraction(u64::MAX)),
            rate_monotonic: utilisation::rate_monotonic_bound(mains.len()),
            tasks: tasks
                .map(|(index, task)| (index, bound(task).filter(|&b| b <= task.period_ns)))
                .collect(),
            mains: ranked
                .iter()
                .map(|(index, _)| *index)
                .zip(responses)
                .collect(),
            io: numbered,
        }
    }

    /// All that can wait on a VCPU at once, one job of each task, and the shortest period among them.
    fn work_on(&self, vcpu: usize) -> Option<(Time, Time)> {
        let mut tasks = self.tasks.iter().filter(|task| task.vcpu == vcpu);
        tasks.try_fold((0, Time::MAX), |(work, distance), task| {
            let work: Time = task.wcet_ns.checked_add(work)?;
            Some((work, distance.min(task.period_ns)))
        })
    }

    fn work_bound(&self, task: &Task, server: Reservation, response: Time) -> Option<Time> {
        let (work, distance) = self.work_on(task.vcpu)?;
        vcpu::work_response(server, response, work, distance)
    }

    /// An I/O VCPU gives U·T in T, T the shortest and the longest period it works for.
    fn bottom_half_bound(
        &self,
        task: &Task,
        percent: u32,
        mains: &[Reservation],
        io: &[(usize, Io)],
    ) -> Option<Time> {
        let (_, own) = io.iter().find(|(index, _)| *index == task.vcpu)?;
        let same = self.tasks.iter().filter(|other| other.vcpu == task.vcpu);
        let period_of = |task: &Task| match self.vcpus[task.cause].kind {
            VcpuKind::Main { period_ns, .. } => Some(period_ns),
            VcpuKind::Io { .. } => None,
        };
        let shortest = same.filter_map(period_of).min()?;
        let least = period_of(task)?;
        let share = Utilisation::ratio(percent, 100).ok()?;
        let rank = mains.iter().take_while(|main| main.period <= least).count();
        let others = io
            .iter()
            .filter(|(index, other)| *index != task.vcpu && other.rank < rank);
        let others = others.map(|(_, other)| other);
        let response = vcpu::response(share.of(own.longest), &mains[..rank], others, own.longest)?;
        let server = Reservation::new(share.of(shortest), own.longest)?;
        let (work, distance) = self.work_on(task.vcpu)?;
        // With one replenishment and no list, who comes second waits until the first has been paid for.
        let alone = self
            .tasks
            .iter()
            .filter(|other| other.vcpu == task.vcpu)
            .count()
            == 1;
        vcpu::work_response(server, response, work, if alone { distance } else { 0 })
    }
}
