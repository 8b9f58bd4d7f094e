//! Plans of stages: their inputs and outputs, and the buffers between them

use super::shared::{self, STAGES};
use super::{AWAITED, Computed, Fed, Kept, Peer, Plan, Sink, Source};
use crate::crossing;
use crate::device::To;
use crate::remote_partition::RemoteEdge;
use crate::runtime::{CORE, Failure};
use crate::table::{self, Entry, PIPES};
use crate::{component_functions, contents, fanout, memory, shared_state};
use bulkhead_abi::pipe::{EndpointKind, NONE, Pipe, Stage};
use bulkhead_abi::{NAME_LEN, name_field, name_text};
use bulkhead_buffers::Region;
use bulkhead_component::Environment;
use bulkhead_component::clock::ticks;
use bulkhead_component::first::Timing;
use bulkhead_guest::Link;
use bulkhead_slite::Mutex;
use bulkhead_stages::core_command::Edge;
use bulkhead_stages::functions::{self, Function, Functions};
use bulkhead_stages::link::{self, Input, Kind, Output, Shape};
use bulkhead_stages::message::{HEADS, content_bytes};
use bulkhead_stages::pace::MESSAGES;
use bulkhead_stages::work::ENDS;

/// Plans of the stages of a pipe, by index.
type Plans = [Option<Plan>; STAGES];

/// Plans that are made, too large for a stack. One thread at a time makes them.
static MADE: Mutex<Plans> = Mutex::new([const { None }; STAGES]);

/// Makes plans of the stages of pipes.
fn make<R>(
    name: [u8; NAME_LEN],
    work: impl FnOnce(&mut Plans) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let made = MADE.with(&CORE.threads, |plans| {
        let result = work(plans);
        plans.fill_with(|| None);
        result
    });
    made.unwrap_or(Err(Failure::Pipe(name, "its stages are planned twice")))
}

/// Parameters that the stages of all pipes share.
#[derive(Clone, Copy)]
pub(crate) struct Common {
    functions: Functions,
    timing: Timing,
    /// Argument words of the component.
    rounds: Option<u64>,
    load: u64,
    jitter: u64,
    overrun: [u8; NAME_LEN],
}

impl Common {
    pub(crate) fn new(env: &Environment, functions: Functions, timing: Timing) -> Self {
        Self {
            functions,
            timing,
            rounds: env.argument("rounds").and_then(|word| word.parse().ok()),
            load: env.number("load", 50).min(100),
            jitter: env.number("jitter", 0),
            overrun: name_field(env.argument("overrun").unwrap_or_default()),
        }
    }

    /// Load of a job in addition to its function.
    fn load(&self, wcet_ns: u64) -> Computed {
        match self.rounds {
            Some(rounds) => Computed::Rounds(wcet_ns / 1000 * rounds),
            None => Computed::Time(wcet_ns * self.load / 100),
        }
    }

    /// Returns whether the program or a component has the function of a stage.
    pub(crate) fn has(&self, function: &str) -> bool {
        component_functions::has(&self.timing, function)
            || functions::find(self.functions, function).is_some()
    }

    /// The function of a stage: `which` is 0 for its own, 1 for its fallback.
    fn function(
        &self,
        pipe: &Pipe,
        place: [usize; 2],
        name: &str,
    ) -> Result<Option<Function>, Failure> {
        let executed = component_functions::of_stage(&self.timing, place, pipe.name, name)?;
        Ok(executed.or_else(|| functions::find(self.functions, name)))
    }

