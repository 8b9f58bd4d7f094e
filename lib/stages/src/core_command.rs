//! Commands of the first core's component to those of other cores: take up or release a run-time
//! pipe
//!
//! They are words of the shared memory ([`crate::shared_state`]), for one pipe at a time. They are
//! written while no core reads them, then the command is counted
//! ([`COMMANDS`](crate::shared_state::COMMANDS)), and they do not change until every other core has
//! acknowledged it ([`DONE`](crate::shared_state::DONE)). So a core may take as long as it needs,
//! without a copy.

use crate::shared_state::{BUFFERS, COMMAND};
use crate::work::ENDS;
use bulkhead_abi::pipe::{Pipe, Stage};
use bulkhead_abi::repository::{MAX_PIPES, MAX_STAGES};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Maximum number of edges between the stages of a pipe.
pub const EDGES: usize = MAX_STAGES * ENDS;

const PIPE_WORDS: usize = size_of::<Pipe>() / 8;
const STAGE_WORDS: usize = 1 + size_of::<Stage>() / 8;
/// Offsets: number of the pipe and counts, then the pipe, its stages, its edges.
const PIPE: usize = 1;
const STAGES: usize = PIPE + PIPE_WORDS;
const OF_EDGES: usize = STAGES + MAX_STAGES * STAGE_WORDS;
/// Words of a command.
pub(crate) const WORDS: usize = OF_EDGES + EDGES;

const _: () = assert!(size_of::<Pipe>().is_multiple_of(8) && size_of::<Stage>().is_multiple_of(8));

/// An edge with an end on another core than the first, and the place of its buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edge {
    /// Index of the writing stage.
    pub from: u8,
    /// Index of the reading stage.
    pub to: u8,
    /// Cache line of the buffer, counted behind the control words; for an edge to another
    /// partition: number of the buffer in the channel.
    pub line: u16,
    /// Number of the partition at the other end, counted from 1; 0: both ends are here.
    pub remote_partition: u8,
}

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreCommand {
    /// Number of the pipe.
    pub pipe: usize,
    /// Number of its stages, including those of other partitions; 0: the pipe is to be released.
    pub stages: usize,
    /// True if a static pipe runs again: its edges to other partitions are those of the
    /// description.
    pub is_static: bool,
    edges: usize,
}

/// Writes the command to run a pipe: its stages with their numbers, its edges, and whether it also
/// has those of its description.
pub fn run(
    number: usize,
    pipe: &Pipe,
    stages: impl Iterator<Item = (usize, Stage)>,
    (edges, is_static): (&[Edge], bool),
    mut put: impl FnMut(usize, u64),
) {
    let mut order = CoreCommand {
        pipe: number,
        stages: 0,
        is_static,
        edges: 0,
    };
    words(pipe, PIPE, &mut put);
    for (number, stage) in stages.take(MAX_STAGES) {
        let at = STAGES + order.stages * STAGE_WORDS;
        put(COMMAND + at, number as u64);
        words(&stage, at + 1, &mut put);
        order.stages += 1;
    }
    for edge in edges.iter().take(EDGES) {
        let [low, high] = edge.line.to_le_bytes();
        let bytes = [
            edge.from,
            edge.to,
            low,
            high,
            edge.remote_partition,
            0,
            0,
            0,
        ];
        put(COMMAND + OF_EDGES + order.edges, u64::from_le_bytes(bytes));
        order.edges += 1;
    }
    put(COMMAND, order.word());
}

/// Writes the command to release the pipe of that number.
pub fn forget(number: usize, mut put: impl FnMut(usize, u64)) {
    let order = CoreCommand {
        pipe: number,
        stages: 0,
        is_static: false,
        edges: 0,
    };
    put(COMMAND, order.word());
}

impl CoreCommand {
    /// Reads the command.
    #[must_use]
    pub fn read(word: impl Fn(usize) -> u64) -> Self {
        let [pipe, stages, edges, is_static, ..] = word(COMMAND).to_le_bytes().map(usize::from);
        Self {
            pipe: pipe % MAX_PIPES,
            stages: stages.min(MAX_STAGES),
            is_static: is_static != 0,
            edges: edges.min(EDGES),
        }
    }

    const fn word(self) -> u64 {
        (self.pipe | self.stages << 8 | self.edges << 16 | (self.is_static as usize) << 24) as u64
    }

    /// Its pipe.
    #[must_use]
    pub fn pipe(&self, word: impl Fn(usize) -> u64) -> Pipe {
        of_words(PIPE, word)
    }

