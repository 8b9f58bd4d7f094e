//! Buffers to and from stages of other partitions
//!
//! They are channels, which the tool derived. Nobody rings for a message: who reads looks at each of its periods.

use crate::Failure;
use bulkhead_abi::pipe::Crossing;
use bulkhead_component::Own;
use bulkhead_guest::{Home, Link};
use bulkhead_stages::link::{Input, Kind, Output};

/// The end that is here.
pub(crate) enum End {
    /// A stage here reads.
    Reads(Input),
    /// A stage here writes.
    Writes(Output),
}

/// Joins the buffer of a crossing, where whoever holds its other end is up once the link says so.
pub(crate) fn join(
    own: &Own,
    crossing: &'static Crossing,
    kind: Kind,
    reads: bool,
) -> Result<(End, Option<Link>), Failure> {
    let name = crossing.channel;
    let missing = || Failure::Pipe(name, "the component does not hold this channel");
    let end = own
        .channels()
        .iter()
        .find(|end| end.name == crossing.channel);
    let end = end.ok_or_else(missing)?;
    let region = Home::memory(own, end).map_err(|_| missing())?;
    let joined = match reads {
        true => Input::attach(kind, region).map(End::Reads),
        false => Output::attach(kind, region).map(End::Writes),
    };
    let joined = joined.ok_or(Failure::Pipe(name, "the channel is too small"))?;
    Ok((joined, own.peer_link(end)))
}
