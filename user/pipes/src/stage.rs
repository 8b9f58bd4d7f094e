//! A stage: a thread on its VCPU, released by data
//!
//! A job copies its inputs when it is released (implicit communication), at the [`Pace`] that the bound stands on. Who reads what a
//! stage of another partition writes is released by the clock instead, every period.

mod wiring;

pub(crate) use wiring::build;

use crate::{CORE, Failure, LOAD, can, profile, watch};
use bulkhead_abi::name_text;
use bulkhead_abi::pipe::{OnOverrun, Pipe, Stage};
use bulkhead_component::clock::{self, ticks};
use bulkhead_component::first::Timing;
use bulkhead_component::{First, load};
use bulkhead_guest::Link;
use bulkhead_sched::NEVER;
use bulkhead_sched::policy::{Binding, ServerId};
use bulkhead_slite::Mutex;
use bulkhead_stages::functions::Function;
use bulkhead_stages::link::{Input, Output};
use bulkhead_stages::message::Message;
use bulkhead_stages::pace::Pace;
use bulkhead_stages::work::{ENDS, Work};
use core::ops::Range;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU64};
use wiring::vcpu_period;

/// Stages of all pipes.
pub(crate) const STAGES: usize = 24;
/// A job that is to overrun, of so many.
const OVERRUN_OF: u64 = 100;
/// Time from the last stage's being built to the first release, beside a period of each: what starting took of a
/// budget is back.
const HEAD_START_NS: u64 = 2_000_000;

/// What of a stage others see: who feeds it, who schedules it, who says what it did.
pub(crate) struct Shared {
    stage: Mutex<Option<&'static Stage>>,
    /// Index of its thread; 0 = none yet.
    thread: AtomicU64,
    /// Tick of the first arrival that no job has taken; 0 = none.
    arrived: AtomicU64,
    /// The job that runs has used up its budget.
    expired: AtomicBool,
    /// Times at which one had.
    pub(crate) expiries: AtomicU64,
    pub(crate) jobs: AtomicU64,
    pub(crate) overruns: AtomicU64,
    /// Messages that found no room in time.
    pub(crate) dropped: AtomicU64,
    /// Jobs in which its fallback took its place, and the greatest age of what it read then, ticks.
    pub(crate) fallbacks: AtomicU64,
    pub(crate) oldest: AtomicU64,
}

impl Shared {
    /// Its function.
    pub(crate) fn name(&self) -> &'static str {
        let stage = self.stage.with(&CORE.threads, |stage| *stage);
        stage
            .ok()
            .flatten()
            .map_or("?", |stage| name_text(&stage.function))
    }

    /// Its budget is used up.
    pub(crate) fn expired(&self) {
        self.expired.store(true, Relaxed);
        self.expiries.fetch_add(1, Relaxed);
    }

    /// Something came for it at `tick`.
    pub(crate) fn feed(&self, tick: u64) {
        let _is_first = self.arrived.compare_exchange(0, tick, Relaxed, Relaxed);
        CORE.threads.wakeup(self.thread.load(Relaxed));
    }
}

static SHARED: [Shared; STAGES] = [const {
    Shared {
        stage: Mutex::new(None),
        thread: AtomicU64::new(0),
        arrived: AtomicU64::new(0),
        expired: AtomicBool::new(false),
        expiries: AtomicU64::new(0),
        jobs: AtomicU64::new(0),
        overruns: AtomicU64::new(0),
        dropped: AtomicU64::new(0),
        fallbacks: AtomicU64::new(0),
        oldest: AtomicU64::new(0),
    }
}; STAGES];
/// What each stage's thread takes with it.
static PLANS: [Mutex<Option<Plan>>; STAGES] = [const { Mutex::new(None) }; STAGES];
/// Pipes that were stopped, by bit of their number.
static STOPPED: AtomicU64 = AtomicU64::new(0);
/// Those of them that stopped themselves: what is under way in them is dropped.
static HALTED: AtomicU64 = AtomicU64::new(0);
/// Stages that rest, by bit of their number.
static RESTING: AtomicU64 = AtomicU64::new(0);
/// First release of all; 0 until everything is built.
static START: AtomicU64 = AtomicU64::new(0);

