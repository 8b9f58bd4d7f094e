//! Stages of run-time pipes that other partitions run
//!
//! The planner requests them (`bulkhead_stages::request`) over a channel for each such partition,
//! which contains the buffers as well. This module keeps the owner of each buffer, and the epoch in
//! which each partition answered. The planner alone writes both. A partition that restarts has lost
//! its state, so its stages are requested again.

use crate::client_pipes;
use crate::runtime::CORE;
use crate::shared_state::Word;
use crate::table::PIPES;
use bulkhead_abi::NAME_LEN;
use bulkhead_abi::pipe::Crossing;
use bulkhead_abi::repository::{
    MAX_REMOTE_PARTITIONS, RemotePartition as PackedPartition, Repository, long_name_text,
};
use bulkhead_abi::status::{LinkState, State};
use bulkhead_component::Environment;
use bulkhead_component::clock::{self, ticks};
use bulkhead_guest::{Home, Link};
use bulkhead_stages::core_command::Edge;
use bulkhead_stages::request::{self, CROSSINGS, Packed, Reply, Requester, TEXT_BYTES};
use bulkhead_stages::shared_state as layout;
use core::sync::atomic::Ordering::Relaxed;

/// Time limit of an answer, nanoseconds. The server polls 50 times a second.
const PATIENCE_NS: u64 = 2_000_000_000;
/// Interval at which the answer is polled, nanoseconds.
const PAUSE_NS: u64 = 5_000_000;

/// The partition has to be notified at its next start, in whatever epoch.
const NOT_REQUESTED: u64 = u64::MAX;
/// Epoch in which such a partition knows the requests; 0: nothing was requested.
const fn epoch(number: usize) -> Word {
    Word::at(layout::epoch(number))
}

/// The channel to a partition that runs stages for this one, or for which this one does.
#[derive(Clone, Copy)]
pub(crate) struct PeerChannel {
    pub(crate) region: bulkhead_buffers::Region<'static>,
    pub(crate) link: Link,
    pub(crate) buffers: usize,
}

/// Channels to all of them, by number in the repository.
pub(crate) type PeerChannels = [Option<PeerChannel>; MAX_REMOTE_PARTITIONS];

/// Opens the channels that this component has.
pub(crate) fn open_channels(env: &Environment, repository: &Repository<'_>) -> PeerChannels {
    let mut places = [None; MAX_REMOTE_PARTITIONS];
    for (place, remote) in places.iter_mut().zip(repository.remote_partitions) {
        *place = open_channel(env, remote);
    }
    places
}

/// Opens one channel, if this component has it.
pub(crate) fn open_channel(env: &Environment, remote: &PackedPartition) -> Option<PeerChannel> {
    let mut ends = env.channels().iter();
    let end = ends.find(|end| end.name == remote.channel)?;
    Some(PeerChannel {
        region: Home::memory(env, end).ok()?,
        link: env.peer_link(end)?,
        buffers: (remote.buffers as usize).min(CROSSINGS),
    })
}

/// Name of the partition with that address space: the first part of the names of its cores.
pub(crate) fn name_of<'b>(repository: &Repository<'b>, space: u32) -> &'b str {
    let mut cores = repository.cores.iter();
    let core = cores.find(|core| core.space == space);
    let name = core.map_or("?", |core| long_name_text(&core.name));
    name.split(':').next().unwrap_or(name)
}

/// Returns whether one of them is up and has restarted since a request.
pub(crate) fn has_any_restarted(places: &PeerChannels) -> bool {
    let mut all = places.iter().enumerate();
    all.any(|(number, place)| place.is_some_and(|place| has_restarted(&place.link, number)))
}

fn has_restarted(link: &Link, number: usize) -> bool {
    let LinkState { state, epoch } = link.read();
    let requested = requested_epoch(number);
    requested != 0 && state == State::Up && u64::from(epoch) != requested
}

fn requested_epoch(number: usize) -> u64 {
    epoch(number).load(Relaxed)
}

/// Returns whether the partition of that number is up in the epoch of the last request.
fn is_same_remote_start(link: &Link, number: usize) -> bool {
    let LinkState { state, epoch } = link.read();
    state == State::Up && u64::from(epoch) == requested_epoch(number)
}

/// Owner of a buffer: a pipe, and the stages that it connects.
#[derive(Clone, Copy)]
struct Owner {
    pipe: u8,
    from: u8,
    to: u8,
    /// Number by which the remote partition identifies the stages, once only that partition still
    /// holds the buffer.
    id: u64,
}