    /// Plan of the stage at an index of a pipe, with that number among all; `head`: number of first
    /// stages before it.
    fn plan(
        &self,
        (pipe, pipe_head): (usize, &Pipe),
        (place, number): (usize, usize),
        stage: Stage,
        (head, last): (usize, bool),
    ) -> Result<Plan, Failure> {
        let wrong = |reason| Failure::Pipe(pipe_head.name, reason);
        let function = self.function(pipe_head, [number, 0], name_text(&stage.function))?;
        let function = function.ok_or(Failure::Function(
            pipe_head.name,
            stage.function,
            self.functions,
        ))?;
        let fallback = self.function(pipe_head, [number, 1], name_text(&stage.fallback))?;
        if stage.messages as usize > MESSAGES || head == HEADS && stage.from == 0 {
            return Err(wrong("a budget or its inputs are too many"));
        }
        let executor = component_functions::executor(&self.timing, name_text(&stage.function));
        Ok(Plan {
            number,
            pipe,
            program: executor.unwrap_or_else(contents::this_program),
            content: None,
            place,
            stage,
            function,
            source: source(pipe_head, &stage),
            head,
            own_heads: false,
            has_near_output: false,
            sink: sink(&stage, last),
            inputs: [const { None }; ENDS],
            outputs: [const { None }; ENDS],
            remote_inputs: 0,
            fallback: fallback
                .filter(|_| pipe_head.max_age_ns != 0)
                .map(|function| (ticks(pipe_head.max_age_ns), function)),
            awaits: [None; AWAITED],
            peers: [None; 2 * ENDS],
            period: ticks(stage.period_ns),
            load: self.load(stage.wcet_ns),
            jitter: self.jitter,
            overruns: self.overrun == stage.function,
            offset: ticks(100_000) * number as u64,
        })
    }

    /// Plans of the stages of a pipe that run here, written into empty slots because they are too
    /// large to be moved. `edges` has the buffers that are not this component's own.
    fn plans<I: Iterator<Item = Edge>>(
        &self,
        (pipe, entry): (usize, &Entry),
        edges: impl Fn() -> I,
        plans: &mut Plans,
    ) -> Result<(), Failure> {
        let mut heads = 0;
        let own_heads = entry
            .stages()
            .all(|(_, stage)| stage.from != 0 || stage.is_here());
        let last = entry.stages().last().map(|(_, stage)| stage.to);
        for ((place, (number, stage)), plan) in entry.stages().enumerate().zip(plans.iter_mut()) {
            if shared_state::is_here(&stage) {
                let ends = (heads, last == Some(stage.to));
                let owner = (pipe, &entry.pipe);
                let made = self.plan(owner, (place, number), stage, ends)?;
                *plan = Some(Plan { own_heads, ..made });
            }
            heads += usize::from(stage.from == 0);
        }
        let take = |bytes| memory::take(pipe, bytes);
        let connected = connect((pipe, &entry.pipe), plans, |ends| {
            let mut edges = edges();
            edges.find(|edge| {
                edge.remote_partition == 0 && ends == [edge.from.into(), edge.to.into()]
            })
        });
        let over = edges().try_for_each(|edge| over_cores(entry, plans, edge));
        let connected = connected.and(over);
        let gathered = plans.iter_mut().flatten();
        let gathered = gathered.filter(|plan| plan.gatherer() != NONE);
        let all =
            connected.and_then(|()| gathered.map(|plan| leave_to_gatherer(plan, take)).collect());
        all.ok_or(Failure::Pipe(
            entry.pipe.name,
            "there is no room for its buffers",
        ))
    }
}

/// Hands the plans of a run-time pipe's stages to their threads. Edges to other partitions have
/// their buffers already.
pub(crate) fn connected(
    common: &Common,
    pipe: usize,
    entry: &Entry,
    remote_edges: impl Iterator<Item = RemoteEdge>,
) -> Result<(), Failure> {
    connected_over(common, (pipe, entry), remote_edges, &[])
}

/// Connects a pipe with stages on other cores, including the buffers of its edges there. The pipe
/// gets a new generation, which the other cores start next.
pub(crate) fn connected_over(
    common: &Common,
    (pipe, entry): (usize, &Entry),
    remote_edges: impl Iterator<Item = RemoteEdge>,
    edges: &[Edge],
) -> Result<(), Failure> {
    make(entry.pipe.name, |plans| {
        common.plans((pipe, entry), || edges.iter().copied(), plans)?;
        join_all(plans, entry, remote_edges)?;
        shared::renew(pipe);
        leave(plans, entry.pipe.name)
    })
}

