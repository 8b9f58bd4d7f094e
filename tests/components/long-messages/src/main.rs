//! Pipe functions with long messages, each of which checks every word of what it reads
//!
//! The first word of a message is its number, and each other one is by 1 more than the word before it. A function that reads a wrong word
//! panics. `mark` and `note` use the first words alone, so that a message of any size takes them as long (`bulkhead bench pipe-isolated`).
#![no_std]
#![no_main]

use bulkhead_pipe_functions::{Job, MessageContent};
use core::sync::atomic::Ordering::Relaxed;

bulkhead_pipe_functions::functions!([
    ("scan", &scan),
    ("smooth", &smooth),
    ("judge", &judge),
    ("tear", &tear),
    ("mark", &mark),
    ("note", &note),
    ("note-apart", &note),
]);

/// Jobs of `tear` without a fault.
const JOBS: u64 = 20;

/// Writes a whole message.
fn write(output: &MessageContent, number: u64) {
    for (index, word) in (0..).zip(output.memory().words()) {
        word.store(number.wrapping_add(index), Relaxed);
    }
}

/// Checks a message, and returns its number.
fn number(job: &Job<'_>) -> Option<u64> {
    let received = job.inputs.iter().flatten().next()?;
    let content = received.content.as_ref()?;
    let [number, _] = received.data;
    for (index, word) in (0..).zip(content.memory().words()) {
        let (found, expected) = (word.load(Relaxed), number.wrapping_add(index));
        // Of the last word only some bytes may be part of the message.
        let bytes = (content.bytes() as u64 - 8 * index).min(8);
        assert!(
            (found ^ expected) << (64 - 8 * bytes) == 0,
            "word {index} of message {number} is {found}"
        );
    }
    Some(number)
}

/// Makes messages.
fn scan(job: &mut Job<'_>) -> bool {
    let (Some(output), Some([number, _])) = (job.output, job.source) else {
        return false;
    };
    write(&output, number);
    true
}

/// Reads a message and writes another one with its number.
fn smooth(job: &mut Job<'_>) -> bool {
    let (Some(number), Some(output)) = (number(job), job.output) else {
        return false;
    };
    write(&output, number);
    true
}

/// The number of the message in two words.
fn judge(job: &mut Job<'_>) -> Option<[u64; 2]> {
    Some([number(job)?, 0])
}

/// Makes messages of which it writes the first word alone.
fn mark(job: &mut Job<'_>) -> Option<[u64; 2]> {
    job.source
}

/// Reads the first two words of a message.
fn note(job: &mut Job<'_>) -> Option<[u64; 2]> {
    let received = job.inputs.iter().flatten().next()?;
    let words = received.content.map(|content| content.words());
    Some(words.unwrap_or(received.data))
}

/// As `smooth`, but after some jobs it writes into the message that it reads.
fn tear(job: &mut Job<'_>) -> bool {
    job.state.memory[0] += 1;
    if job.state.memory[0] > JOBS
        && let Some(Some(content)) = job
            .inputs
            .first()
            .map(|one| one.as_ref().and_then(|one| one.content))
    {
        content.set_word(1, 0);
    }
    smooth(job)
}
