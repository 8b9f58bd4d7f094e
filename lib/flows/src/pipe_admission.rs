//! Solution of a flow beside the running pipes, and the admission test of these
//!
//! A flow is solved beside the existing VCPUs and stages, which keep their budgets and periods. Their bounds are computed again beside the new flow. They may
//! grow, up to the requirement of each pipe. A new flow without a requirement is solved with longer periods until all requirements are kept. A pipe that also
//! shares time with run-time flows of another partition keeps its bound, because that partition does not know the new flow.

use crate::ROOM;
use crate::catalogue::{PipeCatalogue, may_begin, may_end};
use bulkhead_abi::repository::{MAX_PIPES, MAX_STAGES, NONE};
use bulkhead_analysis::utilisation::Fraction;
use bulkhead_analysis::{Reservation, Time};
use bulkhead_stages::message::HEADS;
use bulkhead_stages::pace::MESSAGES;
use bulkhead_stages::work::ENDS;
use bulkhead_tpipe::assessment::{Judge, Setting, Violation, budget, paths, periods};
use bulkhead_tpipe::binding::{BindError, Bound, DEVICES};
use bulkhead_tpipe::language::{Buffering, Pipeline, Requirement, Span, SyntaxError};
use bulkhead_tpipe::repository::{Load, Repository, Runs};
use bulkhead_tpipe::solver::{self, Least, Solution};

/// Paths of a pipe of which something is promised.
pub const PATHS: usize = 16;

/// A pipe that is there. Times are nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct AdmittedPipe<'a> {
    /// Its flow.
    pub flow: &'a str,
    /// T and m of each of its stages.
    pub setting: &'a [(Time, u64)],
    /// The longest delay that may be promised of it, beside what it requires.
    pub most: Option<Time>,
}

/// A stage as it was solved. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// Number of its function in the repository.
    pub function: usize,
    /// C.
    pub capacity: Time,
    /// T.
    pub period: Time,
    /// m.
    pub messages: u64,
    /// R.
    pub response: Time,
    /// Places in each buffer before it.
    pub buffer: u64,
    /// Junction it reads from.
    pub from: u16,
    /// Junction it writes to.
    pub to: u16,
}

/// The longest way from a first stage to a last one. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// The first stage.
    pub head: usize,
    /// The last one.
    pub tail: usize,
    /// Sum of periods.
    pub periods: Time,
    /// The proven bound.
    pub bound: Time,
}

/// Guarantee of a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guarantee {
    paths: [Path; PATHS],
    count: usize,
    /// The longest bound of all its paths.
    pub bound: Time,
    /// Largest part of its messages that is lost.
    pub loss: Fraction,
    /// Requirement of the pipe.
    pub required: Option<Requirement>,
}

/// A flow as it was solved.
#[derive(Clone, Copy, Debug)]
pub struct Solved {
    /// Of all its buffers.
    pub buffering: Buffering,
    stages: [Stage; MAX_STAGES],
    count: usize,
    /// How many times its usual periods it was solved with.
    times: u64,
    /// Shortest distance of messages that it takes without end, nanoseconds.
    pub interval: Time,
    /// Its bounds.
    pub guarantee: Guarantee,
}

