//! Deployment of a flow: admission, replacement of an old pipe, and start

mod report;

use super::cores::Edges;
use super::remote::Missing;
use super::{ANNOUNCE, CHANGED, GUARANTEES, PathGuarantees, Planner, REMOTE_SOURCES, Text};
use crate::memory;
use crate::recorder::{self, PAUSE_NS};
use crate::remote_partition::{self, PENDING};
use crate::runtime::{CORE, Failure, say};
use crate::stage::{self, STAGES, is_vacant};
use crate::table::{self, Entry as Pipe, PIPES};
use crate::vcpu_pool::{self, Budgets};
use crate::{client_pipes, device, fanout, shared_state};
use bulkhead_abi::pipe::{NONE, Pipe as PackedPipe};
use bulkhead_abi::repository::MAX_FLOW;
use bulkhead_abi::{name_field, name_text};
use bulkhead_component::clock::{self, ticks};
use bulkhead_flows::command::NewPipe;
use bulkhead_flows::pipe_admission::{self, AdmittedPipe, Guarantee, Refused, Solved};
use bulkhead_tpipe::language::Buffering;
use core::sync::atomic::Ordering::{Relaxed, Release};

/// A pipe to be deployed, and the pipe that it replaces.
pub(super) struct Change<'l> {
    pub(super) entered: NewPipe<'l>,
    pub(super) old: Option<(usize, Pipe)>,
}

impl Change<'_> {
    /// Prints when it begins, in microseconds since the old pipe was stopped.
    fn tell_start(&self, gap: u64) {
        let name = self.entered.name;
        match self.old {
            Some(_) => say!("pipe {name} is replaced: {gap} us from its stop to the first release"),
            None => say!("pipe {name} starts in {gap} us"),
        }
    }
}

/// Time within which a stopped pipe ends, in addition to the periods of its stages for as many
/// messages as may be in it.
const END_NS: u64 = 2_000_000_000;

/// Settings T and m of the stages of all pipes that the admission test judges by their flows.
pub(super) struct Settings {
    settings: [[(u64, u64); STAGES]; PIPES],
    counts: [usize; PIPES],
    /// Numbers of these pipes.
    pipes: [usize; PIPES],
    count: usize,
}

impl Settings {
    /// Settings of all pipes except one, and except those that the client requested.
    pub(super) fn all_except(old: Option<usize>) -> Self {
        let mut all = Self {
            settings: [[(1, 1); STAGES]; PIPES],
            counts: [0; PIPES],
            pipes: [0; PIPES],
            count: 0,
        };
        let counts = |number| Some(number) != old && !client_pipes::is_requested(number);
        for (number, pipe) in table::all().filter(|(number, _)| counts(*number)) {
            let stages = pipe.stages();
            all.push(
                number,
                stages.map(|(_, stage)| (stage.period_ns, stage.messages.into())),
            );
        }
        all
    }

    /// Number of the pipe at that index.
    pub(super) fn pipe(&self, index: usize) -> Option<usize> {
        self.pipes.get(..self.count)?.get(index).copied()
    }

    /// Numbers of all of them.
    pub(super) const fn numbers(&self) -> [usize; PIPES] {
        self.pipes
    }

    fn push(&mut self, pipe: usize, stages: impl Iterator<Item = (u64, u64)>) {
        let at = self.count;
        let (Some(places), Some(count), Some(number)) = (
            self.settings.get_mut(at),
            self.counts.get_mut(at),
            self.pipes.get_mut(at),
        ) else {
            return;
        };
        *number = pipe;
        *count = 0;
        for (place, setting) in places.iter_mut().zip(stages) {
            *place = setting;
            *count += 1;
        }
        self.count += 1;
    }

    /// Removes the last one.
    const fn pop(&mut self) {
        self.count = self.count.saturating_sub(1);
    }

    fn of(&self, index: usize) -> &[(u64, u64)] {
        let count = self.counts.get(index).copied().unwrap_or(0);
        let settings = self.settings.get(index);
        settings
            .and_then(|all| all.get(..count))
            .unwrap_or_default()
    }
}

/// Reason for which a solved flow is not started.
pub(super) enum Stopped {
    Refused(Refused),
    /// A content of so many bytes, that of the messages of a buffer, has no room.
    Contents(usize),
    /// The table of pipes is full.
    Pipes,
    /// The program lacks a function of the description.
    Program(usize),
    /// Another partition does not run its stages.
    Missing(Missing),
    /// A stage uses a device that is not there.
    Device(usize),
    /// A core has too few free stages.
    Stages(vcpu_pool::Missing),
    /// The shared memory lacks room for its buffers: bytes needed, bytes free.
    Common([usize; 2]),
    /// A VCPU of that core would miss its budget, scheduling overhead included.
    Core(u32, bulkhead_slite::Refused),
}

