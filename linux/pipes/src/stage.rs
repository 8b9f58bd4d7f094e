//! A stage: a thread with a reservation, released by data, or by a timer if it reads from another
//! partition

use crate::budget::{Budget, Halt};
use crate::device::{Ends, Seen};
use crate::plan::{Source, Stage};
use bulkhead_abi::pipe::OnOverrun;
use bulkhead_abi::status::State;
use bulkhead_linux::{Peer, frequency_hz, ticks, used_ns};
use bulkhead_stages::link::Output;
use bulkhead_stages::message::{Content, Message};
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

/// State of a stage that other threads use.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) thread: OnceLock<Thread>,
    /// Tick of the first arrival that no job has taken; 0: none.
    arrived: AtomicU64,
    pub(crate) jobs: AtomicU64,
    /// Jobs that needed more than their budget.
    pub(crate) overruns: AtomicU64,
    /// Messages that found no room in time.
    pub(crate) dropped: AtomicU64,
    /// Jobs that ran the fallback, and the greatest age of the input that the last one of them
    /// read, ticks.
    pub(crate) fallbacks: AtomicU64,
    pub(crate) oldest: AtomicU64,
    /// Number of ends of a task that came on all inputs, after all earlier messages had left.
    pub(crate) ended: AtomicU64,
    pub(crate) seen: Seen,
}

impl Shared {
    /// Marks that a message arrived at `tick`, and wakes the stage.
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

/// Ends of the paths of a message.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) pipe: Arc<str>,
    /// First stages, by index in the pipe.
    pub(crate) heads: Arc<[usize]>,
    /// The last stage.
    pub(crate) tail: usize,
}

/// A stage before it runs.
pub(crate) struct Ready {
    pub(crate) stage: Stage,
    /// Index in its pipe.
    pub(crate) place: usize,
    pub(crate) shared: Arc<Shared>,
    pub(crate) work: Work,
    /// Output buffers, with the consumer if it is here.
    pub(crate) outputs: Vec<(Output, Option<Arc<Shared>>)>,
    /// Content of its messages, if no buffer has them.
    pub(crate) content: Option<Content>,
    pub(crate) ends: Ends,
    /// True if it reads from another partition or the bridge.
    pub(crate) clocked: bool,
    /// True if only the newest message counts.
    pub(crate) newest: bool,
    pub(crate) rounds: u64,
    pub(crate) budget: Budget,
    /// Tick of the last begin.
    pub(crate) begun: u64,
    /// State of its pipe.
    pub(crate) halt: Halt,
    /// Of a lossless first stage: partitions that have to be up before it begins.
    pub(crate) awaits: Option<Arc<Vec<Peer>>>,
    /// Queue of records for messages that leave, if they are recorded.
    pub(crate) left: Option<(SyncSender<Left>, Places)>,
}

impl Ready {
    /// Runs jobs until the pipe halts itself, or is removed.
    pub(crate) fn run(mut self) {
        let mut pace = Pace::new(ticks_of(self.stage.period_ns), self.stage.messages);
        while !self.others_are_up() && !self.halt.is_retired() {
            thread::sleep(Duration::from_nanos(self.stage.period_ns));
        }
        let mut clock = self.begin();
        loop {
            if self.is_first() && (self.halt.is_stopped() || self.halt.starts() > self.begun) {
                if self.halt.is_stopped() && !self.rest() {
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
                    // Missed releases are not repeated: their messages would be late, and delay all
                    // later ones.
                    clock = clock.max(ticks());
                }
                self.shared.jobs.fetch_add(1, Relaxed);
            }
            if let Some(at) = ended {
                // A thread that reads it finds the messages that left before.
                self.shared.ended.store(at, Release);
            }
        }
    }

    /// Returns whether messages enter the pipe here, so that this stage sends the end of task.
    fn is_first(&self) -> bool {
        self.stage.source != Source::Stages
    }

