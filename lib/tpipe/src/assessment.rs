//! Guarantees of a setting
//!
//! The one judge: the paper's conditions (003 §3.1.4) and beside them what the analysis can prove. A
//! setting is accepted if both hold. The paper's are Σ T ≤ delay on the longest path; four-slot:
//! 1 − T_p/T_c ≤ loss; FIFO: min m/T ≥ throughput (the paper prints m·C/T; messages per time are m/T); each core
//! schedulable. The analysis adds that responses are finite (exact response-time test with I/O VCPUs), that the
//! proven delay and loss (`bulkhead_analysis::pipeline`) stay within the requirement, too, and that rings never
//! overflow. VCPUs have the decisions of their starts and ends on top of their budgets, and a budget has what the runtime
//! takes of each job.

mod overhead;
mod responses;

use crate::binding::{Bound, DEVICES, device_periods};
use crate::language::{Buffering, Flow, MILLION, SOURCE};
use crate::repository::Repository;
use bulkhead_analysis::core_overhead::CoreOverhead;
use bulkhead_analysis::pipeline::{Passage, Stage, Stream, buffer_by_rates};
use bulkhead_analysis::utilisation::{Fraction, WHOLE};
use bulkhead_analysis::{Reservation, Time};

/// Periods and messages per period, by stage. The budget of a stage is C = m·WCET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting<const N: usize> {
    /// T.
    pub period: [Time; N],
    /// m, not 0.
    pub messages: [u64; N],
}

/// The first violated condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Period or budget of a stage is impossible on its core.
    Period {
        /// The stage.
        stage: usize,
    },
    /// A core has too little time.
    Core {
        /// The core.
        core: usize,
        /// Demand of its VCPUs.
        demand: Fraction,
    },
    /// A VCPU does not get its budget in its period although the core has the time.
    Response {
        /// The core.
        core: usize,
        /// The VCPU.
        owner: Owner,
    },
    /// The longest path takes too long.
    Delay {
        /// Σ T.
        periods: Time,
        /// The provable bound.
        bound: Time,
    },
    /// Too much is lost.
    Loss {
        /// Stage with an overwritten input.
        stage: usize,
        /// Up to there, from the inputs on.
        loss: Fraction,
    },
    /// A stage is too slow for the throughput.
    Throughput {
        /// The stage.
        stage: usize,
    },
    /// Messages come faster to a stage than it takes them.
    Overrun {
        /// The stage.
        stage: usize,
    },
    /// Messages arrive at a device pipe faster, or later and therefore closer together, than it and
    /// its sharers allow.
    Device {
        /// The device.
        device: usize,
    },
    /// Times are too long to count, or what decides is too much.
    Overflow,
}

/// Owner of a VCPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// One that is there already, by its index.
    Load(usize),
    /// Scatter and gather of a device.
    Device(usize),
    /// A stage.
    Stage(usize),
}

/// The figures of a setting, complete where it has no violation.
#[derive(Clone, Copy, Debug)]
pub struct Assessment<const N: usize> {
    /// The violated condition.
    pub violation: Option<Violation>,
    /// R of each stage's VCPU.
    pub response: [Time; N],
    /// Delay that each stage adds to a path, devices included.
    pub delay: [Time; N],
    /// Part of the messages that is lost before a stage, from the inputs on.
    pub loss: [Fraction; N],
    /// Messages in the buffers before a stage: the paper's size, or more where more can wait.
    pub buffer: [u64; N],
    /// Σ T on the longest path: the paper's expected delay.
    pub periods: Time,
    /// Proven delay on the longest path.
    pub bound: Time,
    /// Largest loss at an output.
    pub worst_loss: Fraction,
    /// Shortest distance of messages that the pipeline takes without end.
    pub interval: Time,
    /// Σ C/T of the stages.
    pub utilisation: Fraction,
}

/// Longest time of a job of a stage: its function's WCET and what the runtime takes.
#[must_use]
pub fn job<const N: usize>(bound: &Bound<'_, N>, stage: usize) -> Time {
    let function = bound.function(stage);
    let cost = bound.repository.stage_cost(function.core);
    function.wcet.saturating_add(cost)
}

/// C of a stage that handles `messages` in a period.
#[must_use]
pub fn budget<const N: usize>(bound: &Bound<'_, N>, stage: usize, messages: u64) -> Time {
    let function = bound.function(stage);
    let least = bound.repository.cores[function.core]
        .policy
        .least_capacity();
    job(bound, stage).saturating_mul(messages).max(least)
}