/// Where a first stage's messages come from.
#[derive(Clone, Copy)]
enum Source {
    /// The stages before.
    Stages,
    /// The clock, every so many ticks.
    Timer(u64),
    /// The CAN controller: each frame, or the newest that came since the last job.
    Can(Kept),
}

/// What of a device's messages is kept for a first stage, as of others' in the buffers of its pipe.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Newest,
    Each,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sink {
    Stages,
    Nothing,
    Trace,
    Can,
}

/// What a job computes besides its function.
#[derive(Clone, Copy)]
enum Computed {
    /// For so many nanoseconds by the clock, the turns of other cores included where these are emulated.
    Time(u64),
    /// So many rounds of a loop.
    Rounds(u64),
}

/// A stage before it runs.
struct Plan {
    number: usize,
    pipe: usize,
    /// Among the stages of its pipe.
    place: usize,
    stage: &'static Stage,
    function: Function,
    source: Source,
    /// Which first stage it is.
    head: usize,
    sink: Sink,
    inputs: [Option<Input>; ENDS],
    /// With the number of the stage that is fed, if that is here.
    outputs: [Option<(Output, Option<usize>)>; ENDS],
    /// Inputs that another partition writes, by bit: it reads by the clock.
    across: u64,
    /// What takes its place where nothing comes there for so many ticks.
    fallback: Option<(u64, Function)>,
    /// Of a first stage that loses nothing: who has to be up before it begins.
    awaits: [Option<Link>; ENDS],
    period: u64,
    load: Computed,
    overruns: bool,
    /// By how many percent of its interval at most a timer comes later.
    jitter: u64,
    /// Ticks by which the first release of a timer is later than that of others.
    offset: u64,
}

/// What a stage of a running system is, by its thread.
pub(crate) fn of_thread(index: u64) -> Option<&'static Shared> {
    SHARED.iter().find(|one| one.thread.load(Relaxed) == index)
}

/// A stage by its number among all.
pub(crate) fn shared(number: usize) -> &'static Shared {
    &SHARED[number % STAGES]
}

/// Whether a pipe was stopped.
pub(crate) fn is_stopped(pipe: usize) -> bool {
    STOPPED.load(Relaxed) >> pipe & 1 != 0
}

/// Numbers of the stages of a pipe.
fn stages_of(timing: &Timing, pipe: usize) -> Range<usize> {
    let count = |pipe: &Pipe| pipe.stages as usize;
    let first = timing.pipes.iter().take(pipe).map(count).sum();
    first..first + timing.pipes.get(pipe).map_or(0, count)
}

/// Whether all stages of a pipe rest.
pub(crate) fn rests(timing: &Timing, pipe: usize) -> bool {
    let resting = RESTING.load(Relaxed);
    let is_here = |&number: &usize| timing.stages.get(number).is_some_and(Stage::is_here);
    let mut here = stages_of(timing, pipe).filter(is_here);
    here.all(|number| resting >> number & 1 != 0)
}

/// Has a pipe end: its first stages send no more.
pub(crate) fn stop(timing: &Timing, pipe: usize) {
    STOPPED.fetch_or(1 << pipe, Relaxed);
    wake(stages_of(timing, pipe));
}

/// Has a pipe begin again, all of whose stages rest.
pub(crate) fn restart(timing: &Timing, pipe: usize) {
    let stages = stages_of(timing, pipe);
    let described = timing.stages.get(stages.clone()).unwrap_or_default();
    START.store(first_release(described, timing), Relaxed);
    HALTED.fetch_and(!(1 << pipe), Relaxed);
    STOPPED.fetch_and(!(1 << pipe), Relaxed);
    wake(stages);
}