impl From<Refused> for Stopped {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

/// Resources reserved for the deployment; starting it cannot fail.
struct Plan {
    number: usize,
    solved: Solved,
    /// Numbers of its stages.
    slots: [usize; STAGES],
    /// Guarantees of all pipes, by number.
    guarantees: [Option<Guarantee>; PIPES],
}

impl Planner {
    pub(super) fn change(&mut self, change: &Change<'_>, line: &[u8]) {
        let name = change.entered.name;
        self.settle_orphaned();
        let began = clock::now();
        match self.plan(change) {
            Ok(plan) => {
                let took = clock::micros(clock::now() - began);
                say!("pipe {name}: solved and admitted in {took} us");
                self.show(change, &plan.solved);
                self.start(change, &plan);
            }
            Err(stopped) => self.explain(change, line, stopped),
        }
    }

    /// Plans the deployment, if all of it fits.
    fn plan(&self, change: &Change<'_>) -> Result<Plan, Stopped> {
        let old = change.old.map(|(number, _)| number);
        let replaced = change.old.as_ref().map(|(_, pipe)| pipe);
        let count = vcpu_pool::free_anywhere(&self.timing, replaced).count();
        let number = old.or_else(|| (0..PIPES).find(|&number| table::get(number).is_none()));
        let number = number.ok_or(Stopped::Pipes)?;
        let mut settings = Settings::all_except(old);
        let flow = change.entered.flow;
        let mut solved = self.standing(&settings, None, |standing| {
            pipe_admission::solve(&self.catalogue, flow, standing, count)
        })?;
        let slots = self.choose(&solved, replaced).map_err(Stopped::Stages)?;
        self.can_run(&solved)?;
        let mut guarantees = [const { None }; PIPES];
        loop {
            let stages = solved.stages().iter();
            settings.push(number, stages.map(|stage| (stage.period, stage.messages)));
            let kept = self.standing(&settings, Some(flow), |standing| {
                pipe_admission::judge(&self.catalogue, standing, |index, guarantee| {
                    let pipe = settings.pipes.get(index).copied().unwrap_or(PIPES);
                    if let Some(place) = guarantees.get_mut(pipe) {
                        *place = Some(*guarantee);
                    }
                })
            });
            let Err(refused) = kept else { break };
            settings.pop();
            let slower = self.standing(&settings, None, |standing| {
                pipe_admission::slower(&self.catalogue, flow, standing, count, &solved)
            });
            solved = slower.ok_or(refused)?;
        }
        self.fits_memory(&solved, number, old)?;
        self.others_have_room(&solved).map_err(Stopped::Missing)?;
        let mut budgets: Budgets = vcpu_pool::budgets(old);
        for (place, stage) in self
            .stages(&solved)
            .zip(&slots)
            .map(|(stage, slot)| (*slot, stage))
        {
            if stage.is_here() {
                vcpu_pool::add_budget(&mut budgets, place, &stage);
            }
        }
        self.admit(&solved, &budgets)?;
        Ok(Plan {
            number,
            solved,
            slots,
            guarantees,
        })
    }

    /// Checks that the program has the functions, and that stages have the devices that they use.
    fn can_run(&self, solved: &Solved) -> Result<(), Stopped> {
        let missing = solved.stages().iter().position(|stage| {
            if self.core_for(None, stage.function) == NONE {
                return false;
            }
            let function = self.catalogue.packed().functions.get(stage.function);
            function.is_none_or(|function| !self.common.has(name_text(&function.function)))
        });
        if let Some(stage) = missing {
            return Err(Stopped::Program(stage));
        }
        let mut stages = self.stages(solved);
        let missing = stages.position(|stage| device::uses(&stage) && !device::is_open());
        missing.map_or(Ok(()), |stage| Err(Stopped::Device(stage)))
    }

