//! Queues between stages, their consumers, and counters of messages
//!
//! Stage n takes from queue n and puts into queue n + 1; the last used stage drops the message.
//! Each queue has one consumer, which has a higher priority than the producer and therefore runs
//! immediately.

use crate::THREADS;
use bulkhead_abi::component::stages::{self, HOPS_BITS, MOST, PASS, TAKE, Words, hops};
use bulkhead_component::clock;
use bulkhead_component::first;
use bulkhead_slite::Queue;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

static QUEUES: [Queue<u64, 4>; MOST] = [const { Queue::new(0) }; MOST];
/// Stage of each client by its component's number, and of each thread by its index; 0 = none.
static CLIENTS: [AtomicU64; 16] = [const { AtomicU64::new(0) }; 16];
static RESIDENTS: [AtomicU64; 2 * MOST] = [const { AtomicU64::new(0) }; 2 * MOST];
/// Results, unless the component is nested.
static WORDS: Words = [const { AtomicU64::new(0) }; stages::WORDS];
static NESTED: AtomicU64 = AtomicU64::new(0);

/// Uses the page shared with the parent for results and settings.
pub(crate) fn nest() {
    NESTED.store(1, Relaxed);
}

pub(crate) fn is_nested() -> bool {
    NESTED.load(Relaxed) != 0
}

/// A word of results or settings.
#[inline(always)]
pub(crate) fn word(number: usize) -> &'static AtomicU64 {
    match is_nested() {
        true => &first::shared()[stages::SHARED_FROM + number % stages::WORDS],
        false => &WORDS[number % stages::WORDS],
    }
}

/// Makes the component of that number a stage.
pub(crate) fn isolate(component: usize, stage: u64) {
    if let Some(place) = CLIENTS.get(component) {
        place.store(stage, Relaxed);
    }
}

/// Makes the thread of that index a stage.
pub(crate) fn reside(thread: u64, stage: u64) {
    if let Some(place) = RESIDENTS.get(thread as usize) {
        place.store(stage, Relaxed);
    }
}

/// A stage of this component.
pub(crate) extern "C" fn resident(thread: u64) -> ! {
    let place = RESIDENTS.get(thread as usize);
    let stage = place.map_or(0, |place| place.load(Relaxed));
    loop {
        pass(stage, stages::counted(take(stage)));
    }
}

/// Handles requests of isolated stages.
#[inline(always)]
pub(crate) fn answer(token: u64, [what, message, ..]: [u64; 5]) -> u64 {
    let client = CLIENTS.get(token as u32 as usize);
    match (client.map_or(0, |stage| stage.load(Relaxed)), what) {
        (0, _) => u64::MAX,
        (stage, TAKE) => take(stage),
        (stage, PASS) => {
            pass(stage, message);
            0
        }
        _ => u64::MAX,
    }
}

#[inline(always)]
fn take(stage: u64) -> u64 {
    QUEUES[(stage as usize - 1) % MOST].receive(&THREADS)
}

#[inline(always)]
fn pass(stage: u64, message: u64) {
    if stage == word(stages::STAGES).load(Relaxed) {
        leave(message);
    } else {
        enter(stage + 1, message);
    }
}

/// Puts a message into a stage's queue; if there is no room, it is lost and counted.
#[inline(always)]
pub(crate) fn enter(stage: u64, message: u64) {
    let queue = &QUEUES[(stage as usize - 1) % MOST];
    if queue.send(&THREADS, &message).is_err() {
        add(stages::REFUSED, 1);
    }
}

/// Counts a message that has passed all stages.
fn leave(message: u64) {
    let response = clock::now() - (message >> HOPS_BITS);
    if hops(message) != word(stages::STAGES).load(Relaxed) {
        add(stages::WRONG, 1);
    }
    add(stages::EVENTS, 1);
    add(stages::SUM, response);
    let worst = word(stages::WORST);
    worst.store(worst.load(Relaxed).max(response), Relaxed);
}

fn add(number: usize, more: u64) {
    let word = word(number);
    word.store(word.load(Relaxed) + more, Relaxed);
}
