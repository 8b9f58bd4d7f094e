//! Pipes in simulated time, from event to event
//!
//! Each core has the servers of the analysis: sporadic servers by rate (budget used from t on is
//! replenished at t + T), constant-bandwidth servers with hard budgets by deadline, and I/O
//! servers that handle one message and rest until start + C/U at the priority of the VCPU that
//! they work for. VCPUs besides the pipe always use all their budget.

mod initial_state;

use crate::random::{ROOM, Random};
use bulkhead_analysis::utilisation::WHOLE;
use bulkhead_tpipe::binding::Bound;
use bulkhead_tpipe::language::Buffering;
use bulkhead_tpipe::repository::Policy;
use bulkhead_tpipe::solver::Solution;
use std::collections::VecDeque;

/// When messages come and how long jobs take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Arrivals {
    /// As fast as promised, everything at once, jobs take their WCET.
    Worst,
    /// As fast as promised, at random phases, jobs take up to their WCET.
    Steady,
    /// At random distances, otherwise the same.
    Sparse,
}

/// Results.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) worst_delay: u64,
    pub(crate) sent: u64,
    /// Into four-slot buffers before a stage: messages, and those overwritten unread.
    pub(crate) written: Vec<(u64, u64)>,
    pub(crate) most_waiting: Vec<u64>,
    /// Messages that are still on their way in the end.
    pub(crate) remaining: usize,
    pub(crate) first_input: u64,
    pub(crate) last_output: u64,
}

/// Messages each source sends.
const MESSAGES: u64 = 60;

/// When what a message is made of came in, the earliest of it.
type Message = u64;

/// An event.
#[derive(Clone, Debug)]
enum Work {
    /// A job of a stage: inputs are read when it starts.
    Stage(usize),
    /// A message on its way in or out through a device.
    Device {
        device: usize,
        stage: usize,
        inwards: bool,
        at_main: bool,
        message: Message,
    },
    /// Anything else.
    Load,
}

#[derive(Debug)]
enum Budget {
    /// Chunks: usable from, amount. The one in use has been since.
    Sporadic(VecDeque<(u64, u64)>),
    /// Left, deadline.
    Bandwidth(u64, u64),
    /// Usable from.
    Io(u64),
}

#[derive(Debug)]
struct Server {
    core: usize,
    capacity: u64,
    period: u64,
    /// Of equals, the smaller goes first.
    order: usize,
    budget: Budget,
    queue: VecDeque<(Work, u64)>,
    /// The job under way: what is left of it, and what a stage read for it.
    job: Option<(Work, u64, Vec<Message>)>,
}

/// A buffer before a stage, one per producer.
#[derive(Debug, Default)]
struct Input {
    producer: usize,
    /// And when it arrived.
    waiting: VecDeque<(Message, u64)>,
}

struct World<'a, 'b, 'r> {
    bound: &'a Bound<'b, ROOM>,
    solution: &'a Solution<ROOM>,
    arrivals: Arrivals,
    random: &'r mut Random,
    servers: Vec<Server>,
    /// Servers of stages, of devices' Main VCPUs, of I/O VCPUs.
    of_stage: Vec<usize>,
    of_main: Vec<Option<usize>>,
    of_io: Vec<usize>,
    inputs: Vec<Vec<Input>>,
    /// When the clock of each stage first ticks that reads by one.
    phases: Vec<u64>,
    /// Virtual releases of each stage's last m jobs.
    released: Vec<VecDeque<u64>>,
    /// Stages that wait for their next release.
    paced: Vec<(u64, usize)>,
    /// To come: when, to which first stage.
    to_come: Vec<(u64, usize)>,
    now: u64,
    seen: Seen,
}

/// Messages from outside have no producer.
const OUTSIDE: usize = usize::MAX;

pub(crate) fn simulate(
    bound: &Bound<'_, ROOM>,
    solution: &Solution<ROOM>,
    arrivals: Arrivals,
    random: &mut Random,
) -> Seen {
    let mut world = World::new(bound, solution, arrivals, random);
    while !world.done() {
        let next = world.next_event();
        if next == u64::MAX {
            break;
        }
        world.advance(next);
        world.arrive();
    }
    world.finish()
}

