//! Buffers between stages of static pipes in different partitions
//!
//! The tool derives a channel for each. They are kept as long as the program runs, because a
//! removed static pipe may run again.

use crate::remote_partition::{PeerRole, RemoteEdge};
use crate::runtime::{CORE, Failure};
use crate::stage::STAGES;
use bulkhead_abi::guest::ChannelEnd;
use bulkhead_abi::pipe::Crossing;
use bulkhead_component::Environment;
use bulkhead_guest::Home;
use bulkhead_slite::Mutex;
use bulkhead_stages::work::ENDS;

/// Maximum number of crossings.
const MOST: usize = ENDS * STAGES;

/// The pipe of each crossing, and the stages that it connects.
static ALL: [Mutex<Option<(usize, RemoteEdge)>>; MOST] = [const { Mutex::new(None) }; MOST];

/// The channel end of a crossing, if this component holds it.
pub(crate) fn end<'o>(env: &'o Environment, crossing: &Crossing) -> Option<&'o ChannelEnd> {
    let mut ends = env.channels().iter();
    ends.find(|end| end.name == crossing.channel && end.ipa != 0)
}

/// Opens the channel of a crossing between two stages of a pipe, given by their indices, and
/// keeps it.
pub(crate) fn open(
    env: &Environment,
    crossing: &Crossing,
    pipe: usize,
    [from, to]: [usize; 2],
) -> Result<(), Failure> {
    let wrong = |reason| Failure::Pipe(crossing.channel, reason);
    let missing = || wrong("the component does not hold this channel");
    let end = end(env, crossing).ok_or_else(missing)?;
    let edge = RemoteEdge {
        from,
        to,
        region: Home::memory(env, end).map_err(|_| missing())?,
        link: env
            .peer_link(end)
            .ok_or(wrong("nobody has its other end"))?,
        role: PeerRole::Static,
    };
    let is_kept = |place: &Mutex<Option<_>>| {
        let kept = place.with(&CORE.threads, |place: &mut Option<_>| {
            let free = place.is_none();
            if free {
                *place = Some((pipe, edge));
            }
            free
        });
        kept.unwrap_or(false)
    };
    match ALL.iter().any(is_kept) {
        true => Ok(()),
        false => Err(wrong("there is no room for it")),
    }
}

/// The crossings of a pipe.
pub(crate) fn of_pipe(pipe: usize) -> impl Iterator<Item = RemoteEdge> {
    let all = ALL
        .iter()
        .filter_map(|place| place.with(&CORE.threads, |kept| *kept).ok().flatten());
    all.filter_map(move |(owner, edge)| (owner == pipe).then_some(edge))
}
