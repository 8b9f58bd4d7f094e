//! A stage: a thread with a reservation, released by data, or by its clock where it reads across partitions

use crate::budget::{Budget, Halt};
use crate::device::{Ends, Seen};
use crate::plan::{Source, Stage};
use bulkhead_abi::pipe::OnOverrun;
use bulkhead_abi::status::State;
use bulkhead_linux::{Peer, frequency_hz, ticks, used_ns};
use bulkhead_stages::link::Output;
use bulkhead_stages::message::Message;
use bulkhead_stages::overrun;
use bulkhead_stages::pace::{Pace, next_look};
use bulkhead_stages::work::{Taken, Work};
use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// What of a stage others see.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) thread: OnceLock<Thread>,
    /// Tick of the first arrival that no job has taken; 0 = none.
    arrived: AtomicU64,
    pub(crate) jobs: AtomicU64,
    /// Jobs that needed more than their budget.
    pub(crate) overruns: AtomicU64,
    /// Messages that found no room in time.
    pub(crate) dropped: AtomicU64,
    /// Jobs in which its fallback took its place, and the greatest age of what it read then, ticks.
    pub(crate) fallbacks: AtomicU64,
    pub(crate) oldest: AtomicU64,
    /// Times that the end of a task came on all inputs, and what came before has left.
    pub(crate) ended: AtomicU64,
    pub(crate) seen: Seen,
}

impl Shared {
    /// Something came for it at `tick`.
    fn feed(&self, tick: u64) {
        let _is_first = self.arrived.compare_exchange(0, tick, Relaxed, Relaxed);
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

/// A message that left its pipe.
pub(crate) struct Left {
    pub(crate) message: Message,
    /// Tick.
    pub(crate) at: u64,
    pub(crate) places: Places,
}

/// The ends of the ways that a message took.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) pipe: Arc<str>,
    /// First stages, by their places in the pipe.
    pub(crate) heads: Arc<[usize]>,
    /// The last stage.
    pub(crate) tail: usize,
}

/// A stage before it runs.
pub(crate) struct Ready {
    pub(crate) stage: Stage,
    /// Its place in its pipe.
    pub(crate) place: usize,
    pub(crate) shared: Arc<Shared>,
    pub(crate) work: Work,
    /// With who is fed, if that is here.
    pub(crate) outputs: Vec<(Output, Option<Arc<Shared>>)>,
    pub(crate) ends: Ends,
    /// It reads what another partition writes, or the bridge.
    pub(crate) clocked: bool,
    /// Of its messages, only the newest counts.
    pub(crate) newest: bool,
    pub(crate) rounds: u64,
    pub(crate) budget: Budget,
    /// Of its pipe.
    pub(crate) halt: Halt,
    /// Of a first stage that loses nothing: who has to be up before it begins.
    pub(crate) awaits: Option<Arc<Vec<Peer>>>,
    /// Where what leaves is recorded, if it is.
    pub(crate) left: Option<(SyncSender<Left>, Places)>,
}

impl Ready {
    /// Until its pipe has stopped itself, and nobody starts it again before the partition, or is retired.
    pub(crate) fn run(mut self) {
        let mut pace = Pace::new(ticks_of(self.stage.period_ns), self.stage.messages);
        while !self.others_are_up() && !self.halt.is_retired() {
            thread::sleep(Duration::from_nanos(self.stage.period_ns));
        }
        let mut clock = self.begin();
        loop {
            if self.is_first() && self.halt.is_stopped() {
                if !self.rest() {
                    return;
                }
                clock = self.begin();
                pace = Pace::new(ticks_of(self.stage.period_ns), self.stage.messages);
            }
            let (source, arrival) = self.wait(&mut clock, &pace);
            if self.halt.is_retired() {
                return;
            }
            let release = pace.release(arrival);
            sleep_until(release);
            let used = used_ns();
            let taken = self.take(source);
            let stale = taken.as_ref().is_some_and(|one| one.fell_back().is_some());
            let mut ended = None;
            if self.is_over(stale) {
                let at = self.work.ended_at(ticks());
                self.pass_end(at);
                if self.halt.is_halted() {
                    return;
                }
                ended = Some(at);
            }
            if let Some(taken) = taken.filter(|_| !self.halt.is_halted()) {
                pace.note(release);
                self.budget.begin(release, used);
                let waited = self.job(taken);
                if waited && matches!(self.stage.source, Source::Timer(_)) {
                    // What was not made meanwhile is not made up for: it would be late, and all behind it.
                    clock = clock.max(ticks());
                }
                self.shared.jobs.fetch_add(1, Relaxed);
            }
            if let Some(at) = ended {
                // Who reads it finds what left before it.
                self.shared.ended.store(at, Release);
            }
        }
    }

