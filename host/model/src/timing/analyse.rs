//! The analysis of `bulkhead-analysis`, core by core

use super::overhead::Prolonged;
use super::{Order, Task, Timing, Vcpu, VcpuKind};
use bulkhead_analysis::time_partitions::{Core, Placed, Slot, Table};
use bulkhead_analysis::utilisation::{self, Fraction, WHOLE};
use bulkhead_analysis::vcpu::{self, Io};
use bulkhead_analysis::{Reservation, Time, admission, overhead};
use bulkhead_sched::budget::Utilisation;

/// The answer for one core.
#[derive(Clone, Debug)]
pub struct CoreAnalysis {
    /// Core of the partition, from 0.
    pub core: usize,
    /// Main VCPUs and reservations, most important first: index, and the response of a whole
    /// budget, `None` where it does not fit into T.
    pub mains: Vec<(usize, Option<Time>)>,
    /// The first that does not fit: index, and how much of its C it lacks.
    pub misfit: Option<(usize, Time)>,
    /// By how much bands prolong the responses of `mains`; `None` without a response.
    pub inflation: Vec<Option<Time>>,
    /// The core's slots: index among all, and by how much bands need it to be longer.
    pub slots: Vec<(usize, Option<Time>)>,
    /// I/O VCPUs: index, and as others see it.
    pub io: Vec<(usize, Io)>,
    /// Σ C/T + Σ (2 − U)·U, scheduling overhead included.
    pub demand: Fraction,
    /// Scheduling overhead, as a part of it.
    pub overhead_share: Fraction,
    /// Utilisation that always fits: n(2^{1/n} − 1) by rate, 1 by deadline; `None` if priorities
    /// are given.
    pub always_fits: Option<Fraction>,
    /// Tasks: index and bound of the response, `None` where there is none within the period.
    pub tasks: Vec<(usize, Option<Time>)>,
}

impl Timing {
    /// The cores with VCPUs, in order, each analysed. Expects valid C and T, and tasks that fit
    /// their VCPUs; others are ignored.
    #[must_use]
    pub fn analyse(&self) -> Vec<CoreAnalysis> {
        let mut cores: Vec<_> = self.vcpus.iter().map(|vcpu| vcpu.core).collect();
        cores.sort_unstable();
        cores.dedup();
        let (ticks, counted) = (self.ticks(), self.in_ticks());
        cores
            .into_iter()
            .map(|core| ticks.core(counted.analyse_core(core)))
            .collect()
    }

    fn on(&self, core: usize) -> impl Iterator<Item = (usize, &Vcpu)> {
        let all = self.vcpus.iter().enumerate();
        all.filter(move |(_, vcpu)| vcpu.core == core)
    }

    /// Main VCPUs and reservations of a core, by period or as their priorities say; of equals, the
    /// first described is the more important.
    #[must_use]
    pub fn ranked(&self, core: usize) -> Vec<(usize, Reservation)> {
        let budgets = self
            .on(core)
            .filter_map(|(index, vcpu)| Some((index, vcpu.budget()?)));
        let mut mains: Vec<_> = budgets.collect();
        mains.sort_by_key(|&(index, main)| match self.schedule.order {
            Order::FixedPriority => {
                let rank = self.place_of(index, main).rank();
                (rank.0.into(), rank.1, rank.2)
            }
            _ => (main.period, 0, 0),
        });
        mains
    }

    /// By how much the releases of a task may come later than regular: it meets no deadline
    /// otherwise.
    #[must_use]
    pub fn jitter(&self, task: &Task) -> Time {
        let before = task.after.and_then(|index| self.tasks.get(index));
        before.map_or(0, |before| before.deadline_ns)
    }

    /// Longest time of a job: its own code, and what the runtime takes of its budget. A stage's
    /// WCET is its whole budget.
    pub(super) fn job_ns(&self, task: &Task) -> Time {
        match task.is_stage {
            true => task.wcet_ns,
            false => task.wcet_ns.saturating_add(self.overhead.job),
        }
    }

    /// How many of `ranked` are more important than what waits for a task's bottom half.
    fn rank(&self, ranked: &[(usize, Reservation)], cause: usize) -> Option<usize> {
        match self.schedule.order {
            Order::FixedPriority => Some(self.vcpus.get(cause)?.place.priority.into()),
            _ => ranked.iter().position(|(main, _)| *main == cause),
        }
    }