    /// Waits until the pipe is to begin. Messages that a device or the bridge brought before are
    /// dropped; most are taken out while there is time, so that they do not delay new ones.
    ///
    /// A partition that starts a pipe which runs here already, because this one restarted while the pipe was stopped there,
    /// did not take its messages. They fill the buffers, and a reader with the writer's rate would stay late for ever.
    fn begin(&mut self) -> u64 {
        let start = ticks().max(self.halt.starts());
        self.begun = start;
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

    /// Waits for a tick, or until the pipe is stopped again.
    fn await_tick(&self, tick: u64) {
        while let early @ 1.. = tick.saturating_sub(ticks()) {
            if self.halt.is_stopped() || self.halt.is_retired() {
                return;
            }
            thread::park_timeout(duration_of(early));
        }
    }

    /// Passes the end of the task on, and waits until the pipe is started again. Returns `false` if
    /// the stage has to end.
    fn rest(&mut self) -> bool {
        let at = ticks();
        self.pass_end(at);
        self.shared.ended.store(at, Release);
        while self.halt.is_stopped() && !self.halt.is_retired() {
            thread::park();
        }
        !self.halt.is_retired()
    }

    /// Takes the input of the next job, if there is any.
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

    /// Returns whether all inputs have ended. A partition that is down sends no end, so a stage in
    /// fallback does not wait for it.
    fn is_over(&self, stale: bool) -> bool {
        let halted = self.halt.is_halted();
        match self.stage.source {
            Source::Stages => self.work.is_over() || stale && halted,
            _ => halted,
        }
    }

    /// Runs a job, and sends its output if allowed. Returns whether it had to wait for room.
    fn job(&mut self, taken: Taken) -> bool {
        compute(self.rounds);
        let output = self.content();
        let answer = self.work.compute(taken, output);
        match (answer, self.may_send()) {
            (Some(message), true) => self.send(message, output),
            _ => false,
        }
    }

    /// Memory of the long message that its function writes: in its first buffer, if it has one.
    fn content(&mut self) -> Option<Content> {
        let first = self.outputs.first_mut();
        self.content.or_else(|| first?.0.content())
    }

    /// Counts and handles an overrun. Returns whether the job may send.
    fn may_send(&mut self) -> bool {
        if !self.budget.overran() {
            return true;
        }
        let sends = overrun::may_send(self.stage.on_overrun, || self.halt.halt());
        // A thread that reads the count finds the pipe halted.
        self.shared.overruns.fetch_add(1, Release);
        sends
    }

    /// Takes the next waiting frame; a four-slot buffer would overwrite the one before.
    fn frame(&mut self) -> Option<([u64; 2], u64)> {
        let reader = self.ends.reader.as_mut()?;
        reader.take(&self.shared.seen)
    }

    /// Waits for the next message of a device. Returns nothing once the pipe was stopped or halted.
    fn wait_for_frame(&mut self) -> Option<([u64; 2], u64)> {
        let reader = self.ends.reader.as_mut()?;
        loop {
            match reader.wait(&self.shared.seen) {
                None if self.halt.continues() => {}
                taken => return taken,
            }
        }
    }

    /// Waits for work. Returns the message of a device, and its arrival.
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

    /// Waits for the next tick of its timer. Does not wait while a ring has more messages and the
    /// budget lasts.
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

    /// Returns whether all partitions are up that this stage has to wait for.
    fn others_are_up(&self) -> bool {
        let mut others = self.awaits.iter().flat_map(|all| all.iter());
        others.all(|peer| peer.state().state == State::Up)
    }

    /// Passes the end of a task on. The end is never dropped: a reader makes room as long as its
    /// buffer is not empty.
    fn pass_end(&mut self, at: u64) {
        for (output, next) in &mut self.outputs {
            while !output.put(&Message::end(at)) && !self.halt.is_retired() {
                thread::sleep(Duration::from_nanos(self.stage.period_ns / 8));
            }
            feed(next.as_deref(), ticks());
        }
        self.work.resume(ticks());
    }

    /// Sends a message. Returns whether it had to wait for room.
    fn send(&mut self, message: Message, content: Option<Content>) -> bool {
        if let Some(writer) = &self.ends.writer {
            if writer.send(message.data) {
                self.note(message);
            } else {
                self.shared.dropped.fetch_add(1, Relaxed);
            }
            return false;
        }
        self.note(message);
        self.pass(message, content)
    }

    /// Records that a message left the pipe.
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

    /// Writes a message to the next stages. Returns whether it had to wait for room.
    fn pass(&mut self, mut message: Message, content: Option<Content>) -> bool {
        let period = Duration::from_nanos(self.stage.period_ns);
        let mut waited = false;
        for (output, next) in &mut self.outputs {
            if let Some(content) = &content {
                output.fill(content);
            }
            message.put = ticks();
            if output.put(&message) {
                feed(next.as_deref(), message.put);
                continue;
            }
            // Other machines must not delay a pipe, so a message for the bridge does not wait.
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
            // Handled like a job that uses up its budget.
            if self.stage.on_overrun == OnOverrun::Stop {
                self.halt.halt();
            }
        }
        waited
    }
}

/// Wakes a consumer that is here; a consumer in another partition polls.
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

/// The load of a job: the same instructions as in an rtos partition (`bulkhead_component::load`).
pub(crate) fn compute(rounds: u64) {
    for round in 0..rounds {
        black_box(round);
    }
}

/// Waits at most so long for room.
fn put_in_time(output: &mut Output, message: &Message, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    let mut room = output.put(message);
    while !room && Instant::now() < until {
        thread::sleep(patience / 8);
        room = output.put(message);
    }
    room
}