/// Judges settings of one pipeline; keeps what does not depend on them.
#[derive(Clone, Debug)]
pub struct Judge<'a, const N: usize> {
    bound: &'a Bound<'a, N>,
    servers: [(Time, Time, Owner); N],
    /// VCPUs with their decisions, and decisions that are more important than all VCPUs.
    core_overhead: CoreOverhead,
    mains: [Reservation; N],
    found: [Option<Time>; N],
}

/// Responses of devices.
struct Devices {
    main: [Time; DEVICES],
    io: [Time; DEVICES],
}

/// At a junction: what flows, and the worst of the paths up to there.
#[derive(Clone, Copy)]
struct Junction {
    stream: Stream,
    kept: Fraction,
}

const NOTHING: Reservation = match Reservation::new(1, 1) {
    Some(reservation) => reservation,
    None => unreachable!(),
};

impl<'a, const N: usize> Judge<'a, N> {
    /// For a pipeline.
    #[must_use]
    pub const fn new(bound: &'a Bound<'a, N>) -> Self {
        Self {
            bound,
            servers: [(0, 0, Owner::Load(0)); N],
            core_overhead: CoreOverhead::new(),
            mains: [NOTHING; N],
            found: [None; N],
        }
    }

    /// Guarantees of a setting.
    #[must_use]
    pub fn assess(&mut self, setting: &Setting<N>) -> Assessment<N> {
        let mut result = Assessment {
            violation: None,
            response: [0; N],
            delay: [0; N],
            loss: [Fraction(0); N],
            buffer: [1; N],
            periods: longest(self.bound, |stage| periods(self.bound, setting, stage)),
            bound: 0,
            worst_loss: Fraction(0),
            interval: interval(self.bound, setting),
            utilisation: utilisation(self.bound, setting),
        };
        result.violation = self.examine(setting, &mut result).err();
        result
    }

    fn examine(
        &mut self,
        setting: &Setting<N>,
        result: &mut Assessment<N>,
    ) -> Result<(), Violation> {
        let bound = self.bound;
        if let Some(stage) = (0..bound.len()).find(|&stage| !possible(bound, setting, stage)) {
            return Err(Violation::Period { stage });
        }
        let mut devices = Devices {
            main: [0; DEVICES],
            io: [0; DEVICES],
        };
        for core in 0..bound.repository.cores.len() {
            self.respond(core, setting, result, &mut devices)?;
        }
        self.flow(setting, result, &devices)?;
        result.bound = longest(bound, |stage| result.delay[stage]);
        self.required(setting, result)
    }

    /// Longest time that the messages of a stream spend in a device pipe: the bottom half and then
    /// the scattering Main VCPU on the way in, the gathering one and then the bottom half on the
    /// way out.
    fn through_device(
        &self,
        device: usize,
        devices: &Devices,
        stream: Stream,
        inwards: bool,
    ) -> Result<Time, Violation> {
        let repository = self.bound.repository;
        let (io_sharers, sharers) = self.bound.sharers(device);
        let at = &repository.devices[device];
        let period = repository.ios[at.io].period();
        let io = (period, io_sharers, devices.io[device]);
        let main = at
            .main
            .map(|main| (main.period, sharers, devices.main[device]));
        let order = if inwards {
            [Some(io), main]
        } else {
            [main, Some(io)]
        };
        let mut servers = order.into_iter().flatten();
        let spent = servers.try_fold(0, |spent: Time, (period, sharers, response)| {
            let since = stream.since.checked_add(spent)?;
            let after = Stream { since, ..stream }.after_device(period, sharers, response)?;
            spent.checked_add(after)
        });
        spent.ok_or(Violation::Device { device })
    }

    /// Follows the messages.
    fn flow(
        &self,
        setting: &Setting<N>,
        result: &mut Assessment<N>,
        devices: &Devices,
    ) -> Result<(), Violation> {
        let bound = self.bound;
        let mut junctions: [Option<Junction>; N] = [None; N];
        for (index, stage) in bound.pipeline.stages().iter().enumerate() {
            let (input, before) = match stage.from {
                SOURCE => self.enter(index, setting, result, devices)?,
                from => {
                    let input = junctions[usize::from(from) - 1];
                    (input.ok_or(Violation::Overflow)?, 0)
                }
            };
            let passage = self.pass(index, setting, result.response[index], input.stream)?;
            let after = match bound.function(index).sink {
                Some(device) => self.through_device(device, devices, passage.output, false)?,
                None => 0,
            };
            let ends = before.saturating_add(after);
            let delay = passage.delay.checked_add(ends);
            let kept = keep(input.kept, passage.loss);
            result.delay[index] = delay.ok_or(Violation::Overflow)?;
            result.loss[index] = Fraction(WHOLE.0 - kept.0);
            result.worst_loss = result.worst_loss.max(result.loss[index]);
            result.buffer[index] = self.room(index, setting, &passage)?;
            let slot = &mut junctions[usize::from(stage.to) - 1];
            *slot = Some(Junction {
                stream: slot.map_or(passage.output, |other| other.stream.beside(passage.output)),
                kept: slot.map_or(kept, |other| other.kept.min(kept)),
            });
        }
        Ok(())
    }

