//! A stage: a thread with a reservation, released by data

use crate::plan::{Pipe, Plan, Stage};
use bulkhead_abi::can::Frame;
use bulkhead_buffers::Region;
use bulkhead_linux::{Can, Error, frequency_hz, lock_memory, reserve, ticks};
use bulkhead_stages::functions;
use bulkhead_stages::link::{self, Input, Kind, Output};
use bulkhead_stages::message::Message;
use bulkhead_stages::pace::Pace;
use bulkhead_stages::work::{ENDS, Work};
use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long a first stage waits for a frame at once.
const PATIENCE_MS: u16 = 1000;

/// What of a stage others see.
#[derive(Default)]
struct Shared {
    thread: OnceLock<Thread>,
    /// Tick of the first arrival that no job has taken; 0 = none.
    arrived: AtomicU64,
    jobs: AtomicU64,
    dropped: AtomicU64,
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

/// A stage before it runs.
struct Ready {
    stage: Stage,
    shared: Arc<Shared>,
    work: Work,
    outputs: Vec<(Output, Arc<Shared>)>,
    can: Option<Can>,
    reads: bool,
    /// Of its messages, only the newest counts.
    newest: bool,
    rounds: u64,
}

/// Runs all pipes of a plan between the frames of a CAN interface that is up, each job computing `rounds` of a loop for each
/// microsecond of its stage's WCET; says once a second through `tell` what each stage did.
///
/// # Errors
/// A function or the interface is not there, or a reservation is refused.
pub fn run(
    plan: &Plan,
    interface: &str,
    rounds: u64,
    mut tell: impl FnMut(&str, u64, u64),
) -> Result<(), Error> {
    lock_memory()?;
    let mut told = Vec::new();
    let mut ready = Vec::new();
    for pipe in &plan.pipes {
        ready.extend(build(pipe, interface, rounds)?);
    }
    for one in ready {
        told.push((one.stage.function.clone(), Arc::clone(&one.shared)));
        let shared = Arc::clone(&one.shared);
        let (started, begun) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            let reserved = reserve(one.stage.runtime_ns, one.stage.period_ns);
            let refused = reserved.is_err();
            // Who started it waits for the answer.
            let _ = started.send(reserved);
            if !refused {
                one.run();
            }
        });
        // Nobody else sets it.
        let _ = shared.thread.set(thread.thread().clone());
        begun.recv().unwrap_or(Ok(()))?;
    }
    loop {
        thread::sleep(Duration::from_secs(1));
        for (name, shared) in &told {
            tell(
                name,
                shared.jobs.load(Relaxed),
                shared.dropped.load(Relaxed),
            );
        }
    }
}

/// The stages of a pipe with a buffer from each stage into a junction to each stage out of it.
fn build(pipe: &Pipe, interface: &str, rounds: u64) -> Result<Vec<Ready>, Error> {
    let stages = &pipe.stages;
    let shared: Vec<Arc<Shared>> = stages.iter().map(|_| Arc::default()).collect();
    let mut inputs: Vec<[Option<Input>; ENDS]> = Vec::new();
    let mut outputs: Vec<Vec<(Output, Arc<Shared>)>> = Vec::new();
    for _ in stages {
        inputs.push([const { None }; ENDS]);
        outputs.push(Vec::new());
    }
    for (to, reader) in stages.iter().enumerate() {
        let kind = if pipe.each {
            Kind::Each(reader.places)
        } else {
            Kind::Newest
        };
        let writers = stages.iter().enumerate();
        for (from, _) in writers.filter(|(_, writer)| reader.from != 0 && writer.to == reader.from)
        {
            let free = inputs[to].iter_mut().find(|place| place.is_none());
            let made = free.zip(link::make(kind, memory));
            let (place, (input, output)) =
                made.ok_or_else(|| Error::NoChannel(reader.function.clone()))?;
            *place = Some(input);
            outputs[from].push((output, Arc::clone(&shared[to])));
        }
    }
    let mut heads = 0;
    let all = stages
        .iter()
        .zip(shared)
        .zip(inputs)
        .zip(outputs)
        .enumerate();
    all.map(|(number, (((stage, shared), inputs), outputs))| {
        let missing = || Error::NoChannel(stage.function.clone());
        let function = functions::named(&stage.function).ok_or_else(missing)?;
        let reads = stage.from == 0;
        let can = match stage.identifier {
            Some(identifier) => {
                let can = Can::listen(interface)?;
                can.hear(reads.then_some(identifier))?;
                Some(can)
            }
            None => None,
        };
        let head = heads;
        heads += usize::from(reads);
        Ok(Ready {
            work: Work::new(function, inputs, head, number as u64 + 1),
            stage: stage.clone(),
            shared,
            outputs,
            can,
            reads,
            newest: !pipe.each,
            rounds: stage.runtime_ns / u64::from(stage.messages.max(1)) / 1000 * rounds,
        })
    })
    .collect()
}