    /// Whether messages enter the pipe here: it ends them by itself.
    fn is_first(&self) -> bool {
        self.stage.source != Source::Stages
    }

    /// A task begins here, when it is to. What a device or the bridge brought before is nobody's: most of it is taken out while there is time, and does
    /// not take it from what comes then.
    fn begin(&mut self) -> u64 {
        let start = ticks().max(self.halt.starts());
        if self.is_first() {
            self.drain();
            self.await_tick(start);
        }
        self.work.begin_anew(start, self.stage.places);
        self.drain();
        start
    }

    fn drain(&mut self) {
        while self.frame().is_some() {}
    }

    /// Until a tick, or the pipe is not to begin then any more.
    fn await_tick(&self, tick: u64) {
        while let early @ 1.. = tick.saturating_sub(ticks()) {
            if self.halt.is_stopped() || self.halt.is_retired() {
                return;
            }
            thread::park_timeout(duration_of(early));
        }
    }

    /// Passes the end of the task on, and waits until the pipe is started again; whether it was, and is not to end.
    fn rest(&mut self) -> bool {
        let at = ticks();
        self.pass_end(at);
        self.shared.ended.store(at, Release);
        while self.halt.is_stopped() && !self.halt.is_retired() {
            thread::park();
        }
        !self.halt.is_retired()
    }

    /// What the next job works on, if there is any.
    fn take(&mut self, mut source: Option<([u64; 2], u64)>) -> Option<Taken> {
        self.shared.arrived.store(0, Relaxed);
        if self.newest && source.is_some() {
            while let Some(later) = self.frame() {
                self.work.pass_over();
                source = Some(later);
            }
        }
        let taken = match self.clocked {
            true => self.work.look(ticks()),
            false => self.work.take(source),
        };
        if let Some(age) = taken.as_ref().and_then(Taken::fell_back) {
            self.shared.fallbacks.fetch_add(1, Relaxed);
            self.shared.oldest.fetch_max(age, Relaxed);
        }
        taken
    }

    /// Whether no message comes any more. From who is not there no end comes, so who falls back does not wait for it.
    fn is_over(&self, stale: bool) -> bool {
        let halted = self.halt.is_halted();
        match self.stage.source {
            Source::Stages => self.work.is_over() || stale && halted,
            _ => halted,
        }
    }

    /// Computes, and sends what may be sent; whether it had to wait for room.
    fn job(&mut self, taken: Taken) -> bool {
        compute(self.rounds);
        let answer = self.work.compute(taken);
        match (answer, self.may_send()) {
            (Some(message), true) => self.send(message),
            _ => false,
        }
    }

    /// What is done about a job that needed more than its budget.
    fn may_send(&mut self) -> bool {
        if !self.budget.overran() {
            return true;
        }
        let sends = overrun::may_send(self.stage.on_overrun, || self.halt.halt());
        // Who reads the count finds the pipe halted by it.
        self.shared.overruns.fetch_add(1, Release);
        sends
    }

    /// The next frame that waits: in four slots it overwrites the one before.
    fn frame(&mut self) -> Option<([u64; 2], u64)> {
        let reader = self.ends.reader.as_mut()?;
        reader.take(&self.shared.seen)
    }

    /// What a device brings next, and when it came; nothing once the pipe was stopped, or has stopped itself.
    fn wait_for_frame(&mut self) -> Option<([u64; 2], u64)> {
        let reader = self.ends.reader.as_mut()?;
        loop {
            match reader.wait(&self.shared.seen) {
                None if self.halt.goes_on() => {}
                taken => return taken,
            }
        }
    }

    /// Until there is something to do: what a device brought, and when.
    fn wait(&mut self, clock: &mut u64, pace: &Pace) -> (Option<([u64; 2], u64)>, u64) {
        if let Source::Timer(interval_ns) = self.stage.source {
            *clock += ticks_of(interval_ns);
            sleep_until(*clock);
            return (Some(([self.work.entered() + 1, *clock], *clock)), *clock);
        }
        if let Source::Can(_) = self.stage.source {
            let frame = self.wait_for_frame();
            return (frame, frame.map_or_else(ticks, |(_, at)| at));
        }
        if self.clocked {
            return (None, self.wait_by_clock(clock, pace));
        }
        loop {
            if let Some(tick) = self.work.waiting() {
                return (None, tick);
            }
            match self.shared.arrived.swap(0, Relaxed) {
                0 if self.halt.is_retired() => return (None, ticks()),
                0 => thread::park(),
                tick if self.work.is_four_slot() => return (None, tick),
                _ => {}
            }
        }
    }

