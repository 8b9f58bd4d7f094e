//! Validation of a client's request to run stages
//!
//! The request may contain any bytes. A validated request has valid numbers, edges that are buffers
//! of the channel or lie between stages here, and a valid start. Whether functions, threads and
//! time exist is checked by the runtime.

use crate::link::Shape;
use crate::message::{HEADS, content_bytes};
use crate::pace::MESSAGES;
use crate::request::{PLACES, buffer_of};
use crate::work::ENDS;
use bulkhead_abi::NAME_LEN;
use bulkhead_abi::pipe::{Crossing, MAX_MESSAGE, Pipe, Pipes, Stage};
use bulkhead_abi::repository::MAX_STAGES;
use core::fmt;

/// Longest period, nanoseconds: a day, as for static pipes.
const LONGEST_NS: u64 = 86_400_000_000_000;

/// A pipe with stages to be run here.
#[derive(Clone, Copy, Debug)]
pub struct DeployRequest<'b> {
    /// Name and guarantees.
    pub pipe: &'b Pipe,
    stages: &'b [Stage],
    crossings: &'b [Crossing],
}

/// Reason for which a request is invalid. Stages are named by their functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// There is no pipe, or more than one, or none of its stages is here.
    NoPipe,
    /// A stage without a producer or a consumer.
    End([u8; NAME_LEN]),
    /// A stage on another core than the first of this partition.
    Core([u8; NAME_LEN]),
    /// A stage with an invalid budget, period or number of messages.
    Numbers([u8; NAME_LEN]),
    /// A stage with too many producers or consumers.
    Ends([u8; NAME_LEN]),
    /// A stage with a remote edge that has no buffer of its own in the channel.
    Buffer([u8; NAME_LEN]),
    /// A stage with a remote edge and long messages.
    Long([u8; NAME_LEN]),
    /// A stage with messages of another size than those before it, or too long ones.
    Messages([u8; NAME_LEN]),
}

impl fmt::Display for Unfit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (function, what) = match self {
            Self::NoPipe => return out.write_str("it is no pipe"),
            Self::End(function) => (function, "is fed by nothing, or leads nowhere"),
            Self::Core(function) => (
                function,
                "is on another core than the first of its partition",
            ),
            Self::Numbers(function) => (function, "has no budget that can be counted with"),
            Self::Ends(function) => (function, "feeds, or is fed by, more than 4 stages"),
            Self::Buffer(function) => (function, "has no buffer"),
            Self::Long(function) => (
                function,
                "has messages of more than 16 bytes, which only pipes of the description carry to another partition",
            ),
            Self::Messages(function) => (
                function,
                "reads messages of another size than are written before it",
            ),
        };
        write!(out, "`{}` {what}", bulkhead_abi::name_text(function))
    }
}

const _: () = assert!(ENDS == 4, "as is said");

impl<'b> DeployRequest<'b> {
    /// Validates aligned `bytes`, for a channel with so many buffers.
    ///
    /// # Errors
    /// The reason for which the request is invalid.
    pub fn read(bytes: &'b [u8], buffers: usize) -> Result<Self, Unfit> {
        let packed = Pipes::read(bytes).ok_or(Unfit::NoPipe)?;
        let [pipe] = packed.pipes else {
            return Err(Unfit::NoPipe);
        };
        let request = Self {
            pipe,
            stages: packed.stages,
            crossings: packed.crossings,
        };
        let heads = request.stages.iter().filter(|stage| stage.from == 0);
        let sound = pipe.stages as usize == request.stages.len()
            && request.stages.len() <= MAX_STAGES
            && pipe.fifo <= 1
            && heads.count() <= HEADS
            && request.here().next().is_some();
        if !sound {
            return Err(Unfit::NoPipe);
        }
        for (place, stage) in request.here() {
            request.check(place, stage, buffers)?;
        }
        Ok(request)
    }

