//! A stage: a thread on its VCPU, released by data
//!
//! A job copies its inputs when it is released (implicit communication), at the [`Pace`] that the bound stands on. Who reads what a
//! stage of another partition, or of another core, writes is released by the clock instead, every period.

mod shared;
mod wiring;

pub(crate) use shared::{
    STAGES, Shared, begin, begin_at, dismiss, go, has_begun, is_halted, is_retired, is_stopped,
    is_vacant, of_thread, rests, retire, set_vacant, shared, stop,
};
pub(crate) use wiring::{Common, build, connected, connected_over, take_up};

use crate::device::{self, To};
use crate::through::Whom;
use crate::{CORE, Failure, LOAD, notes, profile, share, together};
use bulkhead_abi::pipe::{OnOverrun, Stage};
use bulkhead_abi::status::MAX_CORES;
use bulkhead_component::clock;
use bulkhead_component::{First, load};
use bulkhead_guest::Link;
use bulkhead_sched::NEVER;
use bulkhead_sched::policy::{Binding, ServerId};
use bulkhead_stages::functions::Function;
use bulkhead_stages::link::{Input, Output};
use bulkhead_stages::message::Message;
use bulkhead_stages::overrun;
use bulkhead_stages::pace::{Pace, next_look};
use bulkhead_stages::work::{ENDS, Work};
use core::sync::atomic::Ordering::Relaxed;
use shared::{halt, is_dismissed, set_resting, start_of};

/// Other partitions in which a pipe may have stages: each has a core of its own.
const AWAITED: usize = MAX_CORES - 1;

/// Where a first stage's messages come from.
#[derive(Clone, Copy)]
enum Source {
    /// The stages before.
    Stages,
    /// The clock, every so many ticks.
    Timer(u64),
    /// The CAN controller: each frame, or the newest that came since the last job.
    Device(Kept),
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
    Device,
}

/// Who is told of a message in a buffer.
#[derive(Clone, Copy)]
enum Fed {
    /// A stage that is here.
    Stage(usize),
    /// Who gathers, on that VCPU.
    Gatherer(u32),
    /// Nobody: who is in another partition looks by itself, while that one is up.
    Nobody,
    /// Nobody either: who is on another core looks by itself, and is there.
    Core,
}

/// What a job computes besides its function.
#[derive(Clone, Copy)]
enum Computed {
    /// For so many nanoseconds by the clock, the turns of other cores included where these are emulated.
    Time(u64),
    /// So many rounds of a loop.
    Rounds(u64),
}

/// The partition at the other end of a buffer.
#[derive(Clone, Copy)]
struct Peer {
    link: Link,
    whom: Whom,
    /// What it writes is read here.
    reads: bool,
}

impl Peer {
    /// Whether it runs its stages of the pipe.
    fn is_there(&self) -> bool {
        self.whom.is_there(&self.link)
    }
}

/// A stage before it runs.
struct Plan {
    number: usize,
    pipe: usize,
    /// Among the stages of its pipe.
    place: usize,
    stage: Stage,
    function: Function,
    source: Source,
    /// Which first stage it is.
    head: usize,
    /// All first stages are in this partition.
    own_heads: bool,
    sink: Sink,
    inputs: [Option<Input>; ENDS],
    /// With who is fed.
    outputs: [Option<(Output, Fed)>; ENDS],
    /// Inputs that another partition or core writes, by bit: it reads by the clock.
    across: u64,
    /// What takes its place where nothing comes there for so many ticks.
    fallback: Option<(u64, Function)>,
    /// Of a first stage that loses nothing: who has to be up before it begins.
    awaits: [Option<Link>; AWAITED],
    /// Who has the other ends of its buffers that are not here.
    peers: [Option<Peer>; 2 * ENDS],
    period: u64,
    load: Computed,
    overruns: bool,
    /// By how many percent of its interval at most a timer comes later.
    jitter: u64,
    /// Ticks by which the first release of a timer is later than that of others.
    offset: u64,
}

/// Makes the thread of a stage, which waits for a plan.
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

/// A stage that runs.
struct Running {
    plan: Plan,
    shared: &'static Shared,
    pace: Pace,
    work: Work,
    next: u64,
    /// Its last job was its fallback's.
    stale: bool,
    /// By its clock, since its pipe began.
    looked: bool,
}

