//! A stage: a thread on its VCPU, released by data
//!
//! A job copies its inputs when it is released (implicit communication), at the [`Pace`] that the
//! bound assumes. A stage that reads from another partition or core is released by the clock
//! instead, every period.

mod shared;
mod wiring;

pub(crate) use shared::{
    STAGES, Shared, begin, begin_at, dismiss, go, has_begun, is_halted, is_retired, is_stopped,
    is_vacant, of_thread, rests, retire, set_vacant, shared, stop,
};
pub(crate) use wiring::{Common, build, connected, connected_over, take_up};

use crate::device::{self, To};
use crate::remote_partition::PeerRole;
use crate::runtime::{CORE, Failure, LOAD};
use crate::{exit_records, fanout, profile, shared_state};
use bulkhead_abi::pipe::{OnOverrun, Stage};
use bulkhead_abi::status::MAX_CORES;
use bulkhead_component::clock;
use bulkhead_component::{First, load};
use bulkhead_guest::Link;
use bulkhead_sched::NEVER;
use bulkhead_sched::policy::{Binding, ServerId};
use bulkhead_stages::functions::Function;
use bulkhead_stages::link::{Input, Output};
use bulkhead_stages::message::{Content, Message};
use bulkhead_stages::overrun;
use bulkhead_stages::pace::{Pace, next_look};
use bulkhead_stages::work::{ENDS, Work};
use core::sync::atomic::Ordering::Relaxed;
use shared::{halt, is_dismissed, set_resting, start_of};

/// Maximum number of other partitions with stages of a pipe; each has a core of its own.
const AWAITED: usize = MAX_CORES - 1;

/// Source of a first stage's messages.
#[derive(Clone, Copy)]
enum Source {
    /// Not a first stage: the buffers of the stages before it.
    Stages,
    /// A timer with this interval, ticks.
    Timer(u64),
    /// The device: each frame, or the newest since the last job.
    Device(Kept),
}

/// Which messages of a device are kept for a first stage, in the same way as in the buffers of its
/// pipe.
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
    Device,
}

/// The consumer of a buffer, which is notified of messages.
#[derive(Clone, Copy)]
enum Fed {
    /// A stage on this core.
    Stage(usize),
    /// The gatherer on that VCPU.
    Gatherer(u32),
    /// A stage in another partition: it polls, and the producer writes only while that partition is
    /// up.
    Nobody,
    /// A stage on another core: it polls, and is always up.
    Core,
}

/// Load of a job in addition to its function.
#[derive(Clone, Copy)]
enum Computed {
    /// Computes for so many nanoseconds of the clock. On an emulator with several cores this
    /// includes the turns of the others.
    Time(u64),
    /// Runs so many iterations of a loop.
    Rounds(u64),
}

/// The partition at the other end of a buffer.
#[derive(Clone, Copy)]
struct Peer {
    link: Link,
    role: PeerRole,
    /// True if this partition reads what it writes.
    reads: bool,
}

impl Peer {
    /// Returns whether the partition runs its stages of the pipe.
    fn is_there(&self) -> bool {
        self.role.is_there(&self.link)
    }
}

/// True if a partition with a stage before this one runs.
struct Plan {
    number: usize,
    pipe: usize,
    /// Number of the component that executes its function.
    program: usize,
    /// Index among the stages of its pipe.
    place: usize,
    stage: Stage,
    function: Function,
    source: Source,
    /// Index among the first stages.
    head: usize,
    /// True if all first stages are in this partition.
    own_heads: bool,
    sink: Sink,
    inputs: [Option<Input>; ENDS],
    /// Output buffers with their consumers.
    outputs: [Option<(Output, Fed)>; ENDS],
    /// True if the first of them has contents that the program of its function writes.
    has_near_output: bool,
    /// Memory of a long message that no output buffer has, or none that the component can write.
    content: Option<Content>,
    /// Inputs that another partition or core writes, by bit. If there are any, the stage is
    /// released by the clock.
    remote_inputs: u64,
    /// The fallback function, and the age in ticks of remote inputs from which on it replaces the
    /// stage's function.
    fallback: Option<(u64, Function)>,
    /// Of a lossless first stage: partitions that have to be up before it begins.
    awaits: [Option<Link>; AWAITED],
    /// Partitions at the other ends of its buffers.
    peers: [Option<Peer>; 2 * ENDS],
    period: u64,
    load: Computed,
    overruns: bool,
    /// Maximum delay of a timer release, percent of its interval.
    jitter: u64,
    /// Ticks by which the first timer release is later than that of other stages.
    offset: u64,
}

