//! What those have in common who run stages on several cores of a partition
//!
//! Each core has a component of its own for them, and all of these have this memory: what pipes are told, what stages say of themselves, what left
//! the pipes, what the first core tells others ([`crate::order`]), and behind that the buffers of edges between cores (`doc/design/pipes-deployment.md`), where flows can
//! be typed with room for more (`doc/design/pipes-deployment.md`). Zeros at first. Who runs all stages of a partition has it to itself, without buffers.

use crate::link::Kind;
use crate::message::HEADS;
use crate::order;
use bulkhead_abi::pipe::Pipes;
use bulkhead_abi::repository::{MAX_PIPES, MAX_STAGES, MAX_THROUGH};
use core::ops::Range;

/// Words and bytes of a cache line.
const LINE: usize = 8;
const LINE_BYTES: usize = 64;

/// Cores whose component has built all that it runs, by bit.
pub const READY: usize = 0;
/// Pipes that were stopped, by bit.
pub const STOPPED: usize = 1;
/// Those of them that stopped themselves: what is under way in them is dropped.
pub const HALTED: usize = 2;
/// Those of them whose stages are to forget their pipe once they rest.
pub const RETIRED: usize = 3;
/// Stages that rest, by bit.
pub const RESTING: usize = 4;
/// Messages that left and found no room to be noted.
pub const UNNOTED: usize = 5;
/// Stages whose threads have no pipe, by bit.
pub const VACANT: usize = 6;
/// Pipes whose end will not come any more, by bit: their stages end each by itself.
pub const DISMISSED: usize = 7;
/// How often others than the first core were told something: words of its own lines, which they look at again and again.
pub const TOLD: usize = LINE;
/// Cores that have done what they were told last, by bit.
pub const DONE: usize = 2 * LINE;
/// Those of them that could not.
pub const FAILED: usize = 2 * LINE + 1;
/// Most that one of them used of the stack of who does, bytes.
pub const STACK: usize = 2 * LINE + 2;
const EPOCHS: usize = 3 * LINE;
const STARTS: usize = EPOCHS + MAX_THROUGH.next_multiple_of(LINE);
const COUNTS: usize = STARTS + MAX_PIPES.next_multiple_of(LINE);
const LEFT: usize = COUNTS + MAX_STAGES * LINE;

/// What is counted of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Jobs.
    Jobs,
    /// Times at which one had used up its budget.
    Expiries,
    /// Those of them that overran.
    Overruns,
    /// Messages that found no room in time.
    Dropped,
    /// Jobs in which its fallback took its place.
    Fallbacks,
    /// The greatest age of what it read then, ticks.
    Oldest,
    /// The tick at which the end of a task was put in that it passed on last; 0: it did not yet.
    Ended,
}

/// Messages that left a stage and that nobody recorded yet, at most.
pub const NOTES: usize = 32;
/// Words of such a note: entries, tick, whose it is, data.
pub const NOTE: usize = 2 * HEADS + 4;
/// How many were put, and how many taken, in front of them: on lines of their own, since different cores write them.
const NOTED: usize = 2 * LINE;
const OF_STAGE: usize = NOTED + NOTES * NOTE;

/// What others than the first core are told.
pub(crate) const ORDER: usize = LEFT + MAX_STAGES * OF_STAGE;

/// All of it, without buffers.
pub const WORDS: usize = (ORDER + order::WORDS).next_multiple_of(LINE);
/// The same in cache lines: where buffers begin.
pub const BUFFERS: usize = WORDS / LINE;

const _: () = assert!(MAX_STAGES <= 64 && MAX_PIPES <= 64 && Count::Ended as usize + 1 < LINE);

/// The tick at which the stages of a pipe are released first; 0: not yet.
#[must_use]
pub const fn start(pipe: usize) -> usize {
    STARTS + pipe % MAX_PIPES
}

/// The start of a partition that knows what it was asked for, by its number in the repository; 0: nothing was.
#[must_use]
pub const fn epoch(through: usize) -> usize {
    EPOCHS + through % MAX_THROUGH
}

/// What is counted of a stage.
#[must_use]
pub const fn count(stage: usize, what: Count) -> usize {
    COUNTS + stage % MAX_STAGES * LINE + what as usize
}

