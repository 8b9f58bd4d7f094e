//! Stages as threads: each has its reservation before any of its pipe begins

use crate::budget::Halt;
use crate::plan::{Pipe, Place, Stage};
use crate::stage::{Ready, Shared};
use crate::start::{Count, StartError};
use bulkhead_abi::name_field;
use bulkhead_abi::trace::{Event, EventKind};
use bulkhead_linux::{Error, Trace, keep_to_core, reserve, ticks};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};

/// A stage that runs.
pub(crate) struct Running {
    pub(crate) pipe: String,
    /// Its place there.
    pub(crate) place: usize,
    pub(crate) function: String,
    pub(crate) shared: Arc<Shared>,
    pub(crate) halt: Halt,
    thread: JoinHandle<()>,
    /// Of its fallbacks, and of its overruns, those that were recorded.
    recorded: [AtomicU64; 2],
}

impl Running {
    /// Has its thread end.
    pub(crate) fn retire(&self) {
        self.halt.retire();
        self.thread.thread().unpark();
    }

    /// Whether its thread has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// What it did so far.
    pub(crate) fn count(&self) -> Count<'_> {
        Count {
            pipe: &self.pipe,
            stage: &self.function,
            jobs: self.shared.jobs.load(Relaxed),
            overruns: self.shared.overruns.load(Relaxed),
            halted: self.halt.is_halted(),
            dropped: self.shared.dropped.load(Relaxed),
            fallbacks: self.shared.fallbacks.load(Relaxed),
        }
    }

    /// Records whether it fell back, or jobs of it overran, since the last call.
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
    }
}

/// The threads of a pipe, each with its reservation, that wait for the word.
pub(crate) struct Reserved {
    stages: Vec<Running>,
    all_answered: Arc<Barrier>,
    goes: Arc<AtomicU64>,
}

impl Reserved {
    /// Reserves for each stage; where one is refused, all of them end.
    pub(crate) fn of(pipe: &Pipe, ready: Vec<Ready>) -> Result<Self, StartError> {
        let mut reserved = Self {
            stages: Vec::new(),
            all_answered: Arc::new(Barrier::new(ready.len() + 1)),
            goes: Arc::default(),
        };
        let (started, answers) = channel();
        for one in ready {
            reserved.spawn(pipe, one, started.clone());
        }
        let mut refusal = None;
        for (stage, answer) in answers.iter().take(reserved.stages.len()) {
            if let Err(error) = answer {
                refusal.get_or_insert_with(|| refused(pipe, stage, error));
            }
        }
        match refusal {
            Some(refusal) => {
                reserved.all_answered.wait();
                Err(refusal)
            }
            None => Ok(reserved),
        }
    }

    fn spawn(&mut self, pipe: &Pipe, ready: Ready, started: Sender<Answer>) {
        let shared = Arc::clone(&ready.shared);
        let (place, halt) = (ready.place, ready.halt.clone());
        let function = ready.stage.function.clone();
        let (all, goes) = (Arc::clone(&self.all_answered), Arc::clone(&self.goes));
        let thread = thread::spawn(move || {
            let stage = &ready.stage;
            let placed = match stage.place {
                Place::Core(core) => keep_to_core(core),
                _ => Ok(()),
            };
            let answer = placed.and_then(|()| reserve(stage.runtime_ns, stage.period_ns));
            // Who started it waits for the answer.
            let _ = started.send((stage.clone(), answer));
            all.wait();
            if goes.load(Relaxed) != 0 {
                ready.run();
            }
        });
        // Nobody else sets it.
        let _ = shared.thread.set(thread.thread().clone());
        self.stages.push(Running {
            pipe: pipe.name.clone(),
            place,
            function,
            shared,
            halt,
            thread,
            recorded: Default::default(),
        });
    }

    /// The word: all of them begin.
    pub(crate) fn begin(self) -> Vec<Running> {
        self.goes.store(1, Relaxed);
        self.all_answered.wait();
        self.stages
    }
}

/// A stage, and what the kernel said to its reservation.
type Answer = (Stage, Result<(), Error>);

fn refused(pipe: &Pipe, stage: Stage, error: Error) -> StartError {
    StartError::Refused {
        pipe: pipe.name.clone(),
        place: match stage.place {
            Place::Core(core) => format!("core {core}"),
            _ => "any core".into(),
        },
        stage: stage.function,
        source: Box::new(error),
    }
}