/// Creates the thread of a stage, which waits for a plan.
pub(crate) fn spawn(first: &mut First, number: usize, vcpu: ServerId) -> Result<(), Failure> {
    let index = CORE.threads.spawn(first, work, Binding::main(vcpu))?;
    shared(number).thread.store(index, Relaxed);
    Ok(())
}

extern "C" fn work(index: u64) -> ! {
    let Some(number) = shared::number_of(index) else {
        CORE.threads.exit()
    };
    loop {
        match shared::take(number) {
            Some(plan) => {
                Running::new(plan).run();
                set_vacant(number);
            }
            None => _ = CORE.threads.block(NEVER),
        }
    }
}

/// A running stage.
struct Running {
    plan: Plan,
    shared: &'static Shared,
    pace: Pace,
    work: Work,
    next: u64,
    /// True if the last job ran the fallback.
    stale: bool,
    /// Next release by its clock, since its pipe began.
    looked: bool,
}

impl Running {
    fn new(mut plan: Plan) -> Self {
        let inputs = core::mem::replace(&mut plan.inputs, [const { None }; ENDS]);
        // A pipe that ended before this thread ran does not begin any more.
        while start_of(plan.pipe) == 0 && !is_retired(plan.pipe) {
            shared_state::wait(plan.period);
        }
        plan.await_others();
        let start = start_of(plan.pipe);
        let work = Work::new(plan.function, inputs, plan.head, plan.number as u64 + 1);
        let work = work.remote_inputs(plan.remote_inputs, start, plan.fallback);
        Self {
            shared: shared(plan.number),
            next: start.max(clock::now()) + plan.offset,
            pace: Pace::new(plan.period, plan.stage.messages),
            work: match plan.own_heads {
                true => work.begun_here(start),
                false => work,
            },
            stale: false,
            looked: false,
            plan,
        }
    }