    /// Arrivals at a first stage, and their delay.
    fn enter(
        &self,
        index: usize,
        setting: &Setting<N>,
        result: &Assessment<N>,
        devices: &Devices,
    ) -> Result<(Junction, Time), Violation> {
        let entry = self.entry(index, setting, result);
        let before = match self.bound.function(index).source {
            Some(device) => self.through_device(device, devices, entry, true)?,
            None => 0,
        };
        let input = Junction {
            stream: Stream::source(entry.distance, before),
            kept: WHOLE,
        };
        Ok((input, before))
    }

    /// Effect of a stage on its arrivals.
    fn pass(
        &self,
        index: usize,
        setting: &Setting<N>,
        response: Time,
        input: Stream,
    ) -> Result<Passage, Violation> {
        let messages = setting.messages[index];
        let server = Reservation::new(budget(self.bound, index, messages), setting.period[index]);
        let stage = Stage {
            server: server.ok_or(Violation::Period { stage: index })?,
            messages,
            response,
            clocked: self.bound.crosses(index),
        };
        let passage = match self.bound.pipeline.buffering {
            Buffering::FourSlot => stage.four_slot(input),
            Buffering::Fifo => stage.fifo(input),
        };
        let passage = passage.ok_or(Violation::Overflow)?;
        match passage.keeps_up {
            true => Ok(passage),
            false => Err(Violation::Overrun { stage: index }),
        }
    }

    /// Arrivals at a first stage: at the rate of its device, or at which the pipe takes messages.
    fn entry(&self, stage: usize, setting: &Setting<N>, result: &Assessment<N>) -> Stream {
        let source = self.bound.function(stage).source;
        let given = source.and_then(|device| self.bound.repository.devices[device].distance);
        let taken = match self.bound.pipeline.buffering {
            Buffering::FourSlot => setting.period[stage],
            Buffering::Fifo => result.interval,
        };
        Stream::source(given.unwrap_or(taken).max(1), 0)
    }

    /// Room in the buffers before a stage, the one for its slowest consumer-producer pair.
    fn room(
        &self,
        index: usize,
        setting: &Setting<N>,
        passage: &Passage,
    ) -> Result<u64, Violation> {
        let stages = self.bound.pipeline.stages();
        if self.bound.pipeline.buffering == Buffering::FourSlot {
            return Ok(1);
        }
        let of = |stage: usize| (setting.messages[stage], setting.period[stage]);
        let from = stages[index].from;
        let producers = (0..index).filter(|&other| stages[other].to == from);
        let sizes = producers.map(|producer| buffer_by_rates(of(producer), of(index)));
        let paper = sizes
            .chain([Some(0)])
            .try_fold(0u64, |most, size| Some(most.max(size?)));
        Ok(paper.ok_or(Violation::Overflow)?.max(passage.waiting))
    }

    /// The end-to-end requirement.
    fn required(&self, setting: &Setting<N>, result: &Assessment<N>) -> Result<(), Violation> {
        let Some(required) = self.bound.pipeline.requirement else {
            return Ok(());
        };
        if result.periods > required.delay_ns || result.bound > required.delay_ns {
            return Err(Violation::Delay {
                periods: result.periods,
                bound: result.bound,
            });
        }
        match required.flow {
            Flow::Loss(loss) => {
                let most = Fraction::ratio(loss.0.into(), MILLION).ok_or(Violation::Overflow)?;
                let lossy = (0..self.bound.len()).find(|&stage| result.loss[stage] > most);
                if let Some(stage) = lossy.or_else(|| outpaced(self.bound, setting, most)) {
                    return Err(Violation::Loss {
                        stage,
                        loss: result.loss[stage],
                    });
                }
            }
            Flow::Throughput(throughput) => {
                let slow = |&stage: &usize| {
                    setting.period[stage]
                        > throughput
                            .interval_ns()
                            .saturating_mul(setting.messages[stage])
                };
                if let Some(stage) = (0..self.bound.len()).find(slow) {
                    return Err(Violation::Throughput { stage });
                }
            }
        }
        Ok(())
    }
}

