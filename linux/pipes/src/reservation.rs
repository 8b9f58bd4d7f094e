//! Threads of stages: each has its reservation before any stage of its pipe begins

use crate::budget::Halt;
use crate::device::{Reader, Watched};
use crate::plan::{Pipe, Placement, Stage};
use crate::stage::{Ready, Shared};
use crate::start::{AtDevice, Count, StartError};
use bulkhead_abi::name_field;
use bulkhead_abi::trace::{Event, EventKind};
use bulkhead_linux::{Bell, Error, Trace, keep_to_core, reserve, ticks};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Bytes of a stage's stack, all of it locked: a small function uses about 10 KiB, a trace or a
/// panic more.
const STACK_BYTES: usize = 256 << 10;

/// A running stage.
pub(crate) struct Running {
    pub(crate) pipe: String,
    /// Index in its pipe.
    pub(crate) place: usize,
    pub(crate) function: String,
    pub(crate) shared: Arc<Shared>,
    pub(crate) halt: Halt,
    period_ns: u64,
    /// Number of messages that may wait before it.
    places: u32,
    thread: JoinHandle<()>,
    /// Wakes the thread if it waits for a device.
    bell: Option<Arc<Bell>>,
    watched: Vec<Watched>,
    /// Recorded counts of fallbacks, overruns and failures of devices, and the slowest recorded
    /// frame.
    recorded: [AtomicU64; 4],
}

impl Running {
    /// Wakes the thread so that it sees that its pipe was stopped, started or removed.
    pub(crate) fn wake(&self) {
        self.thread.thread().unpark();
        self.bell.iter().for_each(|bell| bell.ring());
    }

    /// Lets its thread end.
    pub(crate) fn retire(&self) {
        self.halt.retire();
        self.wake();
    }

    /// Returns whether its thread has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Time within which it handles every message that may wait before it.
    pub(crate) fn longest(&self) -> Duration {
        Duration::from_nanos(self.period_ns)
            .saturating_mul(self.places.saturating_mul(2).saturating_add(2))
    }

    /// Its counters.
    pub(crate) fn count(&self) -> Count<'_> {
        Count {
            pipe: &self.pipe,
            stage: &self.function,
            jobs: self.shared.jobs.load(Relaxed),
            overruns: self.shared.overruns.load(Relaxed),
            halted: self.halt.is_halted(),
            dropped: self.shared.dropped.load(Relaxed),
            fallbacks: self.shared.fallbacks.load(Relaxed),
            device: self.at_device(),
        }
    }

    /// Records fallbacks and overruns since the last call.
    pub(crate) fn record(&self, trace: &Trace) {
        let Shared {
            fallbacks,
            oldest,
            overruns,
            ..
        } = &*self.shared;
        let counts = [
            (EventKind::FellBack, fallbacks),
            (EventKind::StageOverran, overruns),
        ];
        for ((kind, count), recorded) in counts.into_iter().zip(&self.recorded) {
            let count = count.load(Acquire);
            if recorded.swap(count, Relaxed) == count {
                continue;
            }
            trace.write(&Event {
                ticks: ticks(),
                kind: kind as u32,
                sequence: count as u32,
                a: match kind {
                    EventKind::FellBack => oldest.load(Relaxed),
                    _ => self.halt.is_halted().into(),
                },
                b: self.place as u64,
                name: name_field(&self.pipe),
            });
        }
        self.record_device(trace);
    }

    /// Checks its controllers, and records changes.
    fn record_device(&self, trace: &Trace) {
        let downs = self.watched.iter().map(Watched::look).sum();
        let slowest = self.shared.seen.slowest.load(Relaxed);
        let [.., known_downs, known_slowest] = &self.recorded;
        let counts = [
            known_downs.swap(downs, Relaxed),
            known_slowest.swap(slowest, Relaxed),
        ];
        if counts != [downs, slowest] {
            trace.write(&Event {
                ticks: ticks(),
                kind: EventKind::Endpoint as u32,
                sequence: downs as u32,
                a: slowest,
                b: self.place as u64,
                name: name_field(&self.pipe),
            });
        }
    }

    /// State of its controllers, if it has any.
    pub(crate) fn at_device(&self) -> Option<AtDevice> {
        let seen = &self.shared.seen;
        (!self.watched.is_empty()).then(|| AtDevice {
            on_bus: self.watched.iter().all(Watched::is_on_bus),
            downs: self.watched.iter().map(Watched::downs).sum(),
            slowest: seen.slowest.load(Relaxed),
            lost: seen.lost.load(Relaxed),
            passed_over: seen.passed_over.load(Relaxed),
        })
    }
}