impl Running {
    fn new(mut plan: Plan) -> Self {
        let inputs = core::mem::replace(&mut plan.inputs, [const { None }; ENDS]);
        // A pipe that ended before this thread ran does not begin any more.
        while start_of(plan.pipe) == 0 && !is_retired(plan.pipe) {
            together::wait(plan.period);
        }
        plan.await_others();
        let start = start_of(plan.pipe);
        let work = Work::new(plan.function, inputs, plan.head, plan.number as u64 + 1);
        let work = work.across(plan.across, start, plan.fallback);
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

    /// Until its pipe is no more.
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

    /// Whether no message comes any more.
    fn is_over(&self) -> bool {
        match self.plan.source {
            _ if is_dismissed(self.plan.pipe) => true,
            // From who is not there no end comes.
            Source::Stages => {
                let misses = || self.stale || self.plan.misses(|peer| peer.reads);
                self.work.is_over() || is_stopped(self.plan.pipe) && misses()
            }
            _ => is_stopped(self.plan.pipe),
        }
    }

    /// Passes the end on, and waits until the pipe is started again, which it answers, or is to be forgotten.
    fn rest(&mut self) -> bool {
        let at = self.work.ended_at(clock::now());
        self.pass_end(at);
        if !is_dismissed(self.plan.pipe) {
            self.shared.ended.store(at, Relaxed);
        }
        if !is_stopped(self.plan.pipe) {
            // It is stopped and started elsewhere, or was started again before it could pass the end on.
            self.work.go_on(clock::now());
            self.stale = false;
            if !matches!(self.plan.source, Source::Stages) {
                // Who reads it begins then. What it did not make meanwhile is not made up for.
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
            together::wait(self.plan.period);
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

    /// Until the tick at which its pipe begins: by then what starting took of its budget is back. What a device brought before is
    /// nobody's, and what another partition sent meanwhile only while it is not late: who goes on there does not wait for who starts anew.
    fn await_start(&mut self) {
        CORE.threads.sleep_until(start_of(self.plan.pipe));
        if self.plan.across != 0 {
            self.looked = false;
            let before = clock::now().saturating_sub(self.plan.period);
            self.work.pass_over_late(before, self.plan.stage.buffer);
        }
        while matches!(self.plan.source, Source::Device(_))
            && device::read(self.plan.number).is_some()
        {}
    }

    /// The end is never dropped: who reads makes room as long as there is something to read, and is there. Where no end comes any more, who is
    /// behind on this core is woken all the same: on another one than the first nobody else does.
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

    /// When the oldest message came that waits in a queue or a ring.
    fn waiting(&mut self) -> Option<u64> {
        match self.plan.source {
            Source::Device(_) => device::waiting(self.plan.number),
            _ => self.work.waiting(),
        }
    }

    /// The last frame that waits behind one that was read: in four slots each would have overwritten the one before.
    fn newest(&mut self, oldest: ([u64; 2], u64)) -> ([u64; 2], u64) {
        let mut newest = oldest;
        while let Some(later) = device::read(self.plan.number) {
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
            Source::Device(kept) => match device::read(self.plan.number) {
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
        if is_halted(self.plan.pipe) {
            return false;
        }
        self.shared.expired.store(false, Relaxed);
        // A pipe that an overrun stops is halted before the overrun is counted.
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
        let answer = self.work.compute(taken);
        let counted = due != 0 && self.shared.due.swap(0, Relaxed) == 0;
        if let (Some(mut message), true) = (answer, self.may_send(release, counted)) {
            self.send(&mut message);
        }
        true
    }

    /// What is done about a job that used up its budget: having used all of it since its release it had to wait until a
    /// period after that, while every other job is bound to end before. A part of a budget that ends a moment before the next
    /// part is back is no overrun.
    fn may_send(&self, release: u64, counted: bool) -> bool {
        let ended = self.shared.expired.swap(false, Relaxed);
        if !ended || clock::now() < release + self.plan.period {
            return true;
        }
        let what = OnOverrun::of(self.plan.stage.on_overrun);
        let sends = overrun::may_send(what, || halt(self.plan.pipe));
        // Who reads the count finds the pipe halted by it.
        if !counted {
            self.shared.overruns.fetch_add(1, Relaxed);
        }
        sends
    }

    fn send(&mut self, message: &mut Message) {
        match self.plan.sink {
            Sink::Stages => self.pass(message),
            Sink::Device if !self.write(message.data) => {
                self.shared.dropped.fetch_add(1, Relaxed);
            }
            sink => {
                let mark = (sink == Sink::Trace).then_some(message.data);
                notes::left(&self.plan.place(), message, mark);
            }
        }
    }

    fn write(&self, data: [u64; 2]) -> bool {
        device::write(data, To::of(&self.plan.stage), self.plan.period)
    }

    /// To the stages behind; waits for room in a ring for a period, no longer, and not for who is not there: when that one is, what had
    /// waited would be late. A job that finds none has used up its time like one that uses up its budget.
    fn pass(&mut self, message: &mut Message) {
        let until = clock::now() + self.plan.period;
        let (mut waited, mut blocked) = (false, 0);
        let peers = self.plan.peers;
        for (output, next) in self.plan.outputs.iter_mut().flatten() {
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
            // What was not made meanwhile is not made up for: it would be late, and all behind it. Nor does the next message
            // come closer than any other, since who reads as often as it writes would have one waiting ever after.
            self.next = self.next.max(clock::now() + interval);
        }
        self.shared.dropped.fetch_add(blocked, Relaxed);
        if blocked > 0 && self.plan.stage.on_overrun == OnOverrun::Stop as u32 {
            halt(self.plan.pipe);
        }
    }
}

fn misses(peers: &[Option<Peer>], which: impl Fn(&Peer) -> bool) -> bool {
    let mut some = peers.iter().flatten().filter(|peer| which(peer));
    some.any(|peer| !peer.is_there())
}

impl Fed {
    /// Whether it is in another partition.
    const fn is_elsewhere(self) -> bool {
        matches!(self, Self::Nobody)
    }

    fn feed(self, tick: u64) {
        match self {
            Self::Stage(number) => shared(number).feed(tick),
            Self::Gatherer(vcpu) => share::wake(vcpu),
            Self::Nobody | Self::Core => {}
        }
    }
}

impl Plan {
    /// Waits until those are up without whom nothing is taken out behind it.
    fn await_others(&self) {
        while !self.awaits.iter().flatten().all(Link::is_up) {
            CORE.threads.sleep_until(clock::now() + self.period);
        }
    }

    /// Whether one of these does not run its stages.
    fn misses(&self, which: impl Fn(&Peer) -> bool) -> bool {
        misses(&self.peers, which)
    }

    fn place(&self) -> notes::Place {
        notes::Place {
            pipe: self.pipe,
            stage: self.number,
            place: self.place,
        }
    }
}