/// An edge of a pipe with one end in such a partition.
#[derive(Clone, Copy)]
pub(crate) struct RemoteEdge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) region: bulkhead_buffers::Region<'static>,
    pub(crate) link: Link,
    pub(crate) role: PeerRole,
}

/// The buffer of an edge to another partition, or nothing for other edges.
pub(crate) fn remote_edge(places: &PeerChannels, edge: Edge) -> Option<RemoteEdge> {
    let partition = usize::from(edge.remote_partition).checked_sub(1)?;
    let place = (*places.get(partition)?)?;
    Some(RemoteEdge {
        from: edge.from.into(),
        to: edge.to.into(),
        region: request::buffer(place.region, edge.line.into())?,
        link: place.link,
        role: PeerRole::Remote(partition),
    })
}

/// Role of the partition at the other end of an edge.
#[derive(Clone, Copy)]
pub(crate) enum PeerRole {
    /// The partition has stages of a static pipe, by its own description.
    Static,
    /// The partition with this number runs stages that this one requested.
    Remote(usize),
    /// The partition requested the stages that run here.
    Client,
}

impl PeerRole {
    /// Returns whether that partition runs its stages.
    pub(crate) fn is_there(self, link: &Link) -> bool {
        match self {
            Self::Static => link.is_up(),
            Self::Remote(number) => is_same_remote_start(link, number),
            Self::Client => client_pipes::is_same_client_start(link),
        }
    }
}

/// How a remote partition identifies a pipe.
#[derive(Clone, Copy)]
pub(crate) enum PipeRef<'n> {
    /// A run-time pipe, by the number of its request.
    Id(u64),
    /// A static pipe, by its name.
    Name(&'n [u8; NAME_LEN]),
}

/// Outcome of a request.
pub(crate) enum Outcome {
    Done,
    /// Rejected; the answer has the reason.
    Refused,
    /// The partition is not up.
    Down,
    /// There was no answer in time.
    Silent,
}

/// The planner's state for a partition that runs stages for this one.
struct RemotePartition {
    place: PeerChannel,
    asker: Requester,
    owners: [Option<Owner>; CROSSINGS],
}

/// The state for all of them.
pub(crate) struct RemotePartitions {
    all: [Option<RemotePartition>; MAX_REMOTE_PARTITIONS],
    /// The last answer and its length.
    text: [u8; TEXT_BYTES],
    length: usize,
}

impl RemotePartitions {
    pub(crate) fn new(places: &PeerChannels) -> Self {
        let other = |place: Option<PeerChannel>| {
            let place = place?;
            Some(RemotePartition {
                asker: Requester::attach(place.region)?,
                place,
                owners: [None; CROSSINGS],
            })
        };
        Self {
            all: places.map(other),
            text: [0; TEXT_BYTES],
            length: 0,
        }
    }

    /// The text of the last answer.
    pub(crate) fn answer_text(&self) -> &str {
        let text = self.text.get(..self.length).unwrap_or_default();
        let valid = text.utf8_chunks().next();
        valid.map_or("", |chunk| chunk.valid())
    }

    /// Number of free buffers.
    pub(crate) fn free(&self, number: usize) -> usize {
        let other = self.all.get(number).and_then(Option::as_ref);
        other.map_or(0, |other| {
            let owners = other.owners.iter().take(other.place.buffers);
            owners.filter(|owner| owner.is_none()).count()
        })
    }

    pub(crate) fn is_up(&self, number: usize) -> bool {
        let other = self.all.get(number).and_then(Option::as_ref);
        other.is_some_and(|other| other.place.link.is_up())
    }

    /// Reserves a buffer for an edge between two stages of a pipe. Returns whether one was free.
    pub(crate) fn take(&mut self, number: usize, pipe: usize, [from, to]: [usize; 2]) -> bool {
        let Some(other) = self.all.get_mut(number).and_then(Option::as_mut) else {
            return false;
        };
        let mut owners = other
            .owners
            .iter_mut()
            .enumerate()
            .take(other.place.buffers);
        let Some((buffer, owner)) = owners.find(|(_, owner)| owner.is_none()) else {
            return false;
        };
        let Some(region) = request::buffer(other.place.region, buffer) else {
            return false;
        };
        region.clear();
        *owner = Some(Owner {
            pipe: pipe as u8,
            from: from as u8,
            to: to as u8,
            id: 0,
        });
        true
    }