/// Hands over the plans of stages on this core of a pipe that was added on another core, or runs
/// again.
pub(crate) fn take_up<I: Iterator<Item = Edge>>(
    common: &Common,
    (pipe, entry): (usize, &Entry),
    remote_edges: impl Iterator<Item = RemoteEdge>,
    edges: impl Fn() -> I,
) -> Result<(), Failure> {
    make(entry.pipe.name, |plans| {
        common.plans((pipe, entry), &edges, plans)?;
        join_all(plans, entry, remote_edges)?;
        leave(plans, entry.pipe.name)
    })?;
    shared::wake(entry);
    Ok(())
}

/// Connects the end on this core of an edge to another core.
fn over_cores(entry: &Entry, plans: &mut Plans, edge: Edge) -> Option<()> {
    let ends = [edge.from, edge.to].map(usize::from);
    let [from, to] = ends.map(|place| plans.get(place).is_some_and(Option::is_some));
    if from == to || edge.remote_partition != 0 {
        return Some(());
    }
    let (_, reader) = entry.stages().nth(ends[1])?;
    let shape = Shape::before(&entry.pipe, &reader);
    let region = shared_state::region(edge.first_line(), shape.bytes()?)?;
    attach(plans, ends.into(), shape, region)
}

/// Connects the stages here to the edges to other partitions.
fn join_all(
    plans: &mut Plans,
    entry: &Entry,
    mut remote_edges: impl Iterator<Item = RemoteEdge>,
) -> Result<(), Failure> {
    let wrong = Failure::Pipe(entry.pipe.name, "its edges do not fit its stages");
    remote_edges.try_for_each(|edge| {
        let reader = entry.stages().nth(edge.to).map(|(_, stage)| stage);
        let shape = Shape::before(&entry.pipe, &reader.ok_or(wrong)?);
        join(plans, &edge, shape).ok_or(wrong)
    })
}

/// Connects the end of an edge that is here, if one is, to its stage.
fn join(plans: &mut Plans, edge: &RemoteEdge, shape: Shape) -> Option<()> {
    let RemoteEdge {
        from,
        to,
        region,
        link,
        role,
    } = *edge;
    for (place, reads) in [(to, true), (from, false)] {
        if let Some(plan) = plans.get_mut(place)? {
            plan.join(shape, region, (reads, Fed::Nobody))?;
            free(&mut plan.peers, Peer { link, role, reads })?;
        }
    }
    Some(())
}

/// Hands plans to the threads of their stages.
fn leave(plans: &mut Plans, name: [u8; NAME_LEN]) -> Result<(), Failure> {
    for mut plan in plans.iter_mut().filter_map(Option::take) {
        let missing = Failure::Pipe(name, "there is no room for a content of its messages");
        plan.find_content().ok_or(missing)?;
        shared::leave(plan.number, plan);
    }
    Ok(())
}

/// Makes and hands over plans of all static stages that are here.
pub(crate) fn build(common: &Common, env: &Environment, timing: &Timing) -> Result<(), Failure> {
    let mut first = 0;
    for (pipe, pipe_head) in timing.pipes.iter().enumerate() {
        let numbers = first..first + pipe_head.stages as usize;
        let wrong = |reason| Failure::Pipe(pipe_head.name, reason);
        let stages = timing.stages.get(numbers.clone());
        let stages = stages.ok_or(wrong("it has no stages"))?;
        if numbers.end > STAGES || pipe >= PIPES {
            return Err(wrong("there is no room for its stages"));
        }
        for (number, stage) in numbers.clone().zip(stages) {
            shared::shared(number).become_stage(*stage);
        }
        let heads = stages.iter().enumerate();
        let heads = heads.filter(|(_, stage)| stage.from == 0);
        let heads = heads.map(|(place, _)| place);
        let entry = Entry::new(*pipe_head, numbers, heads, pipe as u32 + 1);
        table::set(pipe, Some(entry));
        make(pipe_head.name, |plans| {
            common.plans((pipe, &entry), core::iter::empty, plans)?;
            cross(env, (pipe, first), &entry, timing, plans)?;
            leave(plans, pipe_head.name)
        })?;
        first += pipe_head.stages as usize;
    }
    Ok(())
}

