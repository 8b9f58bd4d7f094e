//! Records of messages that left the pipes
//!
//! Each last stage writes into a queue of its own, so that no stage waits for another one. The
//! recorder, perhaps on another core, empties the queues.

use crate::shared_state::Word;
use crate::table::Entry as Pipe;
use bulkhead_component::clock;
use bulkhead_stages::message::{Entry, HEADS, Message};
use bulkhead_stages::shared_state::{self as layout, NOTE, NOTES, UNNOTED};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Position of a stage.
#[derive(Clone, Copy)]
pub(crate) struct StagePosition {
    pub(crate) pipe: usize,
    /// Number among all stages.
    pub(crate) stage: usize,
    /// Index among the stages of its pipe.
    pub(crate) place: usize,
}

/// A record of a message that left a pipe.
pub(crate) struct ExitRecord {
    pub(crate) entries: [Entry; HEADS],
    pub(crate) at: u64,
    pub(crate) pipe: usize,
    /// Index of the last stage in its pipe.
    pub(crate) tail: usize,
    /// Data to be traced.
    pub(crate) data: Option<[u64; 2]>,
}

/// The queue of records of a stage.
struct Queue {
    put: Word,
    taken: Word,
    first: usize,
}

impl Queue {
    fn of(stage: usize) -> Self {
        let (put, taken, notes) = layout::notes(stage);
        Self {
            put: Word::at(put),
            taken: Word::at(taken),
            first: notes.start,
        }
    }

    /// The words of a record.
    fn note(&self, number: u64) -> impl Iterator<Item = Word> {
        let first = self.first + number as usize % NOTES * NOTE;
        (first..first + NOTE).map(Word::at)
    }
}

/// Records that a message left a pipe.
pub(crate) fn record(place: &StagePosition, message: &Message, mark: Option<[u64; 2]>) {
    let queue = Queue::of(place.stage);
    let put = queue.put.load(Relaxed);
    if put.wrapping_sub(queue.taken.load(Acquire)) >= NOTES as u64 {
        Word::at(UNNOTED).fetch_add(1, Relaxed);
        return;
    }
    let whither = (place.pipe as u64) << 16 | (place.place as u64) << 8 | u64::from(mark.is_some());
    let entries = message
        .entries
        .iter()
        .flat_map(|entry| [entry.number, entry.at]);
    let rest = [clock::now(), whither];
    let words = entries.chain(rest).chain(message.data);
    for (word, value) in queue.note(put).zip(words) {
        word.store(value, Relaxed);
    }
    queue.put.store(put + 1, Release);
}

/// Takes the oldest record of a stage.
pub(crate) fn take(stage: usize) -> Option<ExitRecord> {
    let queue = Queue::of(stage);
    let taken = queue.taken.load(Relaxed);
    if queue.put.load(Acquire) == taken {
        return None;
    }
    let mut words = [0; NOTE];
    for (place, word) in words.iter_mut().zip(queue.note(taken)) {
        *place = word.load(Relaxed);
    }
    queue.taken.store(taken + 1, Release);
    let entry = |head: usize| Entry {
        number: words[2 * head],
        at: words[2 * head + 1],
    };
    let [at, whither, first, second] = [0, 1, 2, 3].map(|word: usize| words[2 * HEADS + word]);
    Some(ExitRecord {
        entries: core::array::from_fn(entry),
        at,
        pipe: (whither >> 16) as usize,
        tail: (whither >> 8 & 0xff) as usize,
        data: (whither & 1 != 0).then_some([first, second]),
    })
}

/// Returns whether all messages that left a pipe are recorded.
pub(crate) fn is_drained(pipe: &Pipe) -> bool {
    let mut queues = pipe.numbers().map(Queue::of);
    queues.all(|queue| queue.put.load(Acquire) == queue.taken.load(Relaxed))
}

/// Number of messages that were not recorded because the queue was full.
pub(crate) fn missing() -> u64 {
    Word::at(UNNOTED).load(Relaxed)
}