    /// Runs jobs until the pipe is removed.
    fn run(mut self) {
        self.work
            .begin_anew(start_of(self.plan.pipe), self.plan.stage.buffer);
        self.await_start();
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
            if self.is_over() && !self.rest() {
                return;
            }
        }
    }

    /// Returns whether all inputs have ended.
    fn is_over(&self) -> bool {
        match self.plan.source {
            _ if is_dismissed(self.plan.pipe) => true,
            // A partition that is not up sends no end.
            Source::Stages => {
                let misses = || self.stale || self.plan.misses(|peer| peer.reads);
                self.work.is_over() || is_stopped(self.plan.pipe) && misses()
            }
            _ => is_stopped(self.plan.pipe),
        }
    }

    /// Passes the end on, and waits until the pipe is started again or removed. Returns whether it
    /// is started.
    fn rest(&mut self) -> bool {
        let at = self.work.ended_at(clock::now());
        self.pass_end(at);
        if !is_dismissed(self.plan.pipe) {
            self.shared.ended.store(at, Relaxed);
        }
        if !is_stopped(self.plan.pipe) {
            // It is stopped and started elsewhere, or was started again before it could pass the
            // end on.
            self.work.resume(clock::now());
            self.stale = false;
            if !matches!(self.plan.source, Source::Stages) {
                // Its readers begin then. Releases that it missed are not repeated.
                self.await_start();
                self.next = self.next.max(clock::now());
            }
            return true;
        }
        set_resting(self.plan.number, true);
        while is_stopped(self.plan.pipe) {
            if is_retired(self.plan.pipe) {
                return false;
            }
            shared_state::wait(self.plan.period);
        }
        set_resting(self.plan.number, false);
        self.shared.arrived.store(0, Relaxed);
        self.pace = Pace::new(self.plan.period, self.plan.stage.messages);
        self.next = start_of(self.plan.pipe) + self.plan.offset;
        self.work
            .begin_anew(start_of(self.plan.pipe), self.plan.stage.buffer);
        self.stale = false;
        self.await_start();
        true
    }

    /// Waits for the tick at which the pipe begins; by then the budget that starting used is
    /// replenished. Messages that a device received before are dropped. Messages that another
    /// partition sent in the meantime are dropped if they are late, because that partition does not
    /// wait for one that restarts.
    fn await_start(&mut self) {
        CORE.threads.sleep_until(start_of(self.plan.pipe));
        if self.plan.remote_inputs != 0 {
            self.looked = false;
            let before = clock::now().saturating_sub(self.plan.period);
            self.work.pass_over_late(before, self.plan.stage.buffer);
        }
        while matches!(self.plan.source, Source::Device(_))
            && device::read(self.plan.number).is_some()
        {}
    }

    /// The end is never dropped: a reader that is up makes room as long as its buffer is not empty.
    /// Successors on this core are woken even if no end comes, because on other cores than the
    /// first no other thread wakes them.
    fn pass_end(&mut self, at: u64) {
        let (peers, pipe) = (self.plan.peers, self.plan.pipe);
        for (output, next) in self.plan.outputs.iter_mut().flatten() {
            while !is_dismissed(pipe) && !output.put(&Message::end(at)) {
                if next.is_elsewhere() && misses(&peers, |peer| !peer.reads) {
                    break;
                }
                CORE.threads
                    .sleep_until(clock::now() + self.plan.period / 8 + 1);
            }
            next.feed(clock::now());
        }
    }

    /// Waits until there is work. Returns the tick of its arrival.
    fn wait(&mut self) -> u64 {
        if let Source::Timer(interval) = self.plan.source {
            let release = self.next;
            // Two releases are at least an interval apart.
            self.next += interval + self.work.random_below(interval * self.plan.jitter / 100);
            CORE.threads.sleep_until(release);
            return release;
        }
        if self.plan.remote_inputs != 0 {
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

    /// Waits for the next tick of its clock. Does not wait while a ring has more messages and the
    /// budget lasts.
    fn wait_by_clock(&mut self) -> u64 {
        if !core::mem::replace(&mut self.looked, true) {
            CORE.threads.sleep_until(self.next);
            return self.next;
        }
        let waits = self.work.waiting().is_some();
        if waits && self.pace.release(self.next) == self.next {
            return self.next;
        }
        self.next = next_look(self.next, self.plan.period, clock::now(), waits);
        CORE.threads.sleep_until(self.next);
        self.next
    }

    /// Arrival of the oldest message in a queue or a ring.
    fn waiting(&mut self) -> Option<u64> {
        match self.plan.source {
            Source::Device(_) => device::waiting(self.plan.number),
            _ => self.work.waiting(),
        }
    }

    /// Skips to the newest of the frames that wait behind one that was read: a four-slot buffer
    /// would have overwritten all others.
    fn newest(&mut self, oldest: ([u64; 2], u64)) -> ([u64; 2], u64) {
        let mut newest = oldest;
        while let Some(later) = device::read(self.plan.number) {
            self.work.pass_over();
            newest = later;
        }
        newest
    }

    /// Runs a job. Returns `false` if there was no work, because an earlier job took the
    /// message that woke the thread.
    fn job(&mut self, arrival: u64, release: u64) -> bool {
        self.shared.arrived.store(0, Relaxed);
        let source = match self.plan.source {
            Source::Stages => None,
            Source::Timer(_) => Some(([self.work.entered() + 1, arrival], arrival)),
            Source::Device(kept) => match device::read(self.plan.number) {
                None => return false,
                Some(oldest) if kept == Kept::Newest => Some(self.newest(oldest)),
                read => read,
            },
        };
        let taken = match self.plan.remote_inputs {
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
        if is_halted(self.plan.pipe) {
            return false;
        }
        self.shared.expired.store(false, Relaxed);
        // A pipe that stops at an overrun is halted before the overrun is counted.
        let due = match OnOverrun::of(self.plan.stage.on_overrun) {
            OnOverrun::Stop => 0,
            _ => release + self.plan.period,
        };
        self.shared.due.store(due, Relaxed);
        let jobs = self.shared.jobs.load(Relaxed) + 1;
        match self.plan.load {
            _ if self.plan.overruns && overrun::is_on_purpose(jobs) => {
                // Its budget ends before, whatever part of it earlier jobs left.
                while clock::now() < release + self.plan.period {
                    core::hint::spin_loop();
                }
            }
            Computed::Time(ns) => LOAD.compute(ns),
            Computed::Rounds(count) => load::rounds(count),
        }
        let output = self.plan.content();
        let answer = self.work.compute(taken, output);
        let counted = due != 0 && self.shared.due.swap(0, Relaxed) == 0;
        if let (Some(mut message), true) = (answer, self.may_send(release, counted)) {
            self.send(&mut message, output);
        }
        true
    }

    /// Detects and handles a job that used up its budget. Such a job used all of it since its
    /// release, so it had to wait until a period after that, while every other job ends earlier by
    /// the bound. It is no overrun if a chunk of the budget ends a moment before the next chunk is
    /// replenished.
    fn may_send(&self, release: u64, counted: bool) -> bool {
        let ended = self.shared.expired.swap(false, Relaxed);
        if !ended || clock::now() < release + self.plan.period {
            return true;
        }
        let what = OnOverrun::of(self.plan.stage.on_overrun);
        let sends = overrun::may_send(what, || halt(self.plan.pipe));
        // A thread that reads the count finds the pipe halted.
        if !counted {
            self.shared.overruns.fetch_add(1, Relaxed);
        }
        sends
    }

    fn send(&mut self, message: &mut Message, content: Option<Content>) {
        match self.plan.sink {
            Sink::Stages => self.pass(message, content),
            Sink::Device if !self.write(message.data) => {
                self.shared.dropped.fetch_add(1, Relaxed);
            }
            sink => {
                let mark = (sink == Sink::Trace).then_some(message.data);
                exit_records::record(&self.plan.place(), message, mark);
            }
        }
    }

    fn write(&self, data: [u64; 2]) -> bool {
        device::write(data, To::of(&self.plan.stage), self.plan.period)
    }

    /// Writes the output to the next stages. Waits at most one period for room in a ring, and not
    /// for a partition that is down: once it is up, the waiting messages would be late. A job that
    /// finds no room is handled like one that uses up its budget.
    fn pass(&mut self, message: &mut Message, content: Option<Content>) {
        let until = clock::now() + self.plan.period;
        let (mut waited, mut blocked) = (false, 0);
        let peers = self.plan.peers;
        for (output, next) in self.plan.outputs.iter_mut().flatten() {
            if let Some(content) = &content {
                output.fill(content);
            }
            message.put = clock::now();
            let mut room = output.put(message);
            let is_there = || !next.is_elsewhere() || !misses(&peers, |peer| !peer.reads);
            while !room && clock::now() < until && is_there() {
                waited = true;
                CORE.threads
                    .sleep_until(clock::now() + self.plan.period / 8 + 1);
                room = output.put(message);
            }
            if room {
                next.feed(message.put);
            } else {
                blocked += 1;
            }
        }
        if let (true, Source::Timer(interval)) = (waited, self.plan.source) {
            // Missed releases are not repeated: their messages would be late, and delay all later
            // ones. The next message keeps the minimum distance, because a reader with the same
            // rate would otherwise have one waiting for ever.
            self.next = self.next.max(clock::now() + interval);
        }
        self.shared.dropped.fetch_add(blocked, Relaxed);
        if blocked > 0 && self.plan.stage.on_overrun == OnOverrun::Stop as u32 {
            halt(self.plan.pipe);
        }
    }
}

fn misses(peers: &[Option<Peer>], which: impl Fn(&Peer) -> bool) -> bool {
    let mut matching = peers.iter().flatten().filter(|peer| which(peer));
    matching.any(|peer| !peer.is_there())
}

impl Fed {
    /// Returns whether the consumer is in another partition.
    const fn is_elsewhere(self) -> bool {
        matches!(self, Self::Nobody)
    }

    fn feed(self, tick: u64) {
        match self {
            Self::Stage(number) => shared(number).feed(tick),
            Self::Gatherer(vcpu) => fanout::wake(vcpu),
            Self::Nobody | Self::Core => {}
        }
    }
}

impl Plan {
    /// Waits until all partitions with readers of the pipe's buffers are up.
    fn await_others(&self) {
        while !self.awaits.iter().flatten().all(Link::is_up) {
            CORE.threads.sleep_until(clock::now() + self.period);
        }
    }

    /// Returns whether one of these partitions does not run its stages.
    fn misses(&self, which: impl Fn(&Peer) -> bool) -> bool {
        misses(&self.peers, which)
    }

    /// Memory of the long message that its function writes.
    fn content(&mut self) -> Option<Content> {
        let first = self.outputs.iter_mut().flatten().next();
        self.content.or_else(|| first?.0.content())
    }

    fn place(&self) -> exit_records::StagePosition {
        exit_records::StagePosition {
            pipe: self.pipe,
            stage: self.number,
            place: self.place,
        }
    }
}