/// Memory that lasts as long as the program, whole cache lines.
fn memory(bytes: usize) -> Option<Region<'static>> {
    let words = bytes.div_ceil(64) * 8;
    let all: Vec<AtomicU64> = (0..words + 8).map(|_| AtomicU64::new(0)).collect();
    let all = all.leak();
    let from = all.as_ptr().align_offset(64);
    all.get(from..from + words).map(Region::from_words)
}

impl Ready {
    fn run(mut self) {
        let ticks_of =
            |ns: u64| (u128::from(ns) * u128::from(frequency_hz()) / 1_000_000_000) as u64;
        let mut pace = Pace::new(ticks_of(self.stage.period_ns), self.stage.messages);
        loop {
            let (mut source, arrival) = self.wait();
            let release = pace.release(arrival);
            while let early @ 1.. = release.saturating_sub(ticks()) {
                let ns = u128::from(early) * 1_000_000_000 / u128::from(frequency_hz());
                thread::sleep(Duration::from_nanos(ns as u64));
            }
            self.shared.arrived.store(0, Relaxed);
            if self.newest && source.is_some() {
                source = self.waiting_frames().last().or(source);
            }
            let Some(taken) = self.work.take(source) else {
                continue;
            };
            pace.note(release);
            compute(self.rounds);
            if let Some(message) = self.work.compute(taken) {
                self.send(message);
            }
            self.shared.jobs.fetch_add(1, Relaxed);
        }
    }

    /// The frames that wait: in four slots each overwrites the one before.
    fn waiting_frames(&self) -> impl Iterator<Item = ([u64; 2], u64)> {
        let can = self.can.iter();
        can.flat_map(|can| std::iter::from_fn(|| can.receive(0).ok().flatten()))
            .map(|frame| (frame.words(), ticks()))
    }

    /// Until there is something to do: what a device brought, and when.
    fn wait(&mut self) -> (Option<([u64; 2], u64)>, u64) {
        loop {
            if let (Some(can), true) = (&self.can, self.reads) {
                // An interface that went down brings nothing, until it is up again.
                if let Ok(Some(frame)) = can.receive(PATIENCE_MS) {
                    let now = ticks();
                    return (Some((frame.words(), now)), now);
                }
                continue;
            }
            if let Some(tick) = self.work.waiting() {
                return (None, tick);
            }
            match self.shared.arrived.swap(0, Relaxed) {
                0 => thread::park(),
                tick if self.work.is_four_slot() => return (None, tick),
                _ => {}
            }
        }
    }

    fn send(&mut self, mut message: Message) {
        if let (Some(can), false) = (&self.can, self.reads) {
            let [_, data] = message.data;
            let identifier = self.stage.identifier.unwrap_or(0);
            let sent = can.send(&Frame::new(identifier, &data.to_le_bytes()));
            self.shared
                .dropped
                .fetch_add(u64::from(sent.is_err()), Relaxed);
            return;
        }
        let period = Duration::from_nanos(self.stage.period_ns);
        for (output, next) in &mut self.outputs {
            message.put = ticks();
            if put_in_time(output, &message, period) {
                next.feed(message.put);
            } else {
                self.shared.dropped.fetch_add(1, Relaxed);
            }
        }
    }
}

/// As a job of an rtos partition does (`bulkhead_component::load`): the same instructions.
fn compute(rounds: u64) {
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