    /// Frees the buffers of a pipe.
    pub(crate) fn release(&mut self, number: usize, pipe: usize) {
        let other = self.all.get_mut(number).and_then(Option::as_mut);
        for owner in other.into_iter().flat_map(|other| &mut other.owners) {
            if owner.is_some_and(|owner| usize::from(owner.pipe) == pipe) {
                *owner = None;
            }
        }
    }

    /// Keeps the buffers of a removed pipe reserved until the remote partition reports that its
    /// stages have ended.
    pub(crate) fn orphan(&mut self, number: usize, pipe: usize, id: u64) {
        let other = self.all.get_mut(number).and_then(Option::as_mut);
        let owners = other.into_iter().flat_map(|other| &mut other.owners);
        for owner in owners.flatten() {
            if usize::from(owner.pipe) == pipe {
                (owner.pipe, owner.id) = (ORPHANED as u8, id);
            }
        }
    }

    /// Number of a removed pipe with stages that the remote partition has not reported as ended, if
    /// there is one.
    pub(crate) fn orphaned(&self, number: usize) -> Option<u64> {
        let mut owned = self.owned(number, ORPHANED);
        owned.next().map(|(_, owner)| owner.id)
    }

    /// Frees the buffers of such a pipe: its stages have ended.
    pub(crate) fn release_orphaned(&mut self, number: usize, id: u64) {
        let other = self.all.get_mut(number).and_then(Option::as_mut);
        for place in other.into_iter().flat_map(|other| &mut other.owners) {
            let is_it = |owner: &Owner| usize::from(owner.pipe) == ORPHANED && owner.id == id;
            *place = place.filter(|owner| !is_it(owner));
        }
    }

    /// Moves the buffers of one pipe to the number of another.
    pub(crate) fn hand(&mut self, [from, to]: [usize; 2]) {
        let owners = self
            .all
            .iter_mut()
            .flatten()
            .flat_map(|other| &mut other.owners);
        for owner in owners.flatten() {
            if usize::from(owner.pipe) == from {
                owner.pipe = to as u8;
            }
        }
    }

    /// Numbers of the partitions with buffers of a pipe.
    pub(crate) fn of_pipe(&self, pipe: usize) -> impl Iterator<Item = usize> + use<> {
        let has = |other: &Option<RemotePartition>| {
            let mut owners = other.iter().flat_map(|other| other.owners).flatten();
            owners.any(|owner| usize::from(owner.pipe) == pipe)
        };
        let bits = self.all.each_ref().map(has);
        (0..MAX_REMOTE_PARTITIONS).filter(move |&number| bits.get(number).is_some_and(|has| *has))
    }

    /// Edges of a pipe to one of them, with the numbers of their buffers.
    pub(crate) fn crossings(&self, number: usize, pipe: usize) -> impl Iterator<Item = Crossing> {
        self.owned(number, pipe).map(|(buffer, owner)| Crossing {
            channel: request::buffer_name(buffer),
            from: owner.from.into(),
            to: owner.to.into(),
        })
    }

    /// All edges of a pipe to any of them.
    pub(crate) fn edges(&self, pipe: usize) -> impl Iterator<Item = Edge> {
        (0..MAX_REMOTE_PARTITIONS).flat_map(move |partition| {
            let owned = self.owned(partition, pipe);
            owned.map(move |(buffer, owner)| Edge {
                from: owner.from,
                to: owner.to,
                line: buffer as u16,
                remote_partition: partition as u8 + 1,
            })
        })
    }

    fn owned(&self, number: usize, pipe: usize) -> impl Iterator<Item = (usize, Owner)> {
        let other = self.all.get(number).and_then(Option::as_ref);
        let owners = other.into_iter().flat_map(|other| other.owners.iter());
        let owners = owners.enumerate();
        owners.filter_map(move |(buffer, owner)| {
            let owner = (*owner)?;
            (usize::from(owner.pipe) == pipe).then_some((buffer, owner))
        })
    }

    /// Requests that a partition runs stages.
    pub(crate) fn run(&mut self, number: usize, id: u64, request: &Packed) -> Outcome {
        let state = self.state(number);
        let outcome = self.ask(number, id, request);
        if let Outcome::Done = outcome {
            epoch(number).store(state.epoch.into(), Relaxed);
        }
        outcome
    }