    /// Until the next tick of its clock, or not at all while the budget of this one lasts and a ring has more.
    fn wait_by_clock(&mut self, clock: &mut u64, pace: &Pace) -> u64 {
        let before = ticks();
        let waits = self.work.waiting().is_some();
        if !waits {
            self.work.found_nothing(before);
        }
        if waits && pace.release(*clock) == *clock {
            return *clock;
        }
        *clock = next_look(*clock, ticks_of(self.stage.period_ns), ticks(), waits);
        sleep_until(*clock);
        *clock
    }

    /// Whether those are up without whom nothing is taken out behind it.
    fn others_are_up(&self) -> bool {
        let mut others = self.awaits.iter().flat_map(|all| all.iter());
        others.all(|peer| peer.state().state == State::Up)
    }

    /// The end of a task goes on, and is never dropped: who reads makes room as long as there is something to read.
    fn pass_end(&mut self, at: u64) {
        for (output, next) in &mut self.outputs {
            while !output.put(&Message::end(at)) && !self.halt.is_retired() {
                thread::sleep(Duration::from_nanos(self.stage.period_ns / 8));
            }
            feed(next.as_deref(), ticks());
        }
        self.work.go_on(ticks());
    }

    /// Whether it had to wait for room.
    fn send(&mut self, message: Message) -> bool {
        if let Some(writer) = &self.ends.writer {
            if writer.send(message.data) {
                self.note(message);
            } else {
                self.shared.dropped.fetch_add(1, Relaxed);
            }
            return false;
        }
        self.note(message);
        self.pass(message)
    }

    /// What left the pipe is recorded.
    fn note(&self, message: Message) {
        let Some((left, places)) = &self.left else {
            return;
        };
        let (at, places) = (ticks(), places.clone());
        let noted = left.try_send(Left {
            message,
            at,
            places,
        });
        let unnoted = u64::from(noted.is_err());
        self.shared.dropped.fetch_add(unnoted, Relaxed);
    }

    /// To the stages behind; whether it had to wait for room.
    fn pass(&mut self, mut message: Message) -> bool {
        let period = Duration::from_nanos(self.stage.period_ns);
        let mut waited = false;
        for (output, next) in &mut self.outputs {
            message.put = ticks();
            if output.put(&message) {
                feed(next.as_deref(), message.put);
                continue;
            }
            // Nobody beyond the machine keeps a pipe from being in time.
            if self.stage.bridged {
                self.shared.dropped.fetch_add(1, Relaxed);
                continue;
            }
            waited = true;
            if put_in_time(output, &message, period) {
                feed(next.as_deref(), message.put);
                continue;
            }
            self.shared.dropped.fetch_add(1, Relaxed);
            // It has used up its time like a job that uses up its budget.
            if self.stage.on_overrun == OnOverrun::Stop {
                self.halt.halt();
            }
        }
        waited
    }
}

/// A stage that is here is woken; one of another partition looks by itself.
fn feed(stage: Option<&Shared>, tick: u64) {
    if let Some(stage) = stage {
        stage.feed(tick);
    }
}

pub(crate) fn ticks_of(ns: u64) -> u64 {
    (u128::from(ns) * u128::from(frequency_hz()) / 1_000_000_000) as u64
}

fn sleep_until(tick: u64) {
    while let early @ 1.. = tick.saturating_sub(ticks()) {
        thread::sleep(duration_of(early));
    }
}

fn duration_of(ticks: u64) -> Duration {
    let ns = u128::from(ticks) * 1_000_000_000 / u128::from(frequency_hz());
    Duration::from_nanos(ns as u64)
}

/// As a job of an rtos partition does (`bulkhead_component::load`): the same instructions.
pub(crate) fn compute(rounds: u64) {
    for round in 0..rounds {
        black_box(round);
    }
}

/// Waits for room for so long, no longer.
fn put_in_time(output: &mut Output, message: &Message, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    let mut room = output.put(message);
    while !room && Instant::now() < until {
        thread::sleep(patience / 8);
        room = output.put(message);
    }
    room
}