/// The paper's measure of loss: a stage with 1 − T_p/T_c over `most` for one of its producers.
fn outpaced<const N: usize>(
    bound: &Bound<'_, N>,
    setting: &Setting<N>,
    most: Fraction,
) -> Option<usize> {
    let stages = bound.pipeline.stages();
    let mut shortest = [Time::MAX; N];
    for (index, stage) in stages.iter().enumerate() {
        let period = setting.period[index];
        if stage.from != SOURCE {
            let producer = shortest[usize::from(stage.from) - 1];
            let loss = Fraction::ratio(period.saturating_sub(producer), period);
            if loss.is_none_or(|loss| loss > most) {
                return Some(index);
            }
        }
        let slot = &mut shortest[usize::from(stage.to) - 1];
        *slot = (*slot).min(period);
    }
    None
}

/// Messages that remain after another loss, rounded down; exact without a loss.
fn keep(kept: Fraction, loss: Fraction) -> Fraction {
    let product = u128::from(kept.0) * u128::from(WHOLE.0.saturating_sub(loss.0));
    Fraction((product >> 40) as u64)
}

/// Returns whether a stage's budget fits into its period, both within what its core can do.
#[must_use]
pub fn possible<const N: usize>(bound: &Bound<'_, N>, setting: &Setting<N>, stage: usize) -> bool {
    let capacity = budget(bound, stage, setting.messages[stage]);
    let (least, most) = period_limits(bound, stage);
    let period = setting.period[stage];
    capacity <= period && (least..=most).contains(&period)
}

/// Shortest and longest period of a stage: of its core, and of an I/O VCPU that works for it
/// directly.
#[must_use]
pub fn period_limits<const N: usize>(bound: &Bound<'_, N>, stage: usize) -> (Time, Time) {
    let repository = bound.repository;
    let function = bound.function(stage);
    let (least, most) = repository.cores[function.core].policy.periods();
    let direct = bound
        .devices(stage)
        .map(|device| &repository.devices[device]);
    let direct = direct.filter(|device| device.main.is_none());
    let eligible = direct
        .map(|device| repository.ios[device.io].period())
        .max();
    (
        least.max(eligible.unwrap_or(0)).max(job(bound, stage)),
        most,
    )
}

/// Period that a stage adds to a sum of periods, devices included.
#[must_use]
pub fn periods<const N: usize>(bound: &Bound<'_, N>, setting: &Setting<N>, stage: usize) -> Time {
    setting.period[stage].saturating_add(fixed_periods(bound, stage))
}

/// The part of it that is the devices'.
#[must_use]
pub fn fixed_periods<const N: usize>(bound: &Bound<'_, N>, stage: usize) -> Time {
    let repository: &Repository<'_> = bound.repository;
    let functions = bound
        .devices(stage)
        .map(|device| &repository.devices[device]);
    functions.fold(0, |sum: Time, device| {
        sum.saturating_add(device_periods(repository, device))
    })
}

/// The longest path by what each stage adds.
#[must_use]
pub fn longest<const N: usize>(bound: &Bound<'_, N>, of: impl Fn(usize) -> Time) -> Time {
    let mut most = 0;
    paths(bound, of, |_| true, |_, length| most = most.max(length));
    most
}

/// Follows paths from the first stages that `start` chooses, and tells `arrive` of each stage
/// reached and the longest way to its end.
pub fn paths<const N: usize>(
    bound: &Bound<'_, N>,
    of: impl Fn(usize) -> Time,
    start: impl Fn(usize) -> bool,
    mut arrive: impl FnMut(usize, Time),
) {
    let mut reached: [Option<Time>; N] = [None; N];
    for (index, stage) in bound.pipeline.stages().iter().enumerate() {
        let before = match stage.from {
            SOURCE if start(index) => Some(0),
            SOURCE => None,
            from => reached[usize::from(from) - 1],
        };
        let Some(before) = before else { continue };
        let length = before.saturating_add(of(index));
        arrive(index, length);
        let slot = &mut reached[usize::from(stage.to) - 1];
        *slot = Some(slot.map_or(length, |other| other.max(length)));
    }
}

/// max T/m, rounded up: the distance of messages that all stages take.
fn interval<const N: usize>(bound: &Bound<'_, N>, setting: &Setting<N>) -> Time {
    let each =
        (0..bound.len()).map(|stage| setting.period[stage].div_ceil(setting.messages[stage]));
    each.max().unwrap_or(1)
}

/// Σ C/T of the stages; too much to count is all there is.
#[must_use]
pub fn utilisation<const N: usize>(bound: &Bound<'_, N>, setting: &Setting<N>) -> Fraction {
    let share = |stage: usize| {
        let capacity = budget(bound, stage, setting.messages[stage]);
        Fraction::ratio(capacity, setting.period[stage]).map_or(u64::MAX, |share| share.0)
    };
    Fraction((0..bound.len()).fold(0, |sum: u64, stage| sum.saturating_add(share(stage))))
}