    /// The stage at an index, with its number among all.
    #[must_use]
    pub fn stage(&self, place: usize, word: impl Fn(usize) -> u64) -> (usize, Stage) {
        let at = STAGES + place % MAX_STAGES * STAGE_WORDS;
        let number = word(COMMAND + at) as usize % MAX_STAGES;
        (number, of_words(at + 1, word))
    }

    /// Its edges.
    pub fn edges(&self, word: impl Fn(usize) -> u64) -> impl Iterator<Item = Edge> {
        (0..self.edges).map(move |index| {
            let [from, to, low, high, remote_partition, ..] =
                word(COMMAND + OF_EDGES + index).to_le_bytes();
            Edge {
                from,
                to,
                line: u16::from_le_bytes([low, high]),
                remote_partition,
            }
        })
    }
}

impl Edge {
    /// The first line of its buffer in the shared memory.
    #[must_use]
    pub const fn first_line(&self) -> usize {
        BUFFERS + self.line as usize
    }
}

/// Writes a value, word by word.
fn words<T: IntoBytes + Immutable>(value: &T, at: usize, put: &mut impl FnMut(usize, u64)) {
    for (index, word) in value.as_bytes().chunks_exact(8).enumerate() {
        let word = word.try_into().map_or(0, u64::from_le_bytes);
        put(COMMAND + at + index, word);
    }
}

/// Reads a value.
fn of_words<T: FromBytes + IntoBytes>(at: usize, word: impl Fn(usize) -> u64) -> T {
    let mut value = T::new_zeroed();
    for (index, place) in value.as_mut_bytes().chunks_exact_mut(8).enumerate() {
        place.copy_from_slice(&word(COMMAND + at + index).to_le_bytes());
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_state;
    use bulkhead_abi::name_field;
    use std::cell::RefCell;

    fn stage(number: usize) -> (usize, Stage) {
        let stage = Stage {
            function: name_field("filter"),
            core: number as u32 % 3,
            from: number as u32,
            to: number as u32 + 1,
            identifiers: [number as u16, 7],
            period_ns: u64::MAX - number as u64,
            ..Stage::default()
        };
        (MAX_STAGES - 1 - number, stage)
    }

    #[test]
    fn what_is_told_is_what_is_read() {
        let memory = RefCell::new(vec![u64::MAX; shared_state::WORDS]);
        let put = |at: usize, value| memory.borrow_mut()[at] = value;
        let word = |at: usize| memory.borrow()[at];
        let pipe = Pipe {
            name: name_field("a-name-of-sixtee"),
            stages: MAX_STAGES as u32,
            fifo: 1,
            interval_ns: 3,
            bound_ns: u64::MAX,
            max_age_ns: 5,
        };
        let edge = |index: usize| Edge {
            from: index as u8 % 24,
            to: 23,
            line: u16::MAX - index as u16,
            remote_partition: index as u8 % 5,
        };
        for count in [1, 7, MAX_STAGES] {
            let edges: Vec<_> = (0..EDGES.min(4 * count)).map(edge).collect();
            let is_static = count == 7;
            run(15, &pipe, (0..count).map(stage), (&edges, is_static), put);
            let order = CoreCommand::read(word);
            assert_eq!((order.pipe, order.stages), (15, count));
            assert_eq!(order.is_static, is_static);
            assert_eq!(order.pipe(word).as_bytes(), pipe.as_bytes());
            for place in 0..count {
                let (number, read) = order.stage(place, word);
                let (expected, stage) = stage(place);
                assert_eq!(number, expected);
                assert_eq!(read.as_bytes(), stage.as_bytes());
            }
            assert_eq!(order.edges(word).collect::<Vec<_>>(), edges);
        }
        forget(3, put);
        let order = CoreCommand::read(word);
        assert_eq!((order.pipe, order.stages, order.is_static), (3, 0, false));
        assert_eq!(order.edges(word).count(), 0);
    }

    /// Values beyond the limits do not overwrite other words.
    #[test]
    fn nothing_else_is_written() {
        let memory = RefCell::new(vec![0; shared_state::WORDS]);
        let put = |at: usize, value| memory.borrow_mut()[at] = value;
        let edges = [Edge {
            from: 1,
            to: 2,
            line: 3,
            remote_partition: 4,
        }; EDGES + 5];
        let pipe = Pipe::default();
        let stages = (0..MAX_STAGES + 3).map(|_| stage(5));
        run(1, &pipe, stages, (&edges, true), put);
        let mut all = memory.borrow().clone();
        all.drain(COMMAND..COMMAND + WORDS);
        assert!(all.iter().all(|word| *word == 0));
        let odd = CoreCommand::read(|_| u64::MAX);
        assert!(odd.pipe < MAX_PIPES && odd.stages <= MAX_STAGES);
        assert_eq!(odd.edges(|_| 0).count(), EDGES);
    }
}
