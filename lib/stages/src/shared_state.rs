//! Layout of the state that is shared by components with stages on several cores of a partition
//!
//! Each core has a component of its own for stages. This memory contains the state of pipes,
//! counters of stages, records of messages that left, the first core's commands
//! ([`crate::core_command`]), and behind them the buffers of edges between cores, with spare room
//! for run-time pipes (`doc/design/pipes-deployment.md`). It is zero at first. A component that
//! runs all stages of a partition has these words in its own memory, without buffers.

use crate::core_command;
use crate::link::Shape;
use crate::message::HEADS;
use bulkhead_abi::pipe::Pipes;
use bulkhead_abi::repository::{MAX_PIPES, MAX_REMOTE_PARTITIONS, MAX_STAGES};
use core::ops::Range;

/// Words and bytes of a cache line.
const LINE: usize = 8;
const LINE_BYTES: usize = 64;

/// Cores with a component that has created all its stages, by bit.
pub const READY: usize = 0;
/// Stopped pipes, by bit.
pub const STOPPED: usize = 1;
/// Stopped pipes that an overrun halted: messages in them are dropped.
pub const HALTED: usize = 2;
/// Stopped pipes with stages that are released once they rest.
pub const RETIRED: usize = 3;
/// Stages that rest, by bit.
pub const RESTING: usize = 4;
/// Messages that left and were not recorded because the queue was full.
pub const UNNOTED: usize = 5;
/// Stages with a thread that has no pipe, by bit.
pub const VACANT: usize = 6;
/// Pipes with a lost end of task, by bit: each of their stages ends on its own.
pub const DISMISSED: usize = 7;
/// Number of commands to other cores than the first; these words have cache lines of their own,
/// because the cores poll them.
pub const COMMANDS: usize = LINE;
/// Cores that have executed the last command, by bit.
pub const DONE: usize = 2 * LINE;
/// Cores that failed to execute it.
pub const FAILED: usize = 2 * LINE + 1;
/// Maximum stack usage of a command thread, bytes.
pub const STACK: usize = 2 * LINE + 2;
const EPOCHS: usize = 3 * LINE;
const STARTS: usize = EPOCHS + MAX_REMOTE_PARTITIONS.next_multiple_of(LINE);
const COUNTS: usize = STARTS + MAX_PIPES.next_multiple_of(LINE);
/// Words of the counters of a stage.
const COUNTERS: usize = 2 * LINE;
const LEFT: usize = COUNTS + MAX_STAGES * COUNTERS;

/// A counter of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Jobs.
    Jobs,
    /// Number of exhausted budgets.
    Expiries,
    /// Number of overruns.
    Overruns,
    /// Messages that found no room in time.
    Dropped,
    /// Jobs that ran the fallback.
    Fallbacks,
    /// Greatest age of the input of a fallback, ticks.
    Oldest,
    /// Tick at which the end of a task entered the pipe that the stage passed on last; 0: none yet.
    Ended,
    /// Jobs without output, because the component of their function did not work.
    Failed,
}

/// Capacity of a stage's queue of records.
pub const NOTES: usize = 32;
/// Words of a record: entries, tick, position, data.
pub const NOTE: usize = 2 * HEADS + 4;
/// Numbers of written and taken records, in front of them: on lines of their own, because different
/// cores write them.
const NOTED: usize = 2 * LINE;
const OF_STAGE: usize = NOTED + NOTES * NOTE;

/// First word of the commands.
pub(crate) const COMMAND: usize = LEFT + MAX_STAGES * OF_STAGE;

/// Words of all this, without buffers.
pub const WORDS: usize = (COMMAND + core_command::WORDS).next_multiple_of(LINE);
/// In cache lines: the first line of buffers.
pub const BUFFERS: usize = WORDS / LINE;

const _: () = assert!(MAX_STAGES <= 64 && MAX_PIPES <= 64 && Count::Failed as usize + 1 < COUNTERS);

