//! Pipe functions, by name
//!
//! Each job takes what came, at most one message of each input, and answers the data that it sends, if any. That
//! it may take its WCET is not left to chance: `load` percent of it are computed before.
//!
//! The second word of data is a value, in its upper half, and what names the messages that it comes from, in its lower
//! half: who sent them finds there what answers them. Functions compute with the value alone.

use crate::message::Message;
use bulkhead_sched::harness::Random;

/// What a job has.
#[derive(Debug)]
pub struct Job<'j> {
    /// The fresh messages of its inputs.
    pub inputs: &'j [Option<Message>],
    /// What it reads from a device, or makes: the number of the message.
    pub source: Option<[u64; 2]>,
    /// The function's own memory.
    pub state: &'j mut State,
}

/// What a function remembers from job to job.
#[derive(Debug)]
pub struct State {
    mean: u64,
    /// Newest names of messages, in quarters of a word.
    names: u64,
    random: Random,
}

impl State {
    /// Nothing is remembered yet; `seed` is that of its chance.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            mean: 0,
            names: 0,
            random: Random::new(seed),
        }
    }

    /// Ticks below so many, different each time and the same in each run.
    pub fn some(&mut self, below: u64) -> u64 {
        self.random.below(below.max(1))
    }
}

/// A function.
pub type Function = fn(&mut Job<'_>) -> Option<[u64; 2]>;

const FUNCTIONS: [(&str, Function); 9] = [
    ("sample", source),
    ("can-read", source),
    ("filter", filter),
    ("ml-process", filter),
    ("rt-fusion", fuse),
    ("fuse", fuse),
    ("rt-control", pass),
    ("emit", pass),
    ("can-write", pass),
];

/// All functions.
pub fn all() -> impl Iterator<Item = (&'static str, Function)> {
    FUNCTIONS.into_iter()
}

/// The function of that name.
#[must_use]
pub fn named(name: &str) -> Option<Function> {
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

const NAMES: u64 = u32::MAX as u64;

/// An exponential mean of the value, in sixteenths.
fn filter(job: &mut Job<'_>) -> Option<[u64; 2]> {
    let [head, word] = newest(job)?;
    let mean = &mut job.state.mean;
    *mean = *mean - *mean / 16 + (word >> 32) / 16;
    Some([head, *mean << 32 | word & NAMES])
}

/// The sum of what came, and the newest names of each quarter.
fn fuse(job: &mut Job<'_>) -> Option<[u64; 2]> {
    let [head, _] = newest(job)?;
    let inputs = job.inputs.iter().flatten();
    let words = inputs
        .map(|message| message.data[1])
        .chain(job.source.map(|[_, word]| word));
    let (mut value, mut names) = (0_u64, job.state.names);
    for word in words {
        value = value.wrapping_add(word >> 32);
        for quarter in [0xffff, 0xffff << 16] {
            if word & quarter != 0 {
                names = names & !quarter | word & quarter;
            }
        }
    }
    job.state.names = names;
    Some([head, value << 32 | names])
}