/// How many notes were put at a stage, how many were taken, and the notes.
#[must_use]
pub const fn notes(stage: usize) -> (usize, usize, Range<usize>) {
    let at = LEFT + stage % MAX_STAGES * OF_STAGE;
    (at, at + LINE, at + NOTED..at + OF_STAGE)
}

/// The edges between cores of a partition, by their places among all crossings of its pipes, with how messages wait there.
pub fn within<'b>(pipes: Pipes<'b>) -> impl Iterator<Item = (usize, Kind)> + use<'b> {
    let within = pipes.crossings.iter().enumerate();
    let within = within.filter(|(_, crossing)| crossing.is_within());
    within.filter_map(move |(number, crossing)| {
        let to = crossing.to as usize;
        let (pipe, _) = pipes.each().find(|(_, stages)| stages.contains(&to))?;
        Some((number, Kind::before(pipe, pipes.stages.get(to)?)))
    })
}

/// Where buffers lie one behind the other: the first line and the bytes of each; nothing from one on that is larger than can be.
pub fn buffers(kinds: impl IntoIterator<Item = Kind>) -> impl Iterator<Item = (usize, usize)> {
    let mut line = WORDS / LINE;
    let sized = kinds.into_iter().map_while(Kind::bytes);
    sized.map(move |bytes| {
        let at = line;
        line += bytes.div_ceil(LINE_BYTES);
        (at, bytes)
    })
}

/// Bytes of all of it with such buffers, and so many for those that are typed; nothing where one is larger than can be.
#[must_use]
pub fn bytes(kinds: &[Kind], spare: usize) -> Option<u64> {
    let placed = buffers(kinds.iter().copied());
    let (count, end) = placed.fold((0, WORDS / LINE), |(count, _), (line, bytes)| {
        (count + 1, line + bytes.div_ceil(LINE_BYTES))
    });
    let spare = spare.next_multiple_of(LINE_BYTES);
    (count == kinds.len()).then_some((end * LINE_BYTES + spare) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const COUNTED: [Count; 7] = [
        Count::Jobs,
        Count::Expiries,
        Count::Overruns,
        Count::Dropped,
        Count::Fallbacks,
        Count::Oldest,
        Count::Ended,
    ];

    #[test]
    fn every_word_is_one_thing() {
        let mut seen = HashSet::new();
        let mut once = |word: usize| assert!(word < WORDS && seen.insert(word), "word {word}");
        (READY..=DISMISSED).for_each(&mut once);
        [TOLD, DONE, FAILED, STACK].into_iter().for_each(&mut once);
        (ORDER..ORDER + order::WORDS).for_each(&mut once);
        (0..MAX_PIPES).map(start).for_each(&mut once);
        (0..MAX_THROUGH).map(epoch).for_each(&mut once);
        for stage in 0..MAX_STAGES {
            COUNTED.iter().for_each(|&what| once(count(stage, what)));
            let (put, taken, notes) = notes(stage);
            assert_ne!(put / LINE, taken / LINE, "stage {stage}");
            assert_eq!(notes.len(), NOTES * NOTE);
            [put, taken].into_iter().chain(notes).for_each(&mut once);
        }
    }

    #[test]
    fn buffers_lie_behind_the_words_and_beside_each_other() {
        let kinds = [
            Kind::Newest,
            Kind::Each(1),
            Kind::Each(100),
            Kind::Newest,
            Kind::Each(7),
        ];
        let placed: Vec<_> = buffers(kinds).collect();
        assert_eq!(placed.len(), kinds.len());
        let mut end = WORDS * 8;
        for ((line, bytes), kind) in placed.into_iter().zip(kinds) {
            assert!(line * LINE_BYTES >= end, "{kind:?}");
            assert_eq!(Some(bytes), kind.bytes());
            end = line * LINE_BYTES + bytes;
        }
        let all = bytes(&kinds, 0).expect("a size");
        assert!((end as u64..end as u64 + LINE_BYTES as u64).contains(&all));
        assert_eq!(bytes(&kinds, 65), Some(all + 128));
        assert_eq!(bytes(&[], 0), Some(WORDS as u64 * 8));
    }
}