    /// The admitted pipes; the new flow is the last one, if there is one.
    pub(super) fn standing<R>(
        &self,
        settings: &Settings,
        new: Option<&str>,
        use_it: impl FnOnce(&[AdmittedPipe<'_>]) -> R,
    ) -> R {
        let nobody = AdmittedPipe {
            flow: "",
            setting: &[],
            most: None,
        };
        let mut standing = [nobody; PIPES];
        let numbered = standing
            .iter_mut()
            .zip(&settings.pipes)
            .take(settings.count);
        for (index, (place, &pipe)) in numbered.enumerate() {
            let entered = self.texts.get(pipe).is_some_and(Option::is_some);
            let shared = !entered && self.catalogue.packed().is_shared(pipe);
            // The guarantees of a pipe that ends in another partition stay those of its start.
            let entry =
                table::get(pipe).filter(|entry| shared || entered && entry.ends_elsewhere());
            *place = AdmittedPipe {
                flow: self.flow(pipe),
                setting: settings.of(index),
                most: entry.map(|entry| entry.pipe.bound_ns),
            };
            if let (true, Some(flow)) = (index + 1 == settings.count, new) {
                (place.flow, place.most) = (flow, None);
            }
        }
        use_it(standing.get(..settings.count).unwrap_or_default())
    }

    fn start(&mut self, change: &Change<'_>, plan: &Plan) {
        let name = change.entered.name;
        let solved = &plan.solved;
        let pipe = PackedPipe {
            name: name_field(name),
            stages: solved.stages().len() as u32,
            fifo: u32::from(solved.buffering == Buffering::Fifo),
            interval_ns: solved.interval,
            bound_ns: solved.guarantee.bound,
            max_age_ns: 0,
        };
        let id = clock::now();
        if let Err(missing) = self.ask(id, &pipe, solved) {
            self.explain_missing(name, &missing);
            return self.goes_on(change);
        }
        let ended = clock::now();
        if let Some((number, pipe)) = &change.old
            && !self.end(*number, pipe)
        {
            return self.end_remote(PENDING, id);
        }
        self.others.hand([PENDING, plan.number]);
        self.set_request_id(plan.number, id, &solved.guarantee);
        self.pipes += 1;
        let heads = solved.stages().iter().enumerate();
        let heads = heads.filter(|(_, stage)| stage.from == 0);
        let heads = heads.map(|(place, _)| place);
        let entry = Pipe::new(pipe, plan.slots, heads, self.pipes);
        for (number, stage) in entry.numbers().zip(self.stages(solved)) {
            stage::shared(number).become_stage(stage);
            if shared_state::is_here(&stage) && !until(END_NS, || vcpu_pool::give(number, &stage)) {
                return say!(
                    "pipe {name} is not started: a thread of its stages does not come to rest"
                );
            }
        }
        CHANGED.store(plan.number as u64 + 1, Relaxed);
        table::set(plan.number, Some(entry));
        let edges = match self.connect(plan.number, &entry) {
            Ok(edges) => edges,
            Err(failure) => {
                table::set(plan.number, None);
                memory::release(plan.number);
                self.end_remote(plan.number, id);
                return say!("pipe {name} is not started: {failure}");
            }
        };
        entry
            .here()
            .for_each(|(number, stage)| device::attach(number, &stage));
        device::work_for_most_important(&self.timing);
        self.keep(plan.number, change.entered.flow);
        if !self.run_there(plan.number, &entry, &edges) {
            let _said = self.end(plan.number, &entry);
            return say!("pipe {name} is not started");
        }
        announce_guarantees(&plan.guarantees);
        let first = self.begin(plan.number, &entry);
        change.tell_start(clock::micros(first.saturating_sub(ended)));
    }

    /// Hands their plans to the stages here, with the buffers of all edges. Returns the edges to
    /// and on other cores.
    fn connect(&self, number: usize, entry: &Pipe) -> Result<Edges, Failure> {
        let room = Failure::Pipe(entry.pipe.name, "there is no room for its buffers");
        let edges = self.edges(number, entry, false).ok_or(room)?;
        let remote_edges = edges.all().iter();
        let remote_edges =
            remote_edges.filter_map(|edge| remote_partition::remote_edge(&self.places, *edge));
        stage::connected_over(&self.common, (number, entry), remote_edges, edges.all())?;
        Ok(edges)
    }

    /// Ends a pipe in order, and removes it. Returns whether it did.
    pub(super) fn end(&mut self, number: usize, pipe: &Pipe) -> bool {
        if !self.stop_all(number, pipe) {
            return false;
        }
        stage::retire(number, pipe);
        let rest = || {
            let mut all = pipe.within();
            all.all(|(number, stage)| is_vacant(number) && fanout::is_over(number, &stage))
        };
        let name = pipe.name();
        let limit = end_limit(pipe);
        if !until(limit, rest) {
            if !self.end_anyhow(number, pipe, limit) {
                say!("pipe {name} does not come to an end: it stays, stopped");
                return false;
            }
            // No thread waits for that end any more.
            if let Some(stop) = self.stops.get_mut(number) {
                *stop = 0;
            }
        }
        // Messages that left the pipe are recorded as its own.
        if !until(END_NS, || recorder::is_drained(pipe)) {
            say!(
                "what left pipe {name} last is not recorded yet, and is taken for its successor's"
            );
        }
        if !self.forget_there(number, pipe) {
            say!("pipe {name} stays, stopped: `pipe remove {name}` tries again");
            return false;
        }
        let id = self.ids.get(number).copied().unwrap_or(0);
        self.end_remote(number, id);
        self.withdraw_remote(number, pipe);
        tell_end(pipe);
        pipe.numbers().for_each(device::detach);
        memory::release(number);
        table::set(number, None);
        device::work_for_most_important(&self.timing);
        if let (Some(text), Some(stop)) = (self.texts.get_mut(number), self.stops.get_mut(number)) {
            (*text, *stop) = (None, 0);
        }
        REMOTE_SOURCES.fetch_and(!(1 << number), Relaxed);
        true
    }

    /// Ends a pipe after its end of task was lost in another partition: a partition that restarts
    /// drops the messages in its buffers. Returns whether the pipe ended.
    fn end_anyhow(&self, number: usize, pipe: &Pipe, limit_ns: u64) -> bool {
        let vacant = || pipe.within().all(|(stage, _)| is_vacant(stage));
        if !pipe.crosses() {
            return false;
        }
        say!(
            "the end of pipe {} was lost elsewhere: what was under way is dropped",
            pipe.name()
        );
        stage::dismiss(number, pipe);
        until(limit_ns, vacant)
    }

    /// Stores the flow of a pipe.
    fn keep(&mut self, number: usize, flow: &str) {
        let mut text = Text {
            bytes: [0; MAX_FLOW],
            length: flow.len(),
        };
        for (place, byte) in text.bytes.iter_mut().zip(flow.bytes()) {
            *place = byte;
        }
        if let Some(place) = self.texts.get_mut(number) {
            *place = Some(text);
        }
    }

    /// Name of the VCPU of a server number.
    pub(super) fn vcpu(&self, server: usize) -> &str {
        let vcpu = self.timing.vcpus.get(server);
        vcpu.map_or("a run-time stage or the recorder", |vcpu| {
            name_text(&vcpu.name)
        })
    }
}

/// Time within which a stopped pipe ends, nanoseconds: its stages, in all partitions, take
/// everything that may wait.
pub(super) fn end_limit(pipe: &Pipe) -> u64 {
    let periods = pipe.stages().map(|(_, stage)| {
        stage
            .period_ns
            .saturating_mul(u64::from(stage.buffer.max(1)))
    });
    let longest = periods.fold(0, u64::saturating_add).saturating_mul(2);
    longest.saturating_add(END_NS)
}

/// Prints how many messages entered and left a lossless pipe with one first and one last stage.
fn tell_end(pipe: &Pipe) {
    let mut heads = pipe.heads();
    let (head, other) = (heads.next(), heads.next());
    let (first, last) = (
        head.and_then(|head| pipe.numbers().nth(head)),
        pipe.numbers().last(),
    );
    let out = pipe.stages().last().map(|(_, stage)| stage.to);
    let last_ones = pipe.stages().filter(|(_, stage)| Some(stage.to) == out);
    let (Some(first), Some(last)) = (first, last.filter(|_| !pipe.ends_elsewhere())) else {
        return;
    };
    let begins_here = stage::shared(first)
        .stage()
        .is_some_and(|stage| stage.is_here());
    if pipe.pipe.fifo == 0 || other.is_some() || last_ones.count() != 1 || !begins_here {
        return;
    }
    let [entered, exited] = [first, last].map(|stage| stage::shared(stage).jobs.load(Relaxed));
    say!(
        "pipe {} has ended: {entered} messages entered, {} stayed in it",
        pipe.name(),
        entered.saturating_sub(exited)
    );
}

pub(super) fn nanoseconds(ticks: u64) -> u64 {
    bulkhead_component::load::nanoseconds(ticks)
}

/// Announces the guarantees from now on.
pub(super) fn announce_guarantees(guarantees: &[Option<Guarantee>; PIPES]) {
    for (number, promised) in guarantees.iter().enumerate() {
        // The partition with its last stages received them with the request.
        let is_told = table::get(number).is_some_and(|entry| entry.ends_elsewhere());
        let Some(promised) = promised.filter(|_| !is_told) else {
            continue;
        };
        table::set_bound(number, promised.bound);
        tell(number, &PathGuarantees::of(&promised));
    }
}

/// Lets the recorder record the guarantees of a pipe.
pub(super) fn tell(number: usize, guarantees: &PathGuarantees) {
    if let Some(place) = GUARANTEES.get(number) {
        let _kept = place.with(&CORE.threads, |place| *place = Some(*guarantees));
        ANNOUNCE.fetch_or(1 << number, Release);
    }
}

/// Polls a condition, as often as the recorder polls, until it holds or the time is over.
/// Returns whether it holds.
pub(super) fn until(limit_ns: u64, received: impl Fn() -> bool) -> bool {
    let end = clock::now().saturating_add(ticks(limit_ns));
    while !received() {
        if clock::now() > end {
            return false;
        }
        CORE.threads.sleep_until(clock::now() + ticks(PAUSE_NS));
    }
    true
}