fn wake(stages: Range<usize>) {
    for shared in SHARED.get(stages).unwrap_or_default() {
        let thread = shared.thread.load(Relaxed);
        if thread != 0 {
            CORE.threads.wakeup(thread);
        }
    }
}

fn spawn(first: &mut First, plan: Plan, servers: &[ServerId]) -> Result<(), Failure> {
    let number = plan.number;
    let vcpu = servers.get(plan.stage.vcpu as usize);
    let vcpu = vcpu
        .copied()
        .ok_or(bulkhead_abi::kernel::Status::BadArgument)?;
    let shared = &SHARED[number];
    let stage = plan.stage;
    let _kept = shared
        .stage
        .with(&CORE.threads, |place| *place = Some(stage));
    let _kept = PLANS[number].with(&CORE.threads, |place| *place = Some(plan));
    let index = CORE.threads.spawn(first, work, Binding::main(vcpu))?;
    shared.thread.store(index, Relaxed);
    Ok(())
}

/// Everything is built: lets the stages begin.
pub(crate) fn go(timing: &Timing) {
    START.store(first_release(timing.stages, timing), Relaxed);
    wake(0..STAGES);
}

/// When stages that are started now are released first.
fn first_release(stages: &[Stage], timing: &Timing) -> u64 {
    let periods = stages.iter().map(|stage| vcpu_period(stage, timing));
    clock::now() + periods.max().unwrap_or(0) + ticks(HEAD_START_NS)
}

extern "C" fn work(index: u64) -> ! {
    let number = SHARED
        .iter()
        .position(|one| one.thread.load(Relaxed) == index);
    let place = number.and_then(|number| PLANS.get(number));
    let plan = place.and_then(|place| place.with(&CORE.threads, Option::take).ok().flatten());
    match plan {
        Some(plan) => Running::new(plan).run(),
        None => CORE.threads.exit(),
    }
}

/// A stage that runs.
struct Running {
    plan: Plan,
    shared: &'static Shared,
    pace: Pace,
    work: Work,
    next: u64,
    /// Its last job was its fallback's.
    stale: bool,
}

impl Running {
    fn new(mut plan: Plan) -> Self {
        let inputs = core::mem::replace(&mut plan.inputs, [const { None }; ENDS]);
        while START.load(Relaxed) == 0 {
            CORE.threads.block(NEVER);
        }
        plan.await_others();
        Self {
            shared: &SHARED[plan.number],
            next: START.load(Relaxed).max(clock::now()) + plan.offset,
            pace: Pace::new(plan.period, plan.stage.messages),
            work: Work::new(plan.function, inputs, plan.head, plan.number as u64 + 1).across(
                plan.across,
                START.load(Relaxed),
                plan.fallback,
            ),
            stale: false,
            plan,
        }
    }

    fn run(mut self) -> ! {
        self.work
            .begin_anew(START.load(Relaxed), self.plan.stage.buffer);
        loop {
            let arrival = self.wait();
            let earliest = self.pace.release(arrival);
            CORE.threads.sleep_until(earliest);
            let began = clock::now();
            if self.job(arrival, earliest) {
                self.pace.note(earliest);
                self.shared.jobs.fetch_add(1, Relaxed);
                profile::ended(self.plan.number, earliest, began);
            }
            if self.is_over() {
                self.rest();
            }
        }
    }

    /// Whether no message comes any more.
    fn is_over(&self) -> bool {
        match self.plan.source {
            // From who is not there no end comes.
            Source::Stages => self.work.is_over() || self.stale && is_stopped(self.plan.pipe),
            _ => is_stopped(self.plan.pipe),
        }
    }

