//! The pipe functions of this component, by name
//!
//! Each job takes what came, at most one message of each input, and answers the data that it sends, if any. That
//! it may take its WCET is not left to chance: `load` percent of it are computed before.

use crate::message::Message;
use bulkhead_sched::harness::Random;

/// What a job has.
pub(crate) struct Job<'j> {
    /// The fresh messages of its inputs.
    pub(crate) inputs: &'j [Option<Message>],
    /// What it reads from a device, or makes: the number of the message.
    pub(crate) source: Option<[u64; 2]>,
    /// The function's own memory.
    pub(crate) state: &'j mut State,
}

/// What a function remembers from job to job.
pub(crate) struct State {
    mean: u64,
    random: Random,
}

impl State {
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            mean: 0,
            random: Random::new(seed),
        }
    }

    /// Ticks below so many, different each time and the same in each run.
    pub(crate) fn some(&mut self, below: u64) -> u64 {
        self.random.below(below.max(1))
    }
}

/// A function.
pub(crate) type Function = fn(&mut Job<'_>) -> Option<[u64; 2]>;

const FUNCTIONS: [(&str, Function); 9] = [
    ("sample", source),
    ("can-read", source),
    ("filter", filter),
    ("ml-process", filter),
    ("rt-fusion", fuse),
    ("fuse", fuse),
    ("rt-control", pass),
    ("emit", pass),
    ("can-write", answer),
];

/// The function of that name.
pub(crate) fn named(name: &str) -> Option<Function> {
    let found = FUNCTIONS.iter().find(|(known, _)| *known == name);
    found.map(|(_, function)| *function)
}

fn source(job: &mut Job<'_>) -> Option<[u64; 2]> {
    job.source
}

fn newest(job: &Job<'_>) -> Option<[u64; 2]> {
    let messages = job.inputs.iter().flatten();
    let data = messages.map(|message| message.data).next_back();
    data.or(job.source)
}

fn pass(job: &mut Job<'_>) -> Option<[u64; 2]> {
    newest(job)
}

/// A frame with the next identifier: what answers is told from what was asked.
fn answer(job: &mut Job<'_>) -> Option<[u64; 2]> {
    newest(job).map(|[head, data]| [head + 1, data])
}

/// An exponential mean of the second word, in sixteenths.
fn filter(job: &mut Job<'_>) -> Option<[u64; 2]> {
    let [head, value] = newest(job)?;
    let state = &mut job.state;
    state.mean = state.mean - state.mean / 16 + value / 16;
    Some([head, value])
}

/// The sum of what came.
fn fuse(job: &mut Job<'_>) -> Option<[u64; 2]> {
    let [head, value] = newest(job)?;
    let all = job.inputs.iter().flatten();
    let sum = all.fold(0_u64, |sum, message| sum.wrapping_add(message.data[1]));
    Some([head, sum.max(value)])
}