    /// I/O VCPUs of a core that work for a VCPU, as others see them.
    #[must_use]
    pub fn io(&self, core: usize) -> Vec<(usize, Io)> {
        let ranked = self.ranked(core);
        let io = |(index, vcpu): (usize, &Vcpu)| {
            let VcpuKind::Io { percent } = vcpu.kind else {
                return None;
            };
            let causes = || self.tasks.iter().filter(|task| task.vcpu == index);
            let periods = causes().filter_map(|task| Some(self.vcpus[task.cause].budget()?.period));
            let ranks = causes().filter_map(|task| self.rank(&ranked, task.cause));
            Some((
                index,
                Io {
                    utilisation: Fraction::ratio(percent.into(), 100)?,
                    longest: periods.max()?,
                    rank: ranks.min()?,
                },
            ))
        };
        self.on(core).filter_map(io).collect()
    }

    /// The core as its time partitions see it.
    fn placed(&self, ranked: &[(usize, Reservation)], prolonged: &Prolonged) -> Vec<Placed> {
        let placed = |(&(index, _), limits): (&(usize, Reservation), &Reservation)| {
            self.place_of(index, *limits)
        };
        ranked.iter().zip(&prolonged.mains).map(placed).collect()
    }

    /// A VCPU with that budget among its time partitions.
    fn place_of(&self, index: usize, limits: Reservation) -> Placed {
        let vcpu = &self.vcpus[index];
        Placed {
            limits,
            partition: vcpu.place.partition,
            priority: vcpu.place.priority,
            reservation: matches!(vcpu.kind, VcpuKind::Reservation { .. }),
        }
    }

    fn slots(&self, core: usize) -> Vec<(usize, Slot)> {
        let slots = self.schedule.slots.iter().enumerate();
        let slots = slots.filter(|(_, slot)| slot.core == core);
        let slot = |(index, slot): (usize, &super::Slot)| {
            let placed = Slot {
                start: slot.start_ns,
                length: slot.length_ns,
                partition: slot.partition,
            };
            (index, placed)
        };
        slots.map(slot).collect()
    }

    fn analyse_core(&self, core: usize) -> CoreAnalysis {
        let ranked = self.ranked(core);
        let prolonged = self.prolonged(core, &ranked);
        let numbered = self.io(core);
        let io: Vec<_> = numbered.iter().map(|(_, io)| *io).collect();
        let demand = demand(&prolonged, &io);
        let budgets = Prolonged {
            mains: ranked.iter().map(|(_, main)| *main).collect(),
            ahead: Vec::new(),
        };
        let overhead_share = Fraction(demand.0.saturating_sub(self::demand(&budgets, &io).0));
        let placed = self.placed(&ranked, &prolonged);
        let slots = self.slots(core);
        let table: Vec<_> = slots.iter().map(|(_, slot)| *slot).collect();
        let partitioned = Core {
            vcpus: &placed,
            io: &io,
            ahead: &prolonged.ahead,
            table: Table {
                frame: self.schedule.frame_ns,
                slots: &table,
            },
        };
        let (responses, misfit) = self.responses(&prolonged, &partitioned);
        let parts = Parts {
            timing: self,
            ranked: &ranked,
            prolonged: &prolonged,
            responses: &responses,
            io: &numbered,
            fits: misfit.is_none(),
            partitioned,
        };
        let tasks = self.tasks.iter().enumerate();
        let tasks = tasks.filter(|(_, task)| self.vcpus[task.vcpu].core == core);
        CoreAnalysis {
            core,
            demand,
            overhead_share,
            always_fits: self.always_fits(ranked.len()),
            tasks: tasks
                .map(|(index, task)| (index, parts.bound(task).filter(|&b| b <= task.period_ns)))
                .collect(),
            inflation: self.inflation(&partitioned),
            slots: slots
                .iter()
                .map(|(index, slot)| (*index, longer(&partitioned, slot)))
                .collect(),
            misfit: misfit.map(|(rank, lacks)| {
                let (index, main) = ranked[rank];
                (index, lacks.min(main.capacity))
            }),
            mains: ranked
                .iter()
                .map(|(index, _)| *index)
                .zip(responses)
                .collect(),
            io: numbered,
        }
    }

