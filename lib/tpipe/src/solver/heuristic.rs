//! The paper's heuristic (003 §3.1.4)
//!
//! *FIFO*: all periods Δ, so that Δ·n is the delay on the longest path (devices keep their own; where 1/Δ is
//! below the throughput, Δ is its inverse). While the cores' utilisation tests fail, all periods
//! are stretched by α. If that takes too long, then from the input on, for each producer on the
//! path, its T is halved and its consumers' C doubled while this is possible and needed. Then the C
//! and T of each consumer that handles several messages are halved.
//!
//! *Four-slot*: the paper gives conditions and no steps. All periods are Δ. If a loss is allowed, the stages behind the first are slower by this fraction, as
//! in Table 3 compared with Table 1. All periods are stretched by α as for FIFO.
//!
//! *Best effort*: default periods, or multiples of them; [`yields`](super::yields) stretches them
//! until they fit.
//!
//! Cores are tested as the paper tests them: Σ C/T + Σ (2 − U)·U against n(2^{1/n} − 1), or against
//! 1 under EDF.

use super::shape::{Limits, Shape, slower};
use crate::assessment::{Setting, budget, longest, period_limits, periods, possible};
use crate::binding::Bound;
use crate::language::{Buffering, Flow, Requirement, SOURCE};
use crate::repository::Policy;
use bulkhead_analysis::Time;
use bulkhead_analysis::utilisation::{Fraction, WHOLE, io_share, rate_monotonic_bound};

/// α as a fraction: small steps, so that the stretch overshoots little.
const STRETCH: (u64, u64) = (9, 8);
/// Stretches before a pipeline counts as too much: by then periods are 10^5 times as long.
const STRETCHES: usize = 100;

/// The heuristic's setting, and whether the paper's conditions hold for it. Best effort has so many
/// `times` the default periods.
#[must_use]
pub fn setting<const N: usize>(bound: &Bound<'_, N>, times: u64) -> (Setting<N>, bool) {
    let heuristic = Heuristic::new(bound);
    let Some(required) = bound.pipeline.requirement else {
        return heuristic.best_effort(times);
    };
    let mut setting = heuristic.start(required);
    let mut content = heuristic.stretch(&mut setting);
    if content && bound.pipeline.buffering == Buffering::Fifo {
        heuristic.shorten(&mut setting, required.delay_ns);
    }
    content &= heuristic.length(&setting) <= required.delay_ns;
    content &= keeps_flow(bound, &setting, required);
    (setting, content)
}

/// Loss by the shorter period of a producer, and throughput.
fn keeps_flow<const N: usize>(
    bound: &Bound<'_, N>,
    setting: &Setting<N>,
    required: Requirement,
) -> bool {
    let mut limits: Limits<N> = Limits::new(required, false);
    (0..bound.len()).all(|stage| {
        let period = setting.period[stage];
        let most = limits
            .most(bound, stage)
            .saturating_mul(setting.messages[stage]);
        limits.settle(bound, stage, period);
        period <= most
    })
}

struct Heuristic<'a, const N: usize> {
    bound: &'a Bound<'a, N>,
    /// Per core: what its utilisation test compares with, less what is taken already.
    room: [Option<Fraction>; CORES],
}

/// Most cores with a room of their own; a pipeline on more is not schedulable by this heuristic.
const CORES: usize = 64;

impl<'a, const N: usize> Heuristic<'a, N> {
    fn new(bound: &'a Bound<'a, N>) -> Self {
        let mut heuristic = Self {
            bound,
            room: [None; CORES],
        };
        let cores = bound.repository.cores.len();
        for (core, room) in heuristic.room.iter_mut().enumerate().take(cores) {
            *room = room_on(bound, core);
        }
        heuristic
    }

    fn length(&self, setting: &Setting<N>) -> Time {
        longest(self.bound, |stage| periods(self.bound, setting, stage))
    }

    fn start(&self, required: Requirement) -> Setting<N> {
        let mut shape = Shape::uniform();
        if let Flow::Loss(loss) = required.flow {
            let stages = self.bound.pipeline.stages().iter();
            for (weight, stage) in shape.weight.iter_mut().zip(stages) {
                if stage.from != SOURCE {
                    *weight = slower(*weight, loss.0).min(1 << 32);
                }
            }
        }
        shape.fit(self.bound, required, required.delay_ns)
    }

