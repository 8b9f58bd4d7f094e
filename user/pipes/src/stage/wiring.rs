//! Plans of stages: what each reads and writes, and the buffers between them

use super::{Computed, Kept, Plan, STAGES, Sink, Source, spawn, stages_of};
use crate::crossing::{self, End};
use crate::{Failure, memory};
use bulkhead_abi::name_text;
use bulkhead_abi::pipe::{Pipe, Stage};
use bulkhead_component::clock::ticks;
use bulkhead_component::first::Timing;
use bulkhead_component::{First, Own};
use bulkhead_sched::policy::ServerId;
use bulkhead_stages::functions::{self, Function, Functions};
use bulkhead_stages::link::{self, Input, Kind};
use bulkhead_stages::message::HEADS;
use bulkhead_stages::pace::MESSAGES;
use bulkhead_stages::work::ENDS;

/// What the stages of all pipes have in common.
struct Common<'a> {
    own: &'a Own,
    timing: &'a Timing,
    functions: Functions,
}

impl Common<'_> {
    /// What a job computes besides its function.
    fn load(&self, wcet_ns: u64) -> Computed {
        let rounds = self.own.argument("rounds");
        match rounds.and_then(|word| word.parse::<u64>().ok()) {
            Some(rounds) => Computed::Rounds(wcet_ns / 1000 * rounds),
            None => Computed::Time(wcet_ns * self.own.number("load", 50).min(95) / 100),
        }
    }

    /// A stage of a pipe, by its number among all and its place in the pipe; `head`: first stages before it.
    fn plan(
        &self,
        (pipe, place): (usize, usize),
        stage: &'static Stage,
        head: usize,
        last: bool,
    ) -> Result<Plan, Failure> {
        let none = Failure::Pipe("pipes", "there is none of that number");
        let described = self.timing.pipes.get(pipe).ok_or(none)?;
        let name = name_text(&described.name);
        let function = functions::find(self.functions, name_text(&stage.function))
            .ok_or(Failure::Pipe(name, "it has a function that is not here"))?;
        if stage.messages as usize > MESSAGES || head == HEADS && stage.from == 0 {
            return Err(Failure::Pipe(name, "a budget or its inputs are too many"));
        }
        let number = stages_of(self.timing, pipe).start + place;
        Ok(Plan {
            number,
            pipe,
            place,
            stage,
            function,
            source: source(described, stage, self.timing),
            head,
            sink: sink(stage, last),
            inputs: [const { None }; ENDS],
            outputs: [const { None }; ENDS],
            across: 0,
            fallback: fallback(described, stage, self.functions),
            awaits: [None; ENDS],
            period: vcpu_period(stage, self.timing),
            load: self.load(stage.wcet_ns),
            jitter: self.own.number("jitter", 0),
            overruns: self.own.argument("overrun") == Some(name_text(&stage.function)),
            offset: ticks(100_000) * number as u64,
        })
    }
}

/// Builds all stages that are here, which wait.
pub(crate) fn build(
    first: &mut First,
    own: &Own,
    timing: &Timing,
    (servers, functions): (&[ServerId], Functions),
) -> Result<(), Failure> {
    let common = Common {
        own,
        timing,
        functions,
    };
    for (pipe, described) in timing.pipes.iter().enumerate() {
        let name = name_text(&described.name);
        let numbers = stages_of(timing, pipe);
        let stages = timing.stages.get(numbers.clone());
        let stages = stages.ok_or(Failure::Pipe(name, "it has no stages"))?;
        if numbers.end > STAGES {
            return Err(Failure::Pipe(name, "there is no room for its stages"));
        }
        let mut plans: [Option<Plan>; STAGES] = [const { None }; STAGES];
        let mut heads = 0;
        for ((place, stage), plan) in stages.iter().enumerate().zip(&mut plans) {
            if stage.is_here() {
                let last = stages.last().is_some_and(|last| last.to == stage.to);
                *plan = Some(common.plan((pipe, place), stage, heads, last)?);
            }
            heads += usize::from(stage.from == 0);
        }
        connect(described, &mut plans)
            .ok_or(Failure::Pipe(name, "there is no room for its buffers"))?;
        cross(own, described, timing, numbers.start, &mut plans)?;
        for plan in plans.into_iter().flatten() {
            spawn(first, plan, servers)?;
        }
    }
    Ok(())
}