    fn check(&self, place: usize, stage: &Stage, buffers: usize) -> Result<(), Unfit> {
        let function = stage.function;
        let (writers, readers) = (self.writers(place).count(), self.readers(place).count());
        let last = self.stages.last().is_some_and(|last| last.to == stage.to);
        let counted = 1..=MESSAGES as u32;
        let budget = stage.wcet_ns.checked_mul(stage.messages.into());
        let numbers = counted.contains(&stage.messages)
            && (1..=LONGEST_NS).contains(&stage.period_ns)
            && (1..=stage.period_ns).contains(&stage.capacity_ns)
            && budget.is_some_and(|budget| budget <= stage.capacity_ns)
            && stage.buffer != 0
            && (stage.from != 0
                || self.pipe.fifo == 0
                || (1..=LONGEST_NS).contains(&self.pipe.interval_ns));
        let remote = || {
            let edges = self.writers(place).map(|from| (from, place));
            let edges = edges.chain(self.readers(place).map(|to| (place, to)));
            edges.filter(|edge| !self.is_between(*edge))
        };
        let is_long = |bytes: &u32| content_bytes(*bytes) != 0;
        let is_long = stage.message_bytes.iter().any(is_long) && remote().next().is_some();
        let has_buffers = remote().all(|edge| self.has_own(edge, buffers));
        let is_one_size = |from: usize| {
            let writer = self.stages.get(from);
            writer.is_some_and(|writer| writer.message_bytes[1] == stage.message_bytes[0])
        };
        let has_sizes = stage
            .message_bytes
            .iter()
            .all(|bytes| *bytes <= MAX_MESSAGE)
            && self.writers(place).all(is_one_size);
        let problems = [
            (
                stage.from != 0 && writers == 0 || (readers == 0) != last,
                Unfit::End(function),
            ),
            (stage.core != 0, Unfit::Core(function)),
            (!numbers, Unfit::Numbers(function)),
            (writers.max(readers) > ENDS, Unfit::Ends(function)),
            (!has_buffers, Unfit::Buffer(function)),
            (is_long, Unfit::Long(function)),
            (!has_sizes, Unfit::Messages(function)),
        ];
        let found = problems.into_iter().find(|(wrong, _)| *wrong);
        found.map_or(Ok(()), |(_, unfit)| Err(unfit))
    }