impl World<'_, '_, '_> {
    fn done(&self) -> bool {
        let busy = |server: &Server| {
            let other = server
                .queue
                .iter()
                .any(|(work, _)| !matches!(work, Work::Load));
            other
                || server
                    .job
                    .as_ref()
                    .is_some_and(|(work, ..)| !matches!(work, Work::Load))
        };
        self.to_come.is_empty() && self.paced.is_empty() && !self.servers.iter().any(busy)
    }

    fn execution(&mut self, wcet: u64) -> u64 {
        match self.arrivals {
            Arrivals::Worst => wcet,
            _ if self.random.below(2) == 0 => wcet,
            _ => 1 + self.random.below(wcet),
        }
    }

    /// The running VCPU of each core.
    fn running(&self) -> Vec<Option<usize>> {
        let cores = self.bound.repository.cores.len();
        (0..cores)
            .map(|core| {
                let ready = self.servers.iter().enumerate();
                let ready =
                    ready.filter(|(_, server)| server.core == core && self.is_ready(server));
                ready
                    .min_by_key(|(_, server)| self.urgency(server))
                    .map(|(index, _)| index)
            })
            .collect()
    }

    fn is_ready(&self, server: &Server) -> bool {
        let work = server.job.is_some() || !server.queue.is_empty();
        work && match &server.budget {
            Budget::Sporadic(chunks) => chunks.front().is_some_and(|(from, _)| *from <= self.now),
            Budget::Bandwidth(remaining, _) => *remaining > 0,
            Budget::Io(from) => *from <= self.now || server.job.is_some(),
        }
    }

    /// The smaller, the sooner.
    fn urgency(&self, server: &Server) -> (u64, usize, usize) {
        match server.budget {
            Budget::Sporadic(_) => (server.period, 1, server.order),
            Budget::Bandwidth(_, deadline) => (deadline, 1, server.order),
            Budget::Io(_) => {
                let waiting = server.queue.iter().map(|(work, _)| work);
                let mut all = waiting.chain(server.job.iter().map(|(work, ..)| work));
                let ranked =
                    self.bound.repository.cores[server.core].policy == Policy::RateMonotonic;
                let period = all
                    .by_ref()
                    .map(|work| self.period_behind(work))
                    .min()
                    .unwrap_or(u64::MAX);
                let urgency = if ranked { period } else { self.now };
                (urgency, 0, server.order)
            }
        }
    }

    /// Period of the Main VCPU for which a bottom half works.
    fn period_behind(&self, work: &Work) -> u64 {
        match *work {
            Work::Device { device, stage, .. } => match self.of_main[device] {
                Some(main) => self.servers[main].period,
                None => self.solution.setting.period[stage],
            },
            _ => u64::MAX,
        }
    }

    /// When something happens next.
    fn next_event(&mut self) -> u64 {
        self.start_jobs();
        let mut next = self.to_come.last().map_or(u64::MAX, |first| first.0);
        next = self.paced.iter().fold(next, |next, &(at, _)| next.min(at));
        for index in self.running().into_iter().flatten() {
            let server = &self.servers[index];
            let remaining = server
                .job
                .as_ref()
                .map_or(0, |(_, remaining, _)| *remaining);
            let slice = match &server.budget {
                Budget::Sporadic(chunks) => chunks
                    .front()
                    .map_or(0, |(_, amount)| remaining.min(*amount)),
                Budget::Bandwidth(budget, _) => remaining.min(*budget),
                Budget::Io(_) => remaining,
            };
            next = next.min(self.now + slice);
        }
        for server in &self.servers {
            let from = match &server.budget {
                Budget::Sporadic(chunks) => chunks.front().map_or(u64::MAX, |(from, _)| *from),
                Budget::Bandwidth(0, deadline) => *deadline,
                Budget::Bandwidth(..) => u64::MAX,
                Budget::Io(from) => *from,
            };
            let wants = server.job.is_some() || !server.queue.is_empty();
            if wants && from > self.now {
                next = next.min(from);
            }
        }
        next
    }

    /// Starts a job on a VCPU that is about to run, and reads its inputs.
    fn start_jobs(&mut self) {
        self.replenish();
        for index in self.running().into_iter().flatten() {
            if self.servers[index].job.is_some() {
                continue;
            }
            let Some((work, wcet)) = self.servers[index].queue.pop_front() else {
                continue;
            };
            let read = match work {
                Work::Stage(stage) => self.read(stage),
                _ => vec![],
            };
            let time = match work {
                Work::Load => wcet,
                _ => self.execution(wcet),
            };
            // A bottom half's next turn counts from the start of this one.
            let io = &self.bound.repository.ios;
            if let (Budget::Io(from), Work::Device { device, .. }) =
                (&mut self.servers[index].budget, &work)
            {
                let share = u128::from(io[self.bound.repository.devices[*device].io].utilisation.0);
                let rest = (u128::from(time) * u128::from(WHOLE.0)).div_ceil(share);
                *from = self.now + rest as u64;
            }
            self.servers[index].job = Some((work, time, read));
        }
    }

    fn replenish(&mut self) {
        for server in &mut self.servers {
            let wants = server.job.is_some() || !server.queue.is_empty();
            match &mut server.budget {
                Budget::Bandwidth(remaining, deadline)
                    if *remaining == 0 && *deadline <= self.now && wants =>
                {
                    *remaining = server.capacity;
                    *deadline = self.now.max(*deadline) + server.period;
                }
                _ => {}
            }
        }
    }

    /// Takes one message of each buffer.
    fn read(&mut self, stage: usize) -> Vec<Message> {
        let inputs = self.inputs[stage].iter_mut();
        inputs
            .filter_map(|input| Some(input.waiting.pop_front()?.0))
            .collect()
    }

    fn advance(&mut self, to: u64) {
        let running = self.running();
        let span = to - self.now;
        self.now = to;
        for index in running.into_iter().flatten() {
            self.consume(index, span);
            let ended = matches!(self.servers[index].job, Some((_, 0, _)));
            if ended && let Some((work, _, read)) = self.servers[index].job.take() {
                self.complete(work, &read);
            }
        }
    }

    fn consume(&mut self, index: usize, span: u64) {
        let now = self.now;
        let server = &mut self.servers[index];
        if let Some((_, remaining, _)) = &mut server.job {
            *remaining -= span;
        }
        match &mut server.budget {
            Budget::Sporadic(chunks) => {
                let Some((from, amount)) = chunks.front_mut() else {
                    return;
                };
                *amount -= span;
                let back = (*from + server.period, span);
                if *amount == 0 {
                    chunks.pop_front();
                }
                let at = chunks.partition_point(|(from, _)| *from <= back.0);
                match at.checked_sub(1).map(|before| &mut chunks[before]) {
                    Some(same) if same.0 == back.0 => same.1 += span,
                    _ if span > 0 => chunks.insert(at, back),
                    _ => {}
                }
            }
            Budget::Bandwidth(remaining, _) => *remaining -= span,
            Budget::Io(from) => *from = (*from).max(now),
        }
    }

    fn complete(&mut self, work: Work, read: &[Message]) {
        match work {
            Work::Load => {}
            Work::Stage(stage) => {
                if let Some(&oldest) = read.iter().min() {
                    self.send(stage, oldest);
                }
                self.demand(stage);
            }
            Work::Device {
                device,
                stage,
                inwards,
                at_main,
                message,
            } => {
                let goes_on = at_main != inwards && self.of_main[device].is_some();
                match (goes_on, inwards) {
                    (true, _) => self.device(device, stage, inwards, !at_main, message),
                    (false, true) => self.deliver(stage, OUTSIDE, message),
                    (false, false) => self.output(message),
                }
            }
        }
    }

    /// A stage's output goes to all it feeds.
    fn send(&mut self, stage: usize, message: Message) {
        let stages = self.bound.pipeline.stages();
        let consumers: Vec<usize> = (0..stages.len())
            .filter(|&other| stages[other].from == stages[stage].to)
            .collect();
        for consumer in consumers {
            self.deliver(consumer, stage, message);
        }
        if self.bound.is_tail(stage) {
            match self.bound.function(stage).sink {
                Some(device) => {
                    let at_main = self.of_main[device].is_some();
                    self.device(device, stage, false, at_main, message);
                }
                None => self.output(message),
            }
        }
    }

    fn output(&mut self, message: Message) {
        self.seen.worst_delay = self.seen.worst_delay.max(self.now - message);
        self.seen.last_output = self.now;
    }

    fn deliver(&mut self, stage: usize, producer: usize, message: Message) {
        let now = self.now;
        let Some(input) = self.inputs[stage]
            .iter_mut()
            .find(|input| input.producer == producer)
        else {
            return;
        };
        if self.bound.pipeline.buffering == Buffering::FourSlot {
            let overwritten = input.waiting.drain(..).count() as u64;
            let (written, lost) = &mut self.seen.written[stage];
            *written += 1;
            *lost += overwritten;
        }
        input.waiting.push_back((message, now));
        let most = &mut self.seen.most_waiting[stage];
        *most = (*most).max(input.waiting.len() as u64);
        self.demand(stage);
    }

    /// A stage that has something to read has a job to do, once its m-th job before was released a
    /// period ago.
    fn demand(&mut self, stage: usize) {
        let waiting = self.inputs[stage].iter();
        let arrived = waiting
            .filter_map(|input| Some(input.waiting.front()?.1))
            .min();
        let server = &self.servers[self.of_stage[stage]];
        let idle = server.queue.is_empty() && server.job.is_none();
        let Some(arrived) = arrived.filter(|_| idle) else {
            return;
        };
        let arrived = self.noticed(stage, arrived);
        let setting = &self.solution.setting;
        let most = setting.messages[stage] as usize;
        let released = &mut self.released[stage];
        let paid = match released.len() < most {
            true => 0,
            false => released[released.len() - most] + setting.period[stage],
        };
        let release = arrived.max(paid);
        self.paced.retain(|&(_, other)| other != stage);
        if release > self.now {
            self.paced.push((release, stage));
            return;
        }
        released.push_back(release);
        if released.len() > most {
            released.pop_front();
        }
        let wcet = bulkhead_tpipe::assessment::budget(self.bound, stage, 1);
        self.queue(self.of_stage[stage], Work::Stage(stage), wcet);
    }

    /// Time at which a stage notices an arrival: a polling stage at its next tick.
    fn noticed(&self, stage: usize, arrived: u64) -> u64 {
        if !self.bound.crosses(stage) {
            return arrived;
        }
        let (phase, period) = (self.phases[stage], self.solution.setting.period[stage]);
        phase + arrived.saturating_sub(phase).div_ceil(period) * period
    }

    fn device(
        &mut self,
        device: usize,
        stage: usize,
        inwards: bool,
        at_main: bool,
        message: Message,
    ) {
        let server = match self.of_main[device].filter(|_| at_main) {
            Some(main) => main,
            None => self.of_io[self.bound.repository.devices[device].io],
        };
        let work = Work::Device {
            device,
            stage,
            inwards,
            at_main,
            message,
        };
        let wcet = self.servers[server].capacity;
        self.queue(server, work, wcet);
    }

    /// Gives a server work; one that slept starts a new phase.
    fn queue(&mut self, index: usize, work: Work, wcet: u64) {
        let now = self.now;
        let server = &mut self.servers[index];
        if server.queue.is_empty() && server.job.is_none() {
            match &mut server.budget {
                Budget::Sporadic(chunks) => {
                    let past = chunks.partition_point(|(from, _)| *from <= now);
                    let there: u64 = chunks.drain(..past).map(|(_, amount)| amount).sum();
                    if there > 0 {
                        chunks.push_front((now, there));
                    }
                }
                Budget::Bandwidth(remaining, deadline) => {
                    let fits = u128::from(*remaining) * u128::from(server.period)
                        < u128::from(deadline.saturating_sub(now)) * u128::from(server.capacity);
                    let throttled = *remaining == 0 && *deadline > now;
                    if !fits && !throttled {
                        *remaining = server.capacity;
                        *deadline = now + server.period;
                    }
                }
                Budget::Io(_) => {}
            }
        }
        server.queue.push_back((work, wcet));
    }

    fn arrive(&mut self) {
        let (due, later) = self.paced.iter().partition(|(at, _)| *at <= self.now);
        self.paced = later;
        let due: Vec<(u64, usize)> = due;
        due.into_iter().for_each(|(_, stage)| self.demand(stage));
        while let Some(&(at, stage)) = self.to_come.last() {
            if at > self.now {
                break;
            }
            self.to_come.pop();
            match self.bound.function(stage).source {
                Some(device) => self.device(device, stage, true, false, at),
                None => self.deliver(stage, OUTSIDE, at),
            }
        }
    }

    fn finish(mut self) -> Seen {
        let inputs = self.inputs.iter().flatten();
        self.seen.remaining = inputs.map(|input| input.waiting.len()).sum();
        self.seen
    }
}