/// Why a flow is not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The text of the flow has a syntax error.
    Syntax(SyntaxError),
    /// Its functions do not fit, or are not there.
    Misfit(BindError),
    /// A function would feed itself.
    Cycle(Span),
    /// A function is another partition's, in which this one has no stages.
    Elsewhere(Span),
    /// A first or a last function is another partition's and at a device there, or beyond the machine.
    Outside(Span),
    /// Functions of two partitions would begin it, or none is of this one.
    Begins(Span),
    /// Functions of two other partitions would feed each other.
    Between(Span),
    /// A function is on another core than the first of another partition.
    Core(Span),
    /// A function is on a core of this partition without a program for stages.
    Idle(Span),
    /// A function reads an endpoint without an I/O VCPU, so that its interrupts are not served.
    Endpoint(Span),
    /// The number of stages at an endpoint has reached its `sharers`.
    Sharers {
        /// Place of the use that is one too many.
        span: Span,
        /// The device.
        device: usize,
        /// Pipes that use the endpoint, as bits by their numbers.
        pipes: u32,
    },
    /// More first stages than a message has room for.
    Heads(Span),
    /// More stages feed a stage, or are fed by it, than there can be.
    Ends(Span),
    /// More stages than are free.
    Stages {
        /// Stages of the flow.
        required: usize,
        /// Free stages.
        free: usize,
    },
    /// More memory for buffers than is free in one piece each.
    Buffers {
        /// Bytes that the flow takes.
        required: usize,
        /// Bytes that are free.
        free: usize,
    },
    /// Its requirement cannot be kept.
    Unmet {
        /// Place of the requirement in the text.
        span: Span,
        /// The part of the requirement that is not met.
        violation: Violation,
        /// The tightest requirement that could be met.
        least: Least,
    },
    /// A job would need more messages in a period than it can be given.
    Messages {
        /// The stage.
        stage: usize,
    },
    /// A pipe that is there would not be kept.
    Takes {
        /// Which.
        pipe: usize,
        /// The part of its requirement that would not be met.
        violation: Violation,
    },
    /// More VCPUs than there is room for.
    Room,
}

impl Guarantee {
    const NOTHING: Self = Self {
        paths: [Path {
            head: 0,
            tail: 0,
            periods: 0,
            bound: 0,
        }; PATHS],
        count: 0,
        bound: 0,
        loss: Fraction(0),
        required: None,
    };

    /// The first [`PATHS`] of its paths.
    #[must_use]
    pub fn paths(&self) -> &[Path] {
        self.paths.get(..self.count).unwrap_or_default()
    }

    fn of(bound: &Bound<'_, ROOM>, solution: &Solution<ROOM>) -> Self {
        let mut guarantee = Self {
            bound: solution.assessment.bound,
            loss: solution.assessment.worst_loss,
            required: bound.pipeline.requirement,
            ..Self::NOTHING
        };
        for head in (0..bound.len()).filter(|&stage| bound.is_head(stage)) {
            let only = |stage| stage == head;
            let (mut sums, mut delays) = ([0; ROOM], [0; ROOM]);
            let of = |stage| periods(bound, &solution.setting, stage);
            paths(bound, of, only, |stage, length| sums[stage] = length);
            let of = |stage: usize| solution.assessment.delay[stage];
            paths(bound, of, only, |stage, length| delays[stage] = length);
            let tails = (0..bound.len()).filter(|&stage| bound.is_tail(stage) && sums[stage] > 0);
            for tail in tails {
                if let Some(path) = guarantee.paths.get_mut(guarantee.count) {
                    *path = Path {
                        head,
                        tail,
                        periods: sums[tail],
                        bound: delays[tail],
                    };
                    guarantee.count += 1;
                }
            }
        }
        guarantee
    }
}

impl Solved {
    /// In an order in which data flow.
    #[must_use]
    pub fn stages(&self) -> &[Stage] {
        self.stages.get(..self.count).unwrap_or_default()
    }

    /// Returns the edges between stages, as (writer, reader).
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let both = move |to: usize| (0..to).map(move |from| (from, to));
        let stages = self.stages();
        let feeds = move |&(from, to): &(usize, usize)| stages[from].to == stages[to].from;
        (0..stages.len()).flat_map(both).filter(feeds)
    }

    fn of(bound: &Bound<'_, ROOM>, solution: &Solution<ROOM>, times: u64) -> Self {
        let (setting, promised) = (&solution.setting, &solution.assessment);
        let mut solved = Self {
            buffering: bound.pipeline.buffering,
            stages: [Stage::default(); MAX_STAGES],
            count: bound.len(),
            times,
            interval: promised.interval,
            guarantee: Guarantee::of(bound, solution),
        };
        let written = bound.pipeline.stages().iter().enumerate();
        for (place, (index, stage)) in solved.stages.iter_mut().zip(written) {
            let mut functions = bound.repository.functions.iter();
            let named = functions.position(|function| function.name == stage.name);
            *place = Stage {
                function: named.unwrap_or(0),
                capacity: budget(bound, index, setting.messages[index]),
                period: setting.period[index],
                messages: setting.messages[index],
                response: promised.response[index],
                buffer: promised.buffer[index],
                from: stage.from,
                to: stage.to,
            };
        }
        solved
    }
}