    /// All stages, in an order in which data flow.
    #[must_use]
    pub const fn stages(&self) -> &'b [Stage] {
        self.stages
    }

    /// Stages to be run here, with their indices.
    pub fn here(&self) -> impl Iterator<Item = (usize, &'b Stage)> + use<'b> {
        let all = self.stages.iter().enumerate();
        all.filter(|(_, stage)| stage.is_here())
    }

    /// Returns whether a first stage is to run here.
    #[must_use]
    pub fn begins_here(&self) -> bool {
        self.here().any(|(_, stage)| stage.from == 0)
    }

    /// Shapes of the buffers between stages here.
    pub fn between(&self) -> impl Iterator<Item = Shape> {
        self.here().flat_map(move |(to, reader)| {
            let writers = self
                .writers(to)
                .filter(move |&from| self.is_between((from, to)));
            writers.map(|_| self.shape(reader))
        })
    }

    /// Last stages to be run here, by index.
    pub fn tails(&self) -> impl Iterator<Item = usize> {
        let here = self.here().map(|(place, _)| place);
        here.filter(|&place| self.readers(place).next().is_none())
    }

    /// Edges between stages here and in other partitions: the buffer of the channel, and the
    /// indices of writer and reader.
    pub fn crossings(&self) -> impl Iterator<Item = (usize, [usize; 2])> {
        let all =
            (0..self.stages.len()).flat_map(|to| self.writers(to).map(move |from| (from, to)));
        all.filter_map(|(from, to)| Some((self.buffer((from, to))?, [from, to])))
            .filter(|(_, [from, to])| self.is_here(*from) != self.is_here(*to))
    }

    fn shape(&self, reader: &Stage) -> Shape {
        Shape::before(self.pipe, reader)
    }

    fn writers(&self, to: usize) -> impl Iterator<Item = usize> + use<'b> {
        let from = self.stages.get(to).map(|reader| reader.from);
        let before = self.stages.iter().enumerate().take(to);
        let writers = before.filter(move |(_, writer)| writer.to != 0 && Some(writer.to) == from);
        writers.map(|(place, _)| place)
    }

    fn readers(&self, from: usize) -> impl Iterator<Item = usize> + use<'b> {
        let to = self.stages.get(from).map(|writer| writer.to);
        let behind = self.stages.iter().enumerate().skip(from + 1);
        let readers = behind.filter(move |(_, reader)| reader.from != 0 && Some(reader.from) == to);
        readers.map(|(place, _)| place)
    }

    fn is_here(&self, place: usize) -> bool {
        self.stages.get(place).is_some_and(Stage::is_here)
    }

    fn is_between(&self, (from, to): (usize, usize)) -> bool {
        self.is_here(from) && self.is_here(to)
    }

    /// The buffer of an edge, if it has exactly one crossing.
    fn buffer(&self, (from, to): (usize, usize)) -> Option<usize> {
        let is_it = |one: &&Crossing| (one.from as usize, one.to as usize) == (from, to);
        let mut crossings = self.crossings.iter().filter(is_it);
        let (only, more) = (crossings.next()?, crossings.next());
        buffer_of(only).filter(|_| more.is_none())
    }

    /// Returns whether an edge has a buffer of the channel that no other edge uses and that is
    /// large enough.
    fn has_own(&self, edge: (usize, usize), buffers: usize) -> bool {
        let Some(number) = self.buffer(edge).filter(|&number| number < buffers) else {
            return false;
        };
        let reader = self.stages.get(edge.1);
        let waits = reader.is_some_and(|one| self.pipe.fifo == 0 || one.buffer <= PLACES);
        let mut all = self.crossings.iter().filter_map(buffer_of);
        waits && all.by_ref().filter(|&other| other == number).count() == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Kind;
    use crate::request::{MESSAGE_BYTES, Packed, Request, buffer_name};
    use bulkhead_abi::name_field;
    use bulkhead_abi::pipe::NONE;
    use zerocopy::IntoBytes;

    const BUFFERS: usize = 8;

    fn stage(function: &str, [from, to]: [u32; 2], core: u32) -> Stage {
        Stage {
            function: name_field(function),
            from,
            to,
            core,
            messages: 2,
            buffer: 3,
            wcet_ns: 100,
            capacity_ns: 200,
            period_ns: 10_000,
            ..Stage::default()
        }
    }

    fn crossing([from, to]: [u32; 2], buffer: usize) -> Crossing {
        Crossing {
            channel: buffer_name(buffer),
            from,
            to,
        }
    }

    /// `sample | (filter | mix) | emit`, with the middle here.
    fn flow() -> (Pipe, Vec<Stage>, Vec<Crossing>) {
        let stages = vec![
            stage("sample", [0, 1], NONE),
            stage("filter", [1, 2], 0),
            stage("mix", [2, 3], 0),
            stage("emit", [3, 4], NONE),
        ];
        let pipe = Pipe {
            name: name_field("extra"),
            stages: 4,
            fifo: 1,
            ..Pipe::default()
        };
        (pipe, stages, vec![crossing([0, 1], 4), crossing([2, 3], 7)])
    }

    /// Behind the head of its request, in aligned memory.
    fn packed((pipe, stages, crossings): &(Pipe, Vec<Stage>, Vec<Crossing>)) -> Vec<u64> {
        let stages = stages.iter().copied();
        let crossings = crossings.iter().copied();
        let packed = Packed::run(1, pipe, stages, crossings, core::iter::empty());
        let bytes = &packed.message()[size_of::<Request>()..];
        let words = bytes.chunks_exact(8);
        words
            .map(|word| u64::from_ne_bytes(word.try_into().expect("a word")))
            .collect()
    }

    fn why(flow: &(Pipe, Vec<Stage>, Vec<Crossing>)) -> Unfit {
        let words = packed(flow);
        let read = DeployRequest::read(words.as_bytes(), BUFFERS);
        read.map(|_| ()).expect_err("unfit")
    }

    #[test]
    fn stages_between_those_of_the_requesting_partition_run() {
        let words = packed(&flow());
        let request = DeployRequest::read(words.as_bytes(), BUFFERS).expect("fits");
        let here: Vec<_> = request.here().map(|(place, _)| place).collect();
        assert_eq!(here, [1, 2]);
        assert_eq!(
            request.between().collect::<Vec<_>>(),
            [Shape::from(Kind::Each(3))]
        );
        let crossings: Vec<_> = request.crossings().collect();
        assert_eq!(crossings, [(4, [0, 1]), (7, [2, 3])]);
    }

    /// Intervals that are too long, or of four-slot buffers, are rejected.
    #[test]
    fn what_begins_here_is_run() {
        for (fifo, interval_ns, runs) in [(1, 10_000, true), (1, u64::MAX, false), (0, 0, true)] {
            let (mut pipe, mut stages, mut crossings) = flow();
            (pipe.fifo, pipe.interval_ns) = (fifo, interval_ns);
            (stages[0].core, stages[1].core) = (0, NONE);
            crossings.push(crossing([1, 2], 1));
            let words = packed(&(pipe, stages, crossings));
            let read = DeployRequest::read(words.as_bytes(), BUFFERS);
            assert_eq!(
                read.map(|request| request.begins_here()).ok(),
                runs.then_some(true)
            );
        }
    }

    #[test]
    fn what_ends_here_is_run() {
        let (mut pipe, mut stages, mut crossings) = flow();
        assert_eq!(wanted_tails(&(pipe, stages.clone(), crossings.clone())), []);
        stages.pop();
        crossings.pop();
        pipe.stages = 3;
        assert_eq!(wanted_tails(&(pipe, stages, crossings)), [2]);
    }

    fn wanted_tails(flow: &(Pipe, Vec<Stage>, Vec<Crossing>)) -> Vec<usize> {
        let words = packed(flow);
        let request = DeployRequest::read(words.as_bytes(), BUFFERS).expect("fits");
        request.tails().collect()
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let named = |wrong: fn([u8; NAME_LEN]) -> Unfit| wrong(name_field("filter"));
        type Change = fn(&mut (Pipe, Vec<Stage>, Vec<Crossing>));
        let cases: [(Change, Unfit); 19] = [
            (|all| all.0.stages = 3, Unfit::NoPipe),
            (|all| all.0.fifo = 2, Unfit::NoPipe),
            (
                |all| all.1.iter_mut().for_each(|one| one.core = NONE),
                Unfit::NoPipe,
            ),
            (|all| all.1[1].from = 0, named(Unfit::Numbers)),
            (|all| all.1[1].to = 4, Unfit::End(name_field("mix"))),
            (|all| all.1[1].to = 9, named(Unfit::End)),
            (|all| all.1[1].core = 1, named(Unfit::Core)),
            (|all| all.1[1].message_bytes[1] = 17, named(Unfit::Long)),
            (
                |all| all.1[1].message_bytes[1] = 15,
                Unfit::Messages(name_field("mix")),
            ),
            (
                |all| {
                    all.1[1].message_bytes[1] = MAX_MESSAGE + 1;
                    all.1[2].message_bytes[0] = MAX_MESSAGE + 1;
                },
                named(Unfit::Long),
            ),
            (|all| all.1[1].messages = 0, named(Unfit::Numbers)),
            (|all| all.1[1].messages = 17, named(Unfit::Numbers)),
            (|all| all.1[1].period_ns = u64::MAX, named(Unfit::Numbers)),
            (|all| all.1[1].capacity_ns = 10_001, named(Unfit::Numbers)),
            (|all| all.1[1].wcet_ns = 101, named(Unfit::Numbers)),
            (
                |all| all.2[0] = crossing([0, 1], BUFFERS),
                named(Unfit::Buffer),
            ),
            (|all| all.2[0] = crossing([0, 1], 7), named(Unfit::Buffer)),
            (|all| all.1[1].buffer = PLACES + 1, named(Unfit::Buffer)),
            (|all| _ = all.2.remove(0), named(Unfit::Buffer)),
        ];
        for (index, (change, expected)) in cases.into_iter().enumerate() {
            let mut flow = flow();
            change(&mut flow);
            let found = why(&flow);
            assert_eq!(found, expected, "case {index}");
            assert!(found.to_string().len() > 10);
        }
        let mut wide = flow();
        for _ in 0..4 {
            wide.1.insert(0, stage("sample", [5, 1], NONE));
        }
        wide.0.stages = 8;
        assert_eq!(why(&wide), named(Unfit::Ends));
        assert_eq!(
            DeployRequest::read(&[], BUFFERS).map(|_| ()),
            Err(Unfit::NoPipe)
        );
    }

    /// A request with arbitrary words is rejected, or satisfies all guarantees of a validated one.
    #[test]
    fn no_words_are_too_odd() {
        let mut seed = 1u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 33
        };
        let (mut fit, whole) = (0, packed(&flow()));
        for _ in 0..20_000 {
            let mut words = whole.clone();
            for _ in 0..=random() % 3 {
                let at = random() as usize % words.len();
                let byte = random() % 8 * 8;
                words[at] = match random() % 3 {
                    0 => words[at] ^ 1 << (random() % 64),
                    1 => words[at] & !(0xff << byte) | (random() % 10) << byte,
                    _ => [0, u64::MAX, u64::from(NONE), 1 << 63][random() as usize % 4],
                };
            }
            words.truncate(words.len() - (random() % 20 / 19) as usize);
            let Ok(request) = DeployRequest::read(words.as_bytes(), BUFFERS) else {
                continue;
            };
            fit += 1;
            assert!(request.stages().len() <= MAX_STAGES);
            let mut buffers: Vec<_> = request.crossings().map(|(buffer, _)| buffer).collect();
            assert!(buffers.iter().all(|&buffer| buffer < BUFFERS));
            buffers.sort_unstable();
            buffers.dedup();
            assert_eq!(buffers.len(), request.crossings().count());
            for (place, stage) in request.here() {
                assert!(stage.capacity_ns <= stage.period_ns && stage.period_ns <= LONGEST_NS);
                let ends = request.crossings().map(|(_, edge)| edge);
                let ends = ends.filter(|edge| edge.contains(&place)).count();
                let inside = usize::from(request.tails().any(|tail| tail == place))
                    + request
                        .readers(place)
                        .filter(|&to| request.is_here(to))
                        .count();
                assert!(ends + inside > 0);
            }
        }
        assert!((100..20_000).contains(&fit), "{fit}");
        assert!(size_of_val(whole.as_slice()) < MESSAGE_BYTES);
    }
}