/// Word with the tick at which the stages of a pipe are released first; 0: not yet.
#[must_use]
pub const fn start(pipe: usize) -> usize {
    STARTS + pipe % MAX_PIPES
}

/// Word with the epoch in which a partition knows the requests, by its number in the repository; 0:
/// nothing was requested.
#[must_use]
pub const fn epoch(remote_partition: usize) -> usize {
    EPOCHS + remote_partition % MAX_REMOTE_PARTITIONS
}

/// Word of a counter of a stage.
#[must_use]
pub const fn count(stage: usize, what: Count) -> usize {
    COUNTS + stage % MAX_STAGES * COUNTERS + what as usize
}

/// Words with the numbers of written and taken records of a stage, and range of the records.
#[must_use]
pub const fn notes(stage: usize) -> (usize, usize, Range<usize>) {
    let at = LEFT + stage % MAX_STAGES * OF_STAGE;
    (at, at + LINE, at + NOTED..at + OF_STAGE)
}

/// The edges between cores of a partition, by index among all crossings of its pipes, with the
/// shapes of their buffers.
pub fn within<'b>(pipes: Pipes<'b>) -> impl Iterator<Item = (usize, Shape)> + use<'b> {
    let within = pipes.crossings.iter().enumerate();
    let within = within.filter(|(_, crossing)| crossing.is_within());
    within.filter_map(move |(number, crossing)| {
        let to = crossing.to as usize;
        let (pipe, _) = pipes.each().find(|(_, stages)| stages.contains(&to))?;
        Some((number, Shape::before(pipe, pipes.stages.get(to)?)))
    })
}

/// First line and bytes of consecutive buffers; ends before one that is too large.
pub fn buffers(shapes: impl IntoIterator<Item = Shape>) -> impl Iterator<Item = (usize, usize)> {
    let mut line = WORDS / LINE;
    let sized = shapes.into_iter().map_while(Shape::bytes);
    sized.map(move |bytes| {
        let at = line;
        line += bytes.div_ceil(LINE_BYTES);
        (at, bytes)
    })
}

/// Bytes of all this with such buffers, and spare bytes for run-time pipes; `None` if a buffer is
/// too large.
#[must_use]
pub fn bytes(shapes: &[Shape], spare: usize) -> Option<u64> {
    let placed = buffers(shapes.iter().copied());
    let (count, end) = placed.fold((0, WORDS / LINE), |(count, _), (line, bytes)| {
        (count + 1, line + bytes.div_ceil(LINE_BYTES))
    });
    let spare = spare.next_multiple_of(LINE_BYTES);
    (count == shapes.len()).then_some((end * LINE_BYTES + spare) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Kind;
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
        [COMMANDS, DONE, FAILED, STACK]
            .into_iter()
            .for_each(&mut once);
        (COMMAND..COMMAND + core_command::WORDS).for_each(&mut once);
        (0..MAX_PIPES).map(start).for_each(&mut once);
        (0..MAX_REMOTE_PARTITIONS).map(epoch).for_each(&mut once);
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
        let long = Shape {
            kind: Kind::Each(7),
            message: 100,
        };
        let [newest, one, many] = [Kind::Newest, Kind::Each(1), Kind::Each(100)].map(Shape::from);
        let shapes = [newest, one, many, newest, long];
        let placed: Vec<_> = buffers(shapes).collect();
        assert_eq!(placed.len(), shapes.len());
        let mut end = WORDS * 8;
        for ((line, bytes), shape) in placed.into_iter().zip(shapes) {
            assert!(line * LINE_BYTES >= end, "{shape:?}");
            assert_eq!(Some(bytes), shape.bytes());
            end = line * LINE_BYTES + bytes;
        }
        let all = bytes(&shapes, 0).expect("a size");
        assert!((end as u64..end as u64 + LINE_BYTES as u64).contains(&all));
        assert_eq!(bytes(&shapes, 65), Some(all + 128));
        assert_eq!(bytes(&[], 0), Some(WORDS as u64 * 8));
    }
}