    /// Passes the end on, and waits until the pipe is started again.
    fn rest(&mut self) {
        self.pass_end();
        let bit = 1 << self.plan.number;
        RESTING.fetch_or(bit, Relaxed);
        while is_stopped(self.plan.pipe) {
            CORE.threads.block(NEVER);
        }
        RESTING.fetch_and(!bit, Relaxed);
        // What came in the meantime, and what was before, is nobody's.
        while matches!(self.plan.source, Source::Can(_)) && can::read(self.plan.number).is_some() {}
        self.shared.arrived.store(0, Relaxed);
        self.pace = Pace::new(self.plan.period, self.plan.stage.messages);
        self.next = START.load(Relaxed) + self.plan.offset;
        self.work.begin_anew(self.next, self.plan.stage.buffer);
        self.stale = false;
    }

    /// The end is never dropped: who reads makes room as long as there is something to read.
    fn pass_end(&mut self) {
        for (output, next) in self.plan.outputs.iter_mut().flatten() {
            while !output.put(&Message::END) {
                CORE.threads
                    .sleep_until(clock::now() + self.plan.period / 8 + 1);
            }
            feed(*next, clock::now());
        }
    }

    /// Until there is something to do: when it came.
    fn wait(&mut self) -> u64 {
        if let Source::Timer(interval) = self.plan.source {
            let release = self.next;
            // Never closer together than the interval.
            self.next += interval + self.work.some(interval * self.plan.jitter / 100);
            CORE.threads.sleep_until(release);
            return release;
        }
        if self.plan.across != 0 {
            return self.wait_by_clock();
        }
        loop {
            if let Some(tick) = self.waiting() {
                return tick;
            }
            if self.is_over() {
                return clock::now();
            }
            match self.shared.arrived.swap(0, Relaxed) {
                0 => _ = CORE.threads.block(NEVER),
                tick if self.work.is_four_slot() => return tick,
                _ => {}
            }
        }
    }

    /// Until the next tick of its clock, or not at all while the budget of this one lasts and a ring has more.
    fn wait_by_clock(&mut self) -> u64 {
        if self.work.waiting().is_some() && self.pace.release(self.next) == self.next {
            return self.next;
        }
        let passed = clock::now().saturating_sub(self.next) / self.plan.period.max(1);
        self.next += passed.max(1) * self.plan.period;
        CORE.threads.sleep_until(self.next);
        self.next
    }

    /// When the oldest message came that waits in a queue or a ring.
    fn waiting(&mut self) -> Option<u64> {
        match self.plan.source {
            Source::Can(_) => can::waiting(self.plan.number),
            _ => self.work.waiting(),
        }
    }

    /// The last frame that waits behind one that was read: in four slots each would have overwritten the one before.
    fn newest(&mut self, oldest: ([u64; 2], u64)) -> ([u64; 2], u64) {
        let mut newest = oldest;
        while let Some(later) = can::read(self.plan.number) {
            self.work.pass_over();
            newest = later;
        }
        newest
    }

    /// A job; whether it was one, and did not wake for what another had taken.
    fn job(&mut self, arrival: u64, release: u64) -> bool {
        self.shared.arrived.store(0, Relaxed);
        let source = match self.plan.source {
            Source::Stages => None,
            Source::Timer(_) => Some(([self.work.entered() + 1, arrival], arrival)),
            Source::Can(kept) => match can::read(self.plan.number) {
                None => return false,
                Some(oldest) if kept == Kept::Newest => Some(self.newest(oldest)),
                read => read,
            },
        };
        let taken = match self.plan.across {
            0 => self.work.take(source),
            _ => self.work.look(clock::now()),
        };
        let Some(taken) = taken else {
            return false;
        };
        self.stale = taken.fell_back().is_some();
        if let Some(age) = taken.fell_back() {
            self.shared.fallbacks.fetch_add(1, Relaxed);
            self.shared.oldest.fetch_max(age, Relaxed);
        }
        if HALTED.load(Relaxed) >> self.plan.pipe & 1 != 0 {
            return false;
        }
        self.shared.expired.store(false, Relaxed);
        let jobs = self.shared.jobs.load(Relaxed) + 1;
        match self.plan.load {
            _ if self.plan.overruns && jobs.is_multiple_of(OVERRUN_OF) => {
                LOAD.compute(2 * self.plan.stage.wcet_ns);
            }
            Computed::Time(ns) => LOAD.compute(ns),
            Computed::Rounds(count) => load::rounds(count),
        }
        let answer = self.work.compute(taken);
        if let (Some(mut message), true) = (answer, self.may_send(release)) {
            self.send(&mut message);
        }
        true
    }