    /// Requests that a partition ends stages; the last end of a task was sent at tick `ended`.
    pub(crate) fn end(&mut self, number: usize, id: u64, ended: u64) -> Outcome {
        self.ask(number, id, &Packed::end(id, ended))
    }

    /// Requests that a partition starts the first stages of a pipe, not before tick `at`.
    pub(crate) fn start(&mut self, number: usize, pipe_ref: PipeRef<'_>, at: u64) -> Outcome {
        match pipe_ref {
            PipeRef::Id(id) => self.ask(number, id, &Packed::start(id, at)),
            PipeRef::Name(name) => {
                self.request_for_static(number, |id| Packed::start(id, at).named(name))
            }
        }
    }

    /// Requests that a partition sends the end of a task into such a pipe.
    pub(crate) fn stop(&mut self, number: usize, pipe_ref: PipeRef<'_>) -> Outcome {
        match pipe_ref {
            PipeRef::Id(id) => self.ask(number, id, &Packed::stop(id)),
            PipeRef::Name(name) => {
                self.request_for_static(number, |id| Packed::stop(id).named(name))
            }
        }
    }

    /// Requests that a partition removes its stages of a static pipe; the last end of a task was
    /// sent at tick `ended`.
    pub(crate) fn forget(&mut self, number: usize, name: &[u8; NAME_LEN], ended: u64) -> Outcome {
        self.request_for_static(number, |id| Packed::forget(id, name, ended))
    }

    /// Sends a request about a static pipe. A partition that restarts has to be notified again,
    /// whatever it answers now.
    fn request_for_static(
        &mut self,
        number: usize,
        request: impl FnOnce(u64) -> Packed,
    ) -> Outcome {
        let (id, state) = (clock::now(), self.state(number));
        let outcome = self.ask(number, id, &request(id));
        let value = match outcome {
            Outcome::Down => NOT_REQUESTED,
            _ => state.epoch.into(),
        };
        if [0, NOT_REQUESTED].contains(&requested_epoch(number)) {
            epoch(number).store(value, Relaxed);
        }
        outcome
    }

    fn state(&self, number: usize) -> LinkState {
        let other = self.all.get(number).and_then(Option::as_ref);
        other.map_or(LinkState::NEVER, |other| other.place.link.read())
    }

    fn ask(&mut self, number: usize, id: u64, request: &Packed) -> Outcome {
        let sent_in = self.state(number);
        let Some(other) = self.all.get_mut(number).and_then(Option::as_mut) else {
            return Outcome::Down;
        };
        if sent_in.state != State::Up {
            return Outcome::Down;
        }
        let until = clock::now().saturating_add(ticks(PATIENCE_NS));
        let mut is_sent = false;
        while clock::now() < until {
            if other.place.link.read() != sent_in {
                return Outcome::Down;
            }
            if !is_sent {
                is_sent = other.asker.ask(request);
            }
            match other.asker.answer(id, &mut self.text).filter(|_| is_sent) {
                Some(Reply::Done) => return Outcome::Done,
                Some(Reply::Refused(length)) => {
                    self.length = length;
                    return Outcome::Refused;
                }
                // The request was lost with a former start.
                Some(Reply::Lost) => is_sent = false,
                None => CORE.threads.sleep_until(clock::now() + ticks(PAUSE_NS)),
            }
        }
        Outcome::Silent
    }

    /// Stores that the partition was sent all its requests again in its present epoch.
    pub(crate) fn renew_epoch(&self, number: usize) {
        epoch(number).store(self.state(number).epoch.into(), Relaxed);
    }

    /// Numbers of the partitions that are up and have restarted since a request.
    pub(crate) fn restarted(&self) -> impl Iterator<Item = usize> + use<> {
        let mut bits = [false; MAX_REMOTE_PARTITIONS];
        for (number, (bit, other)) in bits.iter_mut().zip(&self.all).enumerate() {
            let link = other.as_ref().map(|other| other.place.link);
            *bit = link.is_some_and(|link| has_restarted(&link, number));
        }
        (0..MAX_REMOTE_PARTITIONS).filter(move |&number| bits.get(number).is_some_and(|bit| *bit))
    }
}

/// Owner number of a new pipe before it has a number: behind all pipes.
pub(crate) const PENDING: usize = PIPES;
/// Owner number of removed pipes with stages that may still run in the remote partition.
const ORPHANED: usize = PIPES + 1;
