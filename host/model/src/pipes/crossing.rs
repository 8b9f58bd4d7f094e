//! Edges of pipes between partitions: derived channels
//!
//! If a stage of one partition feeds one of another, the buffer between them is a channel: four
//! slots or a ring of the solver's size, as within a partition. It has no doorbell; its reader
//! polls (`doc/design/pipes-deployment.md`). Between cores of an rtos partition the buffer lies in
//! memory that their components share (`super::shared_state`).

use crate::ids::ChannelId;
use crate::pipes::pipe::{Crossing, Pipe};
use crate::system::{Channel, End};
use bulkhead_abi::NAME_LEN;
use bulkhead_abi::guest::ChannelKind;
use bulkhead_stages::message::BYTES;
use bulkhead_tpipe::language::{Buffering, SOURCE};

/// Finds those of pipes that are run; their channels stand behind the `described` ones.
pub(super) fn find(pipes: &mut [Pipe], first: usize) {
    let mut next = first;
    for pipe in pipes.iter_mut().filter(|pipe| pipe.is_run()) {
        let mut channel = || {
            next += 1;
            ChannelId(next - 1)
        };
        let crossing = |(from, to)| Crossing {
            from,
            to,
            channel: (!pipe.is_within(from, to)).then(&mut channel),
        };
        pipe.crossings = edges(pipe).map(crossing).collect();
    }
}

/// Pairs of stages in different partitions or on different cores of one, the one that feeds the
/// other first.
fn edges(pipe: &Pipe) -> impl Iterator<Item = (usize, usize)> {
    let stages = &pipe.solved.stages;
    let both = move |to: usize| (0..to).map(move |from| (from, to));
    let feeds =
        |from: usize, to: usize| stages[to].from != SOURCE && stages[from].to == stages[to].from;
    let is_crossing = |from: usize, to: usize| {
        let [one, other] = [from, to].map(|stage| pipe.places[stage].partition);
        one != other || pipe.is_within(from, to)
    };
    let all = (0..stages.len()).flat_map(both);
    all.filter(move |&(from, to)| feeds(from, to) && is_crossing(from, to))
}

/// The channels, in the order of their numbers.
pub(crate) fn channels(pipes: &[Pipe]) -> impl Iterator<Item = Channel> {
    let numbered = pipes.iter().enumerate();
    numbered.flat_map(|(number, pipe)| {
        let all = pipe.crossings.iter();
        let all = all.filter(|crossing| crossing.channel.is_some());
        all.map(move |crossing| channel(pipe, number, crossing))
    })
}

fn channel(pipe: &Pipe, number: usize, crossing: &Crossing) -> Channel {
    let shape = pipe.shape(crossing.to);
    let end = |stage: usize| End::Partition(pipe.places[stage].partition);
    Channel {
        name: name(&pipe.name, number, crossing),
        span: pipe.span.clone(),
        kind: match pipe.solved.buffering {
            Buffering::FourSlot => ChannelKind::FourSlot,
            Buffering::Fifo => ChannelKind::Ring,
        },
        from: end(crossing.from),
        to: vec![end(crossing.to)],
        message: BYTES as u32,
        messages: shape.slots(),
        contents: shape.content_bytes() as u64,
        reader_writes: true,
        doorbell: None,
        reply_doorbell: None,
        key: None,
    }
}

/// `PIPE.FROM-TO`, counted from 1; the pipe's number, which starts no name, instead of a name that
/// is too long. A dot is in no name that is written.
fn name(pipe: &str, number: usize, crossing: &Crossing) -> String {
    let edge = format!(".{}-{}", crossing.from + 1, crossing.to + 1);
    match pipe.len() + edge.len() < NAME_LEN {
        true => format!("{pipe}{edge}"),
        false => format!("{}{edge}", number + 1),
    }
}