    /// What is done about a job that used up its budget: having used all of it since its release it had to wait until a
    /// period after that, while every other job is bound to end before. A part of a budget that ends a moment before the next
    /// part is back is no overrun.
    fn may_send(&self, release: u64) -> bool {
        let ended = self.shared.expired.swap(false, Relaxed);
        if !ended || clock::now() < release + self.plan.period {
            return true;
        }
        self.shared.overruns.fetch_add(1, Relaxed);
        match self.plan.stage.on_overrun {
            what if what == OnOverrun::Report as u32 => true,
            what if what == OnOverrun::Stop as u32 => {
                self.halt();
                false
            }
            _ => false,
        }
    }

    /// The pipe ends here, and what is under way in it is dropped.
    fn halt(&self) {
        HALTED.fetch_or(1 << self.plan.pipe, Relaxed);
        STOPPED.fetch_or(1 << self.plan.pipe, Relaxed);
    }

    fn send(&mut self, message: &mut Message) {
        match self.plan.sink {
            Sink::Stages => self.pass(message),
            Sink::Can if !self.write(message.data) => {
                self.shared.dropped.fetch_add(1, Relaxed);
            }
            sink => {
                let mark = (sink == Sink::Trace).then_some(message.data);
                watch::left(&self.plan.place(), message, mark);
            }
        }
    }

    fn write(&self, data: [u64; 2]) -> bool {
        let [_, identifier] = self.plan.stage.identifiers;
        can::write(data, identifier, self.plan.period)
    }

    /// To the stages behind; waits for room in a ring for a period, no longer. A job that finds none has used up its time like
    /// one that uses up its budget.
    fn pass(&mut self, message: &mut Message) {
        let until = clock::now() + self.plan.period;
        let (mut waited, mut blocked) = (false, 0);
        for (output, next) in self.plan.outputs.iter_mut().flatten() {
            message.put = clock::now();
            let mut room = output.put(message);
            while !room && clock::now() < until {
                waited = true;
                CORE.threads
                    .sleep_until(clock::now() + self.plan.period / 8 + 1);
                room = output.put(message);
            }
            if room {
                feed(*next, message.put);
            } else {
                blocked += 1;
            }
        }
        if let (true, Source::Timer(interval)) = (waited, self.plan.source) {
            // What was not made meanwhile is not made up for: it would be late, and all behind it. Nor does the next message
            // come closer than any other, since who reads as often as it writes would have one waiting ever after.
            self.next = self.next.max(clock::now() + interval);
        }
        self.shared.dropped.fetch_add(blocked, Relaxed);
        if blocked > 0 && self.plan.stage.on_overrun == OnOverrun::Stop as u32 {
            self.halt();
        }
    }
}

/// A stage that is here is woken; one of another partition looks by itself.
fn feed(stage: Option<usize>, tick: u64) {
    if let Some(stage) = stage {
        SHARED[stage % STAGES].feed(tick);
    }
}

impl Plan {
    /// Waits until those are up without whom nothing is taken out behind it.
    fn await_others(&self) {
        while !self.awaits.iter().flatten().all(Link::is_up) {
            CORE.threads.sleep_until(clock::now() + self.period);
        }
    }

    fn place(&self) -> watch::Place {
        watch::Place {
            pipe: self.pipe,
            stage: self.number,
            place: self.place,
        }
    }
}