    /// Returns whether every budget fits its period and every core passes its utilisation test.
    fn schedulable(&self, setting: &Setting<N>) -> bool {
        let bound = self.bound;
        let mut taken = [0u64; CORES];
        for stage in 0..bound.len() {
            let core = bound.function(stage).core;
            let capacity = budget(bound, stage, setting.messages[stage]);
            let share = Fraction::ratio(capacity, setting.period[stage]);
            let (Some(taken), Some(share)) = (taken.get_mut(core), share) else {
                return false;
            };
            *taken = taken.saturating_add(share.0);
        }
        let fits = |(taken, room): (&u64, &Option<Fraction>)| match room {
            Some(room) => *taken <= room.0,
            None => *taken == 0,
        };
        (0..bound.len()).all(|stage| possible(bound, setting, stage))
            && taken.iter().zip(&self.room).all(fits)
    }

    /// Stretches until it can be scheduled; `false` where it cannot.
    fn stretch(&self, setting: &mut Setting<N>) -> bool {
        for _ in 0..STRETCHES {
            if self.schedulable(setting) {
                return true;
            }
            for stage in 0..self.bound.len() {
                let most = period_limits(self.bound, stage).1;
                let period = &mut setting.period[stage];
                *period = (period.saturating_mul(STRETCH.0).div_ceil(STRETCH.1)).min(most);
            }
        }
        self.schedulable(setting)
    }

    /// Halves periods of producers, then those of consumers.
    fn shorten(&self, setting: &mut Setting<N>, delay: Time) {
        let halves: [fn(&Self, &mut Setting<N>, usize) -> bool; 2] =
            [Self::halve_producer, Self::halve_consumer];
        for halve in halves {
            for stage in 0..self.bound.len() {
                while self.length(setting) > delay && halve(self, setting, stage) {}
            }
        }
    }

    /// Halves a stage's T and doubles the C of those it feeds, if that can be.
    fn halve_producer(&self, setting: &mut Setting<N>, producer: usize) -> bool {
        let stages = self.bound.pipeline.stages();
        let mut changed = *setting;
        changed.period[producer] /= 2;
        let mut consumers = 0;
        for consumer in (0..stages.len()).filter(|&other| stages[other].from == stages[producer].to)
        {
            changed.messages[consumer] = changed.messages[consumer].saturating_mul(2);
            consumers += 1;
        }
        self.accept(setting, changed, consumers > 0)
    }

    /// Halves C and T of a stage that handles several messages.
    fn halve_consumer(&self, setting: &mut Setting<N>, consumer: usize) -> bool {
        let mut changed = *setting;
        let even = changed.messages[consumer].is_multiple_of(2);
        changed.period[consumer] /= 2;
        changed.messages[consumer] /= 2;
        self.accept(setting, changed, even)
    }

    fn accept(&self, setting: &mut Setting<N>, changed: Setting<N>, is_required: bool) -> bool {
        let accepted = is_required && self.schedulable(&changed);
        if accepted {
            *setting = changed;
        }
        accepted
    }

    fn best_effort(&self, times: u64) -> (Setting<N>, bool) {
        let mut setting = Setting {
            period: [1; N],
            messages: [1; N],
        };
        for stage in 0..self.bound.len() {
            let (least, most) = period_limits(self.bound, stage);
            let usual = self.bound.function(stage).period;
            setting.period[stage] = usual.saturating_mul(times).clamp(least, most.max(least));
        }
        let content = self.schedulable(&setting);
        (setting, content)
    }
}

/// Maximum utilisation of a core by stages, by the utilisation test.
fn room_on<const N: usize>(bound: &Bound<'_, N>, core: usize) -> Option<Fraction> {
    let repository = bound.repository;
    let loads = repository.loads.iter().filter(|load| load.core == core);
    let loads = loads.map(|load| load.server);
    let devices = repository.devices.iter();
    let devices = devices.filter(|device| repository.ios[device.io].core == core);
    let others = || {
        loads
            .clone()
            .chain(devices.clone().filter_map(|device| device.main))
    };
    let stages = (0..bound.len()).filter(|&stage| bound.function(stage).core == core);
    let limit = match repository.cores[core].policy {
        Policy::RateMonotonic => rate_monotonic_bound(others().count() + stages.count()),
        Policy::Edf => WHOLE,
        Policy::Deadline => Policy::Deadline.capacity(),
    };
    let mains = others().map(|server| Fraction::ratio(server.capacity, server.period));
    let ios = repository.ios.iter().filter(|io| io.core == core);
    let shares = mains.chain(ios.map(|io| io_share(io.utilisation)));
    let taken = shares
        .into_iter()
        .try_fold(0u64, |sum, share| sum.checked_add(share?.0))?;
    limit.0.checked_sub(taken).map(Fraction)
}