fn source(pipe: &Pipe, stage: &Stage) -> Source {
    let [source, _] = stage.endpoints();
    match (source, pipe.fifo) {
        _ if stage.from != 0 => Source::Stages,
        (EndpointKind::Device, 0) => Source::Device(Kept::Newest),
        (EndpointKind::Device, _) => Source::Device(Kept::Each),
        (_, 0) => Source::Timer(ticks(stage.period_ns)),
        _ => Source::Timer(ticks(pipe.interval_ns)),
    }
}

fn sink(stage: &Stage, last: bool) -> Sink {
    let [_, sink] = stage.endpoints();
    match sink {
        _ if !last || stage.scatter[1] != NONE => Sink::Stages,
        EndpointKind::Trace => Sink::Trace,
        EndpointKind::Device => Sink::Device,
        _ => Sink::Nothing,
    }
}

/// Buffers of a junction: one from each stage that feeds it to each stage that it feeds.
fn connect(
    (number, pipe): (usize, &Pipe),
    plans: &mut Plans,
    common: impl Fn([usize; 2]) -> Option<Edge>,
) -> Option<()> {
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
            let (shape, fed) = (Shape::before(pipe, &reader.stage), reader.number);
            let program = plans[from].as_ref()?.program;
            let (mut input, output) = match common([from, to]) {
                None => link::make(
                    shape,
                    |bytes| memory::take(number, bytes),
                    |bytes| contents::take(number, program, bytes),
                )?,
                Some(edge) => {
                    let region = shared_state::region(edge.first_line(), shape.bytes()?)?;
                    (
                        Input::attach(shape, region)?,
                        Output::attach(shape, region)?,
                    )
                }
            };
            let is_common = common([from, to]).is_some();
            let reader = plans[to].as_mut()?;
            if is_common {
                reader.copy_contents(&mut input)?;
            }
            free(&mut reader.inputs, input)?;
            let writer = plans[from].as_mut()?;
            writer.has_near_output |= !is_common;
            free(&mut writer.outputs, (output, Fed::Stage(fed)))?;
        }
    }
    Some(())
}

/// The buffer from a last stage to its gatherer.
fn leave_to_gatherer(
    plan: &mut Plan,
    take: impl Fn(usize) -> Option<Region<'static>>,
) -> Option<()> {
    let kind = Kind::Each(link::GATHERED_PLACES);
    let (messages, output) = link::make(kind, take, |_| None)?;
    let outgoing = fanout::Outgoing {
        messages,
        place: plan.place(),
        to: To::of(&plan.stage),
        patience: plan.period,
    };
    fanout::leave(plan.number, outgoing);
    let fed = Fed::Gatherer(plan.gatherer());
    free(&mut plan.outputs, (output, fed))
}