/// VCPUs of stages, to be counted beside what is described.
struct Loads {
    loads: [Load; ROOM],
    count: usize,
}

impl Loads {
    fn of<'a>(
        catalogue: &PipeCatalogue<'_>,
        pipes: impl IntoIterator<Item = &'a AdmittedPipe<'a>>,
    ) -> Result<Self, Refused> {
        let nothing = Load {
            core: 0,
            server: Reservation {
                capacity: 1,
                period: 1,
            },
            runs: Runs::Tasks { jobs: 0 },
        };
        let mut loads = Self {
            loads: [nothing; ROOM],
            count: 0,
        };
        pipes
            .into_iter()
            .try_for_each(|pipe| loads.add(catalogue, pipe))?;
        Ok(loads)
    }

    fn add(
        &mut self,
        catalogue: &PipeCatalogue<'_>,
        pipe: &AdmittedPipe<'_>,
    ) -> Result<(), Refused> {
        let pipeline = Pipeline::parse(pipe.flow).map_err(Refused::Syntax)?;
        let added = catalogue.with([], |all| {
            let bound: Bound<'_, ROOM> = Bound::new(&pipeline, all).map_err(Refused::Misfit)?;
            for (stage, &(period, messages)) in (0..bound.len()).zip(pipe.setting) {
                let server = Reservation::new(budget(&bound, stage, messages), period);
                let function = bound.function(stage);
                self.push(Load {
                    core: function.core,
                    server: server.ok_or(Refused::Room)?,
                    runs: Runs::Stage {
                        devices: [function.source, function.sink],
                        messages,
                    },
                })?;
            }
            Ok(())
        });
        added.ok_or(Refused::Room)?
    }

    fn push(&mut self, load: Load) -> Result<(), Refused> {
        let place = self.loads.get_mut(self.count).ok_or(Refused::Room)?;
        *place = load;
        self.count += 1;
        Ok(())
    }

    fn all(&self) -> impl Iterator<Item = Load> + '_ {
        self.loads.iter().take(self.count).copied()
    }
}