    fn always_fits(&self, mains: usize) -> Option<Fraction> {
        match self.schedule.order {
            Order::RateMonotonic => Some(utilisation::rate_monotonic_bound(mains)),
            Order::EarliestDeadline => Some(WHOLE),
            Order::FixedPriority => None,
        }
    }

    /// By how much bands prolong responses, by rank.
    fn inflation(&self, core: &Core<'_>) -> Vec<Option<Time>> {
        let by_priority = self.schedule.order == Order::FixedPriority;
        let all = 0..core.vcpus.len();
        all.map(|index| match by_priority {
            true => core.inflation(index),
            false => Some(0),
        })
        .collect()
    }

    /// Responses of whole budgets, and the rank of the first that does not fit, with what it lacks.
    fn responses(
        &self,
        Prolonged { mains, ahead }: &Prolonged,
        partitioned: &Core<'_>,
    ) -> (Vec<Option<Time>>, Option<(usize, Time)>) {
        let all = 0..mains.len();
        let io = partitioned.io;
        match self.schedule.order {
            Order::RateMonotonic => {
                let responses = all.map(|rank| vcpu::main_response_behind(ahead, mains, io, rank));
                let misfit = admission::misfit_behind(ahead, mains, io);
                let misfit = misfit.map(|misfit| (misfit.vcpu, misfit.lacks));
                (responses.collect(), misfit)
            }
            Order::EarliestDeadline => {
                let misfit = admission::misfit_by_deadline(ahead, mains, io);
                let misfit = misfit.map(|misfit| (misfit.vcpu, misfit.lacks));
                let mut responses = vec![None; mains.len()];
                admission::band(ahead, mains.iter().copied(), io).responses(&mut responses);
                (responses, misfit)
            }
            Order::FixedPriority => {
                let responses = all.map(|index| partitioned.response(index));
                (responses.collect(), partitioned.misfit())
            }
        }
    }
}

/// Demand of a core with these VCPUs.
fn demand(Prolonged { mains, ahead }: &Prolonged, io: &[Io]) -> Fraction {
    let shares = io.iter().map(|io| io.utilisation);
    utilisation::demand(mains.iter().chain(ahead), shares).unwrap_or(Fraction(u64::MAX))
}

/// By how much longer bands need a slot to be, for the least important that runs in it.
fn longer(core: &Core<'_>, slot: &Slot) -> Option<Time> {
    let vcpus = core.vcpus.iter();
    let vcpus = vcpus.filter(|vcpu| vcpu.partition == slot.partition);
    let least = vcpus.map(|vcpu| vcpu.priority).max().unwrap_or(u8::MAX);
    core.slot_inflation(slot, least)
}

/// Data from which the bounds of a core's tasks are computed.
struct Parts<'a> {
    timing: &'a Timing,
    ranked: &'a [(usize, Reservation)],
    prolonged: &'a Prolonged,
    responses: &'a [Option<Time>],
    io: &'a [(usize, Io)],
    fits: bool,
    partitioned: Core<'a>,
}