/// Buffers between stages here and in other partitions or on other cores, of a pipe with that
/// number for its first stage. A lossless first stage here waits until the readers of its buffers
/// are up, because nothing else prevents an overflow.
fn cross(
    env: &Environment,
    (pipe, first): (usize, usize),
    entry: &Entry,
    timing: &Timing,
    plans: &mut Plans,
) -> Result<(), Failure> {
    let wrong = Failure::Pipe(entry.pipe.name, "its edges do not fit its stages");
    let place = |number: u32| (number as usize).checked_sub(first);
    for (number, crossing) in timing.crossings.iter().enumerate() {
        let [Some(from), Some(to)] = [crossing.from, crossing.to].map(place) else {
            continue;
        };
        if from.max(to) >= entry.pipe.stages as usize {
            continue;
        }
        if crossing.is_within() {
            let reader = timing.stages.get(first + to).ok_or(wrong)?;
            let region = shared_state::buffer(timing, number).ok_or(wrong)?;
            let shape = Shape::before(&entry.pipe, reader);
            attach(plans, (from, to), shape, region).ok_or(wrong)?;
        } else if plans[from].is_some()
            || plans[to].is_some()
            || crossing::end(env, crossing).is_some()
        {
            crossing::open(env, crossing, pipe, [from, to])?;
        }
    }
    join_all(plans, entry, crossing::of_pipe(pipe))?;
    let heads = plans.iter_mut().flatten();
    for head in heads.filter(|plan| entry.pipe.fifo != 0 && plan.stage.from == 0) {
        for edge in crossing::of_pipe(pipe) {
            let is_same = |link: &Link| link.is_same(&edge.link);
            if !head.awaits.iter().flatten().any(is_same) {
                free(&mut head.awaits, edge.link).ok_or(wrong)?;
            }
        }
    }
    Ok(())
}

/// The end of an edge between cores that is here: its reader, its writer, or neither.
fn attach(
    plans: &mut Plans,
    (from, to): (usize, usize),
    shape: Shape,
    region: Region<'static>,
) -> Option<()> {
    for (place, reads) in [(from, false), (to, true)] {
        if let Some(plan) = plans.get_mut(place)? {
            plan.join(shape, region, (reads, Fed::Core))?;
        }
    }
    Some(())
}

/// Stores a value in the first free slot. Returns nothing if there is none.
fn free<T>(places: &mut [Option<T>], one: T) -> Option<()> {
    *places.iter_mut().find(|place| place.is_none())? = Some(one);
    Some(())
}

impl Plan {
    /// The VCPU of the gatherer of its output, or [`NONE`].
    fn gatherer(&self) -> u32 {
        self.stage.scatter[1]
    }

    /// End of a buffer with the other end in another partition or on another core.
    fn join(
        &mut self,
        shape: Shape,
        region: Region<'static>,
        (reads, fed): (bool, Fed),
    ) -> Option<()> {
        match reads {
            true => {
                let mut input = Input::attach(shape, region)?;
                self.copy_contents(&mut input)?;
                self.reads(input)
            }
            false => {
                let output = Output::attach(shape, region)?;
                free(&mut self.outputs, (output, fed))
            }
        }
    }

    /// Returns whether a component executes its function, without access to buffers between cores and partitions.
    fn is_isolated(&self) -> bool {
        self.program != contents::this_program()
    }

    /// Copies the contents of an input that the program of its function has no access to.
    fn copy_contents(&self, input: &mut Input) -> Option<()> {
        let bytes = input.content_bytes();
        if bytes != 0 && self.is_isolated() {
            input.copy_to(contents::take_one(self.pipe, self.program, bytes)?);
        }
        Some(())
    }

    /// Allocates the content that its function writes where no output has one that the function's program has access to.
    fn find_content(&mut self) -> Option<()> {
        let bytes = content_bytes(self.stage.message_bytes[1]);
        let has_output =
            self.has_near_output || !self.is_isolated() && self.outputs.iter().any(Option::is_some);
        if bytes != 0 && !has_output && self.content.is_none() {
            self.content = Some(contents::take_one(self.pipe, self.program, bytes)?);
        }
        Some(())
    }

    /// Marks an input from another partition or core.
    fn reads(&mut self, input: Input) -> Option<()> {
        let place = self.inputs.iter().position(Option::is_none)?;
        self.remote_inputs |= 1 << place;
        self.inputs[place] = Some(input);
        Some(())
    }
}