/// Solves a flow beside the admitted pipes, with this number of free stages.
///
/// # Errors
/// The reason for which the flow is rejected.
pub fn solve(
    catalogue: &PipeCatalogue<'_>,
    flow: &str,
    standing: &[AdmittedPipe<'_>],
    free: usize,
) -> Result<Solved, Refused> {
    solve_above(catalogue, flow, standing, free, 0)
}

/// Solves a flow without a requirement again with longer periods, because admitted pipes would not be kept beside its last solution.
#[must_use]
pub fn slower(
    catalogue: &PipeCatalogue<'_>,
    flow: &str,
    standing: &[AdmittedPipe<'_>],
    free: usize,
    solved: &Solved,
) -> Option<Solved> {
    solve_above(catalogue, flow, standing, free, solved.times).ok()
}

/// With more than so many times its usual periods, if it requires nothing.
fn solve_above(
    catalogue: &PipeCatalogue<'_>,
    flow: &str,
    standing: &[AdmittedPipe<'_>],
    free: usize,
    times: u64,
) -> Result<Solved, Refused> {
    let pipeline = Pipeline::parse(flow).map_err(Refused::Syntax)?;
    catalogue
        .with([], |all| check(catalogue, &pipeline, all))
        .ok_or(Refused::Room)??;
    let required = pipeline.stages().len();
    if required > free {
        return Err(Refused::Stages {
            required: required,
            free,
        });
    }
    catalogue
        .with([], |all| places(&pipeline, standing, all))
        .ok_or(Refused::Room)??;
    let loads = Loads::of(catalogue, standing)?;
    let solved = catalogue.with(loads.all(), |all| {
        let bound = Bound::new(&pipeline, all).map_err(Refused::Misfit)?;
        let mut refused = Refused::Room;
        for times in solver::yields(&pipeline).filter(|&next| next > times) {
            let answer = solver::solve_yielding(&bound, times);
            let best = &answer.best;
            let Some(violation) = best.assessment.violation else {
                return Ok(Solved::of(&bound, best, times));
            };
            refused = Refused::Unmet {
                span: pipeline.requirement_span,
                violation,
                least: answer.least.unwrap_or_default(),
            };
        }
        Err(refused)
    });
    let solved = solved.ok_or(Refused::Room)??;
    let mut stages = solved.stages().iter();
    match stages.position(|stage| stage.messages > MESSAGES as u64) {
        Some(stage) => Err(Refused::Messages { stage }),
        None => Ok(solved),
    }
}

/// Rejects flows that the solver accepts, but that no core can run.
fn check(
    catalogue: &PipeCatalogue<'_>,
    pipeline: &Pipeline<'_, ROOM>,
    all: &Repository<'_>,
) -> Result<(), Refused> {
    let bound = Bound::new(pipeline, all).map_err(Refused::Misfit)?;
    if let Some(stage) = pipeline.fed_by_itself() {
        return Err(Refused::Cycle(stage.span));
    }
    let here = catalogue.first(catalogue.core());
    let of_stage = |stage: usize| catalogue.first(bound.function(stage).core);
    let feeds_from_third = |from: usize, to: usize| {
        let stages = pipeline.stages();
        let feeds = stages[from].to == stages[to].from;
        feeds && of_stage(from) != here && of_stage(from) != of_stage(to)
    };
    let packed = catalogue.packed().functions;
    let written = pipeline.stages();
    for (index, stage) in written.iter().enumerate() {
        let core = bound.function(index).core;
        let function = packed.iter().zip(all.functions);
        let mut function = function.filter(|(_, catalogue)| catalogue.name == stage.name);
        let function = function.next().map(|(packed, _)| packed);
        let at_endpoint = function.is_some_and(|packed| packed.has_endpoint());
        let unserved = function.is_none_or(|packed| packed.is_receiver() && packed.reads == NONE);
        let feeding = written.iter().filter(|other| other.to == stage.from);
        let fed = written.iter().filter(|other| other.from == stage.to);
        let elsewhere = catalogue.first(core) != here;
        let ends = bound.is_head(index) && !function.is_some_and(may_begin)
            || bound.is_tail(index) && !function.is_some_and(may_end);
        let problems = [
            (
                elsewhere && catalogue.remote_partition(core).is_none(),
                Refused::Elsewhere(stage.span),
            ),
            (elsewhere && ends, Refused::Outside(stage.span)),
            (
                elsewhere && (0..index).any(|other| feeds_from_third(other, index)),
                Refused::Between(stage.span),
            ),
            (
                !catalogue.runs_stages(core),
                match elsewhere {
                    true => Refused::Core(stage.span),
                    false => Refused::Idle(stage.span),
                },
            ),
            (
                unserved || elsewhere && at_endpoint,
                Refused::Endpoint(stage.span),
            ),
            (
                feeding.count().max(fed.count()) > ENDS,
                Refused::Ends(stage.span),
            ),
        ];
        let found = problems.into_iter().find(|(wrong, _)| *wrong);
        found.map_or(Ok(()), |(_, refused)| Err(refused))?;
    }
    beginning(&bound, here, of_stage)
}

/// Returns whether one partition begins a flow, and this one has a part of it.
fn beginning(
    bound: &Bound<'_, ROOM>,
    here: Option<usize>,
    of_stage: impl Fn(usize) -> Option<usize>,
) -> Result<(), Refused> {
    let span = |stage: usize| bound.pipeline.stages()[stage].span;
    let heads = || (0..bound.len()).filter(|&stage| bound.is_head(stage));
    let begins = heads().next().and_then(&of_stage);
    let is_here = (0..bound.len()).any(|stage| of_stage(stage) == here);
    if let Some(stage) = heads().find(|&stage| of_stage(stage) != begins || !is_here) {
        return Err(Refused::Begins(span(stage)));
    }
    match heads().nth(HEADS) {
        Some(stage) => Err(Refused::Heads(span(stage))),
        None => Ok(()),
    }
}

/// Returns whether each endpoint of a flow has room for another stage. The guarantees of the stages there count only the `sharers` of the description.
fn places(
    pipeline: &Pipeline<'_, ROOM>,
    standing: &[AdmittedPipe<'_>],
    all: &Repository<'_>,
) -> Result<(), Refused> {
    let bound: Bound<'_, ROOM> = Bound::new(pipeline, all).map_err(Refused::Misfit)?;
    let (mut taken, mut users) = ([0u64; DEVICES], [0u32; DEVICES]);
    for (number, pipe) in standing.iter().enumerate() {
        let other = Pipeline::parse(pipe.flow).map_err(Refused::Syntax)?;
        let other: Bound<'_, ROOM> = Bound::new(&other, all).map_err(Refused::Misfit)?;
        for device in (0..other.len()).flat_map(|stage| other.devices(stage)) {
            taken[device] += 1;
            users[device] |= 1 << number;
        }
    }
    for (index, stage) in pipeline.stages().iter().enumerate() {
        for device in bound.devices(index) {
            if taken[device] >= all.devices[device].sharers {
                return Err(Refused::Sharers {
                    span: stage.span,
                    device,
                    pipes: users[device],
                });
            }
            taken[device] += 1;
        }
    }
    Ok(())
}

/// Judges each of the pipes beside all others; tells what is promised of each.
///
/// # Errors
/// The first that would not be kept.
pub fn judge(
    catalogue: &PipeCatalogue<'_>,
    pipes: &[AdmittedPipe<'_>],
    tell: impl FnMut(usize, &Guarantee),
) -> Result<(), Refused> {
    judge_beside(catalogue, pipes, |_| true, core::iter::empty(), tell)
}

/// Judges the pipes that are judged here, as [`judge`] does, beside `more` stages on the core of this partition for another one: C, T and m of each.
///
/// # Errors
/// The first that would not be kept.
pub fn judge_beside(
    catalogue: &PipeCatalogue<'_>,
    pipes: &[AdmittedPipe<'_>],
    is_judged: impl Fn(usize) -> bool,
    more: impl Iterator<Item = (Reservation, u64)> + Clone,
    mut tell: impl FnMut(usize, &Guarantee),
) -> Result<(), Refused> {
    if pipes.len() > MAX_PIPES {
        return Err(Refused::Room);
    }
    let judged = pipes.iter().enumerate();
    for (index, pipe) in judged.filter(|(index, _)| is_judged(*index)) {
        let others = pipes.iter().enumerate();
        let others = others.filter(|(other, _)| *other != index);
        let mut loads = Loads::of(catalogue, others.map(|(_, other)| other))?;
        more.clone().try_for_each(|(server, messages)| {
            loads.push(Load {
                core: catalogue.core(),
                server,
                runs: Runs::Stage {
                    devices: [None; 2],
                    messages,
                },
            })
        })?;
        let guarantee = judge_one(catalogue, (index, pipe), &loads)?;
        tell(index, &guarantee);
    }
    Ok(())
}

fn judge_one(
    catalogue: &PipeCatalogue<'_>,
    (index, pipe): (usize, &AdmittedPipe<'_>),
    loads: &Loads,
) -> Result<Guarantee, Refused> {
    let pipeline = Pipeline::parse(pipe.flow).map_err(Refused::Syntax)?;
    let takes = |violation| Refused::Takes {
        pipe: index,
        violation,
    };
    let judged = catalogue.with(loads.all(), |all| {
        let bound = Bound::new(&pipeline, all).map_err(Refused::Misfit)?;
        let mut setting = Setting {
            period: [1; ROOM],
            messages: [1; ROOM],
        };
        let places = setting.period.iter_mut().zip(&mut setting.messages);
        for ((period, messages), given) in places.zip(pipe.setting) {
            (*period, *messages) = *given;
        }
        let solution = Solution::of(&mut Judge::new(&bound), setting);
        match solution.assessment.violation {
            Some(violation) => Err(takes(violation)),
            None => Ok(Guarantee::of(&bound, &solution)),
        }
    });
    let guarantee = judged.ok_or(Refused::Room)??;
    match pipe.most {
        Some(most) if guarantee.bound > most => {
            let sums = guarantee.paths().iter().map(|path| path.periods);
            Err(takes(Violation::Delay {
                periods: sums.max().unwrap_or(0),
                bound: guarantee.bound,
            }))
        }
        _ => Ok(guarantee),
    }
}
