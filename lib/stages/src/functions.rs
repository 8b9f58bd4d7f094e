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
    /// Ticks since something last came from another partition; 0 where nothing comes from there.
    pub age: u64,
    /// The function's own memory.
    pub state: &'j mut State,
}

/// Words that a function keeps from job to job.
pub const MEMORY: usize = 8;

/// What a function remembers from job to job.
#[derive(Debug)]
pub struct State {
    /// The function's own; zero at first.
    pub memory: [u64; MEMORY],
    random: Random,
}

impl State {
    /// Nothing is remembered yet; `seed` is that of its chance.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            memory: [0; MEMORY],
            random: Random::new(seed),
        }
    }

    /// Ticks below so many, different each time and the same in each run.
    pub fn some(&mut self, below: u64) -> u64 {
        self.random.below(below.max(1))
    }
}

/// What answers a job: a Rust function, or one of another language behind it.
pub trait Answer: Sync {
    /// The data that is sent, if any is.
    fn job(&self, job: &mut Job<'_>) -> Option<[u64; 2]>;
}

impl<F: Fn(&mut Job<'_>) -> Option<[u64; 2]> + Sync> Answer for F {
    fn job(&self, job: &mut Job<'_>) -> Option<[u64; 2]> {
        self(job)
    }
}

/// A function.
pub type Function = &'static dyn Answer;

/// A program's functions with their names, by index; nothing behind the last one.
pub type Functions = fn(usize) -> Option<(&'static str, Function)>;

const FUNCTIONS: [(&str, Function); 12] = [
    ("sample", &source),
    ("can-read", &source),
    ("receive", &pass),
    ("filter", &filter),
    ("ml-process", &filter),
    ("rt-fusion", &fuse),
    ("fuse", &fuse),
    ("rt-control", &pass),
    ("emit", &pass),
    ("can-write", &pass),
    ("send", &pass),
    ("neutral", &neutral),
];

/// All functions: a program's own, and those that are there in any case.
pub fn all(own: Functions) -> impl Iterator<Item = (&'static str, Function)> {
    (0..).map_while(own).chain(FUNCTIONS)
}

/// The function of that name; a program's own before others.
#[must_use]
pub fn find(own: Functions, name: &str) -> Option<Function> {
    let found = all(own).find(|(known, _)| *known == name);
    found.map(|(_, function)| function)
}

/// The function of that name, where a program has none of its own.
#[must_use]
pub fn named(name: &str) -> Option<Function> {
    find(|_| None, name)
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

/// No value: what is sent where no better is known.
fn neutral(_: &mut Job<'_>) -> Option<[u64; 2]> {
    Some([0; 2])
}

const NAMES: u64 = u32::MAX as u64;

/// An exponential mean of the value, in sixteenths, which is kept in the first word.
fn filter(job: &mut Job<'_>) -> Option<[u64; 2]> {
    let [head, word] = newest(job)?;
    let [mean, ..] = &mut job.state.memory;
    *mean = *mean - *mean / 16 + (word >> 32) / 16;
    Some([head, *mean << 32 | word & NAMES])
}

/// The sum of what came, and the newest names of each quarter, which are kept in the first word.
fn fuse(job: &mut Job<'_>) -> Option<[u64; 2]> {
    let [head, _] = newest(job)?;
    let inputs = job.inputs.iter().flatten();
    let words = inputs
        .map(|message| message.data[1])
        .chain(job.source.map(|[_, word]| word));
    let (mut value, mut names) = (0_u64, job.state.memory[0]);
    for word in words {
        value = value.wrapping_add(word >> 32);
        for quarter in [0xffff, 0xffff << 16] {
            if word & quarter != 0 {
                names = names & !quarter | word & quarter;
            }
        }
    }
    job.state.memory[0] = names;
    Some([head, value << 32 | names])
}