pub(super) fn vcpu_period(stage: &Stage, timing: &Timing) -> u64 {
    let vcpu = timing.vcpus.get(stage.vcpu as usize);
    ticks(vcpu.map_or(0, |vcpu| vcpu.period_ns))
}

fn source(pipe: &Pipe, stage: &Stage, timing: &Timing) -> Source {
    match name_text(&stage.source) {
        _ if stage.from != 0 => Source::Stages,
        "timer" | "" if pipe.fifo == 0 => Source::Timer(vcpu_period(stage, timing)),
        "timer" | "" => Source::Timer(ticks(pipe.interval_ns)),
        _ if pipe.fifo == 0 => Source::Can(Kept::Newest),
        _ => Source::Can(Kept::Each),
    }
}

fn sink(stage: &Stage, last: bool) -> Sink {
    match name_text(&stage.sink) {
        _ if !last => Sink::Stages,
        "" | "null" => Sink::Nothing,
        "trace" => Sink::Trace,
        _ => Sink::Can,
    }
}

/// A buffer from each stage into a junction to each stage out of it.
fn connect(pipe: &Pipe, plans: &mut [Option<Plan>; STAGES]) -> Option<()> {
    for from in 0..STAGES {
        for to in from + 1..STAGES {
            let junctions = |plan: &Plan| (plan.stage.from, plan.stage.to);
            let (Some((_, out)), Some((into, _))) = (
                plans[from].as_ref().map(junctions),
                plans[to].as_ref().map(junctions),
            ) else {
                continue;
            };
            if out != into {
                continue;
            }
            let reader = plans[to].as_ref()?;
            let (kind, fed) = (kind(pipe, reader.stage), reader.number);
            let (input, output) = link::make(kind, memory::take)?;
            free(&mut plans[to].as_mut()?.inputs, input)?;
            free(&mut plans[from].as_mut()?.outputs, (output, Some(fed)))?;
        }
    }
    Some(())
}

/// What takes a stage's place where nothing comes from another partition, after how many ticks.
fn fallback(pipe: &Pipe, stage: &Stage, functions: Functions) -> Option<(u64, Function)> {
    let function = functions::find(functions, name_text(&stage.fallback))?;
    (pipe.max_age_ns != 0).then(|| (ticks(pipe.max_age_ns), function))
}

/// How messages wait before a stage.
fn kind(pipe: &Pipe, reader: &Stage) -> Kind {
    match pipe.fifo {
        0 => Kind::Newest,
        _ => Kind::Each(reader.buffer),
    }
}

/// The buffers between stages here and in other partitions; `first` is the number of the pipe's first stage.
fn cross(
    own: &Own,
    pipe: &'static Pipe,
    timing: &Timing,
    first: usize,
    plans: &mut [Option<Plan>; STAGES],
) -> Result<(), Failure> {
    let name = name_text(&pipe.name);
    let wrong = Failure::Pipe(name, "its edges do not fit its stages");
    let place = |number: u32| (number as usize).checked_sub(first);
    for crossing in timing.crossings {
        let [Some(from), Some(to)] = [crossing.from, crossing.to].map(place) else {
            continue;
        };
        if from.max(to) >= pipe.stages as usize {
            continue;
        }
        let reader = timing.stages.get(first + to).ok_or(wrong)?;
        let kind = kind(pipe, reader);
        let (end, link) = crossing::join(own, crossing, kind, reader.is_here())?;
        let fits = match end {
            End::Reads(input) => plans[to].as_mut().and_then(|plan| plan.reads(input)),
            End::Writes(output) => {
                let writer = plans[from].as_mut();
                writer.and_then(|plan| free(&mut plan.outputs, (output, None)))
            }
        };
        fits.ok_or(wrong)?;
        for head in plans
            .iter_mut()
            .flatten()
            .filter(|plan| pipe.fifo != 0 && plan.stage.from == 0)
        {
            if let Some(link) = link {
                free(&mut head.awaits, link).ok_or(wrong)?;
            }
        }
    }
    Ok(())
}

/// Puts something into the first free place; nothing where there is none.
fn free<T>(places: &mut [Option<T>], one: T) -> Option<()> {
    *places.iter_mut().find(|place| place.is_none())? = Some(one);
    Some(())
}

impl Plan {
    /// What comes from another partition.
    fn reads(&mut self, input: Input) -> Option<()> {
        let place = self.inputs.iter().position(Option::is_none)?;
        self.across |= 1 << place;
        self.inputs[place] = Some(input);
        Some(())
    }
}
