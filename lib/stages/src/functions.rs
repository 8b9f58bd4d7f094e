//! Pipe functions, by name
//!
//! Each job takes at most one fresh message of each input, and returns the data to be sent, if any.
//! `load` percent of its WCET are computed before, so that the WCET is exercised.
//!
//! The second word of data is a value in its upper half; the lower half names the messages from
//! which it was made, so that the sender recognises its answer. Functions compute with the value
//! only.

use crate::message::{Content, Received};
use bulkhead_sched::harness::Random;

/// Environment of a job.
#[derive(Debug)]
pub struct Job<'j> {
    /// The fresh messages of its inputs.
    pub inputs: &'j [Option<Received>],
    /// The data that it reads from a device, or makes: for a timer, the number of the message.
    pub source: Option<[u64; 2]>,
    /// Ticks since the last message from another partition; 0 without such inputs.
    pub age: u64,
    /// State of the function.
    pub state: &'j mut State,
    /// Memory of the long message that the function writes.
    pub output: Option<Content>,
}

/// Words that a function keeps from job to job.
pub const MEMORY: usize = 8;

/// State that a function keeps between jobs.
#[derive(Debug)]
pub struct State {
    /// Words of the function; zero at first.
    pub memory: [u64; MEMORY],
    random: Random,
}

impl State {
    /// Initial state; `seed` is that of its random numbers.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            memory: [0; MEMORY],
            random: Random::new(seed),
        }
    }

    /// A random number of ticks below `below`, the same in each run.
    pub fn random_below(&mut self, below: u64) -> u64 {
        self.random.below(below.max(1))
    }
}

/// A function that handles jobs, in Rust or another language.
pub trait Answer: Sync {
    /// Returns the first 16 bytes of the message to be sent, if any.
    fn job(&self, job: &mut Job<'_>) -> Option<[u64; 2]>;
}

/// Return value of a function: the first 16 bytes of a message, or `true` to send the message in [`Job::output`].
pub trait Reply {
    /// The first 16 bytes of the message, if one is sent.
    fn words(self, output: Option<Content>) -> Option<[u64; 2]>;
}

impl Reply for Option<[u64; 2]> {
    fn words(self, output: Option<Content>) -> Self {
        if let (Some(words), Some(output)) = (self, output) {
            for (index, word) in words.into_iter().enumerate() {
                output.set_word(index, word);
            }
        }
        self
    }
}

impl Reply for bool {
    fn words(self, output: Option<Content>) -> Option<[u64; 2]> {
        self.then(|| output.map_or([0; 2], |output| output.words()))
    }
}

impl<R: Reply, F: Fn(&mut Job<'_>) -> R + Sync> Answer for F {
    fn job(&self, job: &mut Job<'_>) -> Option<[u64; 2]> {
        let reply = self(job);
        reply.words(job.output)
    }
}

/// A function.
pub type Function = &'static dyn Answer;

/// A program's functions with their names, by index; `None` behind the last one.
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

/// All functions: a program's own, and those of this library.
pub fn all(program: Functions) -> impl Iterator<Item = (&'static str, Function)> {
    (0..).map_while(program).chain(FUNCTIONS)
}

/// The function of that name; a program's own takes precedence.
#[must_use]
pub fn find(program: Functions, name: &str) -> Option<Function> {
    let found = all(program).find(|(program, _)| *program == name);
    found.map(|(_, function)| function)
}

/// The function of this library with that name.
#[must_use]
pub fn named(name: &str) -> Option<Function> {
    find(|_| None, name)
}

fn source(job: &mut Job<'_>) -> Option<[u64; 2]> {
    job.source
}

/// The newest message, of which the output gets a long one whole.
fn newest(job: &Job<'_>) -> Option<[u64; 2]> {
    let newest = job.inputs.iter().flatten().next_back();
    if let Some(output) = job.output
        && let Some(content) = newest.and_then(|newest| newest.content)
    {
        output.copy_from(&content);
    }
    newest.map(|newest| newest.data).or(job.source)
}

fn pass(job: &mut Job<'_>) -> Option<[u64; 2]> {
    newest(job)
}

/// No value: the output if nothing better is available.
fn neutral(job: &mut Job<'_>) -> Option<[u64; 2]> {
    if let Some(output) = job.output {
        output.memory().clear();
    }
    Some([0; 2])
}

const NAMES: u64 = u32::MAX as u64;

/// An exponential mean of the value with weight 1/16, kept in the first word.
fn filter(job: &mut Job<'_>) -> Option<[u64; 2]> {
    let [head, word] = newest(job)?;
    let [mean, ..] = &mut job.state.memory;
    *mean = *mean - *mean / 16 + (word >> 32) / 16;
    Some([head, *mean << 32 | word & NAMES])
}

/// The sum of the inputs, and the newest names of each quarter, kept in the first word.
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