impl Parts<'_> {
    /// Of a task, from the release of the first of those that release each other before it.
    fn bound(&self, task: &Task) -> Option<Time> {
        let mut bound = self.own_bound(task)?;
        let mut before = task.after;
        // The loop visits each task at most once, because no task releases itself.
        for _ in &self.timing.tasks {
            let Some(one) = before.and_then(|index| self.timing.tasks.get(index)) else {
                break;
            };
            bound = bound.checked_add(self.own_bound(one)?)?;
            before = one.after;
        }
        Some(bound)
    }

    /// From its own release.
    fn own_bound(&self, task: &Task) -> Option<Time> {
        if let VcpuKind::Io { percent } = self.timing.vcpus[task.vcpu].kind {
            return self.bottom_half_bound(task, percent);
        }
        let is_server = |(index, _): &(usize, Reservation)| *index == task.vcpu;
        let rank = self.ranked.iter().position(is_server)?;
        let (work, distance) = self.work_on(task.vcpu)?;
        let (_, main) = self.ranked[rank];
        let response = vcpu::work_response(main, self.responses[rank]?, work, distance)?;
        // The scheduler knows exactly when a stage is released.
        let late = match task.is_stage {
            true => 0,
            false => overhead::latency(&self.prolonged.ahead)?,
        };
        response.checked_add(late)
    }

    /// All that can wait on a VCPU at once, one job of each task, and the shortest distance of two
    /// jobs of a task. One that another releases comes as late as that one's deadline lets it.
    fn work_on(&self, vcpu: usize) -> Option<(Time, Time)> {
        let mut tasks = self.timing.tasks.iter().filter(|task| task.vcpu == vcpu);
        tasks.try_fold((0, Time::MAX), |(work, distance), task| {
            let jobs = self.timing.job_ns(task).checked_mul(task.burst)?;
            let work: Time = jobs.checked_add(work)?;
            let late = self.timing.jitter(task);
            Some((work, distance.min(task.period_ns.saturating_sub(late))))
        })
    }

    /// An I/O VCPU gives U·T in T, T the shortest and the longest period it works for.
    fn bottom_half_bound(&self, task: &Task, percent: u32) -> Option<Time> {
        let (_, io) = self.io.iter().find(|(index, _)| *index == task.vcpu)?;
        let tasks = &self.timing.tasks;
        let same = || tasks.iter().filter(|other| other.vcpu == task.vcpu);
        let period_of = |task: &Task| Some(self.timing.vcpus[task.cause].budget()?.period);
        let shortest = same().filter_map(period_of).min()?;
        let share = Utilisation::ratio(percent, 100).ok()?;
        let response = self.share_response(task, share.of(io.longest), io.longest)?;
        let server = Reservation::new(share.of(shortest), io.longest)?;
        let (work, distance) = self.work_on(task.vcpu)?;
        // With one replenishment and no list, the second job waits until the first one's time has been replenished.
        let alone = same().count() == 1;
        let distance = if alone { distance } else { 0 };
        let response = vcpu::work_response(server, response, work, distance)?;
        response.checked_add(overhead::latency(&self.prolonged.ahead)?)
    }

    /// Response of `share` by its deadline, which is that of the one VCPU for which an I/O VCPU
    /// works; of several, the budget may have begun with the longest period.
    fn deadline_response(&self, task: &Task, share: Time, longest: Time) -> Option<Time> {
        let causes = self.timing.tasks.iter();
        let mut causes = causes.filter(|other| other.vcpu == task.vcpu);
        if !self.fits || causes.any(|other| other.cause != task.cause) {
            return self.fits.then_some(longest);
        }
        let Prolonged { mains, ahead } = self.prolonged;
        let others = self.io.iter().filter(|(index, _)| *index != task.vcpu);
        let others: Vec<_> = others.map(|(_, other)| *other).collect();
        let server = Reservation::new(share, longest)?;
        let servers = mains.iter().copied().chain([server]);
        let found = admission::band(ahead, servers, &others).response(mains.len());
        // The test that counts what an I/O VCPU takes in any window has been passed.
        Some(found.unwrap_or(longest))
    }

    /// Returns the response of `share` at the importance of the main VCPU for which the bottom half
    /// works.
    fn share_response(&self, task: &Task, share: Time, longest: Time) -> Option<Time> {
        let others = self.io.iter().filter(|(index, _)| *index != task.vcpu);
        let cause = &self.timing.vcpus[task.cause];
        match self.timing.schedule.order {
            Order::RateMonotonic => {
                let least = cause.budget()?.period;
                let Prolonged { mains, ahead } = self.prolonged;
                let before = mains.iter().take_while(|main| main.period <= least);
                let higher: Vec<_> = ahead.iter().chain(before).copied().collect();
                let rank = higher.len() - ahead.len();
                let others = others.filter(|(_, other)| other.rank < rank);
                let others = others.map(|(_, other)| other);
                vcpu::response(share, &higher, others, longest)
            }
            Order::EarliestDeadline => self.deadline_response(task, share, longest),
            Order::FixedPriority => {
                let mut vcpus = self.partitioned.vcpus.to_vec();
                vcpus.push(Placed {
                    limits: Reservation::new(share, longest)?,
                    partition: 0,
                    priority: cause.place.priority,
                    reservation: false,
                });
                let io: Vec<_> = others.map(|(_, other)| *other).collect();
                let core = Core {
                    vcpus: &vcpus,
                    io: &io,
                    ..self.partitioned
                };
                core.response(vcpus.len() - 1)
            }
        }
    }
}