/// Threads of a pipe with their reservations, which wait for the start signal.
pub(crate) struct Reserved {
    stages: Vec<Running>,
    /// A thread ends if its sender is dropped.
    words: Vec<Sender<()>>,
}

impl Reserved {
    /// Creates a thread with a reservation for each stage; if one is rejected, all of them end.
    pub(crate) fn of(pipe: &Pipe, ready: Vec<Ready>) -> Result<Self, StartError> {
        let mut reserved = Self {
            stages: Vec::new(),
            words: Vec::new(),
        };
        let (started, answers) = channel();
        for one in ready {
            reserved.spawn(pipe, one, started.clone())?;
        }
        let mut refusal = None;
        for (stage, answer) in answers.iter().take(reserved.stages.len()) {
            if let Err(error) = answer {
                refusal.get_or_insert_with(|| refused(pipe, stage, error));
            }
        }
        refusal.map_or(Ok(reserved), Err)
    }

    fn spawn(
        &mut self,
        pipe: &Pipe,
        mut ready: Ready,
        started: Sender<Answer>,
    ) -> Result<(), StartError> {
        let shared = Arc::clone(&ready.shared);
        let (place, halt) = (ready.place, ready.halt.clone());
        let function = ready.stage.function.clone();
        let (period_ns, places) = (ready.stage.period_ns, ready.stage.places);
        let (word, awaited) = channel();
        let watched = std::mem::take(&mut ready.ends.watched);
        let bell = ready.ends.reader.as_ref().map(Reader::bell);
        let body = move || {
            let stage = &ready.stage;
            let placed = match stage.place {
                Placement::Core(core) => keep_to_core(core),
                _ => Ok(()),
            };
            let answer = placed.and_then(|()| reserve(stage.runtime_ns, stage.period_ns));
            // The creating thread waits for the answer.
            let _ = started.send((stage.clone(), answer));
            if awaited.recv().is_ok() {
                ready.run();
            }
        };
        let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(body);
        let thread = thread.map_err(|source| StartError::Thread {
            pipe: pipe.name.clone(),
            source,
        })?;
        self.words.push(word);
        // Set only here.
        let _ = shared.thread.set(thread.thread().clone());
        self.stages.push(Running {
            pipe: pipe.name.clone(),
            place,
            function,
            period_ns,
            places,
            shared,
            halt,
            thread,
            bell,
            watched,
            recorded: Default::default(),
        });
        Ok(())
    }

    /// Gives the start signal: all threads begin.
    pub(crate) fn begin(self) -> Vec<Running> {
        let (stages, words) = self.held();
        words.begin();
        stages
    }

    /// Returns the threads and the start signal for later.
    pub(crate) fn held(self) -> (Vec<Running>, Words) {
        (self.stages, Words(self.words))
    }
}

/// The start signal of threads. They end if it is dropped.
pub(crate) struct Words(Vec<Sender<()>>);

impl Words {
    pub(crate) fn begin(self) {
        for word in self.0 {
            // None of the threads has ended.
            let _ = word.send(());
        }
    }
}

/// A stage, and the kernel's answer to its reservation.
type Answer = (Stage, Result<(), Error>);

fn refused(pipe: &Pipe, stage: Stage, error: Error) -> StartError {
    StartError::Refused {
        pipe: pipe.name.clone(),
        place: match stage.place {
            Placement::Core(core) => format!("core {core}"),
            _ => "any core".into(),
        },
        stage: stage.function,
        source: Box::new(error),
    }
}
