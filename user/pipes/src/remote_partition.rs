//! Stages of typed flows that other partitions run
//!
//! The planner asks for them (`bulkhead_stages::request`), over a channel for each such partition in which the buffers lie as well. Which buffer is
//! between which stages is kept here, in words that the planner alone writes. One that starts anew knows of nothing: it is asked again.

use crate::shared_state::Word;
use crate::table::PIPES;
use crate::{CORE, client_pipes};
use bulkhead_abi::NAME_LEN;
use bulkhead_abi::pipe::Crossing;
use bulkhead_abi::repository::{MAX_THROUGH, Repository, Through, long_name_text};
use bulkhead_abi::status::{LinkState, State};
use bulkhead_component::Own;
use bulkhead_component::clock::{self, ticks};
use bulkhead_guest::{Home, Link};
use bulkhead_stages::order::Edge;
use bulkhead_stages::request::{self, Answered, Asker, CROSSINGS, Packed, TEXT_BYTES};
use bulkhead_stages::together;
use core::sync::atomic::Ordering::Relaxed;

/// How long an answer may take, nanoseconds: who answers looks 50 times a second.
const PATIENCE_NS: u64 = 2_000_000_000;
/// How often it is looked for, nanoseconds.
const PAUSE_NS: u64 = 5_000_000;

/// Of which start it is the next that has to be told, whichever that is.
const NOT_REQUESTED: u64 = u64::MAX;
/// The start of such a partition that knows what was asked for; 0: nothing was.
const fn epoch(number: usize) -> Word {
    Word::at(together::epoch(number))
}

/// A partition that runs stages for this one, or for which this one does.
#[derive(Clone, Copy)]
pub(crate) struct PeerChannel {
    pub(crate) region: bulkhead_buffers::Region<'static>,
    pub(crate) link: Link,
    pub(crate) buffers: usize,
}

/// All of them, by their numbers in the repository.
pub(crate) type PeerChannels = [Option<PeerChannel>; MAX_THROUGH];

/// Those whose channels this component has.
pub(crate) fn open_channels(own: &Own, repository: &Repository<'_>) -> PeerChannels {
    let mut places = [None; MAX_THROUGH];
    for (place, through) in places.iter_mut().zip(repository.through) {
        *place = open_channel(own, through);
    }
    places
}

/// One of them, if this component has its channel.
pub(crate) fn open_channel(own: &Own, through: &Through) -> Option<PeerChannel> {
    let mut ends = own.channels().iter();
    let end = ends.find(|end| end.name == through.channel)?;
    Some(PeerChannel {
        region: Home::memory(own, end).ok()?,
        link: own.peer_link(end)?,
        buffers: (through.buffers as usize).min(CROSSINGS),
    })
}

/// What a partition with that address space is called: as its cores are.
pub(crate) fn name_of<'b>(repository: &Repository<'b>, space: u32) -> &'b str {
    let mut cores = repository.cores.iter();
    let core = cores.find(|core| core.space == space);
    let name = core.map_or("?", |core| long_name_text(&core.name));
    name.split(':').next().unwrap_or(name)
}

/// Whether one of them, of which something was asked, has started anew since, and is up.
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

/// Whether the partition of that number is there as it was when it was asked.
fn is_same_remote_start(link: &Link, number: usize) -> bool {
    let LinkState { state, epoch } = link.read();
    state == State::Up && u64::from(epoch) == requested_epoch(number)
}

/// Whose a buffer is, and between which of its stages.
#[derive(Clone, Copy)]
struct Owner {
    pipe: u8,
    from: u8,
    to: u8,
    /// By which its stages are known to who was asked, once nobody but that one may have it.
    id: u64,
}

/// An edge of a pipe of which an end is in such a partition.
#[derive(Clone, Copy)]
pub(crate) struct RemoteEdge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) region: bulkhead_buffers::Region<'static>,
    pub(crate) link: Link,
    pub(crate) role: PeerRole,
}

/// The buffer of an edge to one of these, if it is to one.
pub(crate) fn remote_edge(places: &PeerChannels, edge: Edge) -> Option<RemoteEdge> {
    let through = usize::from(edge.through).checked_sub(1)?;
    let place = (*places.get(through)?)?;
    Some(RemoteEdge {
        from: edge.from.into(),
        to: edge.to.into(),
        region: request::buffer(place.region, edge.line.into())?,
        link: place.link,
        role: PeerRole::Remote(through),
    })
}

/// Who has the other end of an edge.
#[derive(Clone, Copy)]
pub(crate) enum PeerRole {
    /// Who has stages of the pipe by its own description.
    Static,
    /// Who was asked for its stages, by its number.
    Remote(usize),
    /// Who asked for the stages here.
    Client,
}

impl PeerRole {
    /// Whether that one runs its stages.
    pub(crate) fn is_there(self, link: &Link) -> bool {
        match self {
            Self::Static => link.is_up(),
            Self::Remote(number) => is_same_remote_start(link, number),
            Self::Client => client_pipes::is_same_client_start(link),
        }
    }
}

/// How who is asked knows a pipe.
#[derive(Clone, Copy)]
pub(crate) enum PipeRef<'n> {
    /// As what was asked for.
    Id(u64),
    /// By its description.
    Name(&'n [u8; NAME_LEN]),
}

/// What became of a request.
pub(crate) enum Outcome {
    Done,
    /// It said why.
    Refused,
    /// Nobody is there.
    Down,
    /// No answer came in time.
    Silent,
}

/// A partition that runs stages for this one, as the planner knows it.
struct RemotePartition {
    place: PeerChannel,
    asker: Asker,
    owners: [Option<Owner>; CROSSINGS],
}

/// All of them.
pub(crate) struct RemotePartitions {
    all: [Option<RemotePartition>; MAX_THROUGH],
    /// What was answered last, and its bytes.
    text: [u8; TEXT_BYTES],
    length: usize,
}

impl RemotePartitions {
    pub(crate) fn new(places: &PeerChannels) -> Self {
        let other = |place: Option<PeerChannel>| {
            let place = place?;
            Some(RemotePartition {
                asker: Asker::attach(place.region)?,
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

    /// What was answered last.
    pub(crate) fn answer_text(&self) -> &str {
        let text = self.text.get(..self.length).unwrap_or_default();
        let valid = text.utf8_chunks().next();
        valid.map_or("", |chunk| chunk.valid())
    }

    /// Buffers of one that nobody has.
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

    /// Takes a buffer for an edge between stages of a pipe; whether there was one.
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

    /// The buffers of a pipe are nobody's.
    pub(crate) fn release(&mut self, number: usize, pipe: usize) {
        let other = self.all.get_mut(number).and_then(Option::as_mut);
        for owner in other.into_iter().flat_map(|other| &mut other.owners) {
            if owner.is_some_and(|owner| usize::from(owner.pipe) == pipe) {
                *owner = None;
            }
        }
    }

    /// The buffers of a pipe that is not here any more are taken until who was asked says that it has ended its stages.
    pub(crate) fn orphan(&mut self, number: usize, pipe: usize, id: u64) {
        let other = self.all.get_mut(number).and_then(Option::as_mut);
        let owners = other.into_iter().flat_map(|other| &mut other.owners);
        for owner in owners.flatten() {
            if usize::from(owner.pipe) == pipe {
                (owner.pipe, owner.id) = (ORPHANED as u8, id);
            }
        }
    }

    /// By which who was asked knows stages of which it did not say that they ended, if there are some.
    pub(crate) fn orphaned(&self, number: usize) -> Option<u64> {
        let mut owned = self.owned(number, ORPHANED);
        owned.next().map(|(_, owner)| owner.id)
    }

    /// They have ended.
    pub(crate) fn release_orphaned(&mut self, number: usize, id: u64) {
        let other = self.all.get_mut(number).and_then(Option::as_mut);
        for place in other.into_iter().flat_map(|other| &mut other.owners) {
            let is_it = |owner: &Owner| usize::from(owner.pipe) == ORPHANED && owner.id == id;
            *place = place.filter(|owner| !is_it(owner));
        }
    }

    /// The buffers of one become those of a pipe of another number.
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

    /// Numbers of those that have buffers of a pipe.
    pub(crate) fn of_pipe(&self, pipe: usize) -> impl Iterator<Item = usize> + use<> {
        let has = |other: &Option<RemotePartition>| {
            let mut owners = other.iter().flat_map(|other| other.owners).flatten();
            owners.any(|owner| usize::from(owner.pipe) == pipe)
        };
        let bits = self.all.each_ref().map(has);
        (0..MAX_THROUGH).filter(move |&number| bits.get(number).is_some_and(|has| *has))
    }

    /// Edges of a pipe over one of them, with the numbers of their buffers.
    pub(crate) fn crossings(&self, number: usize, pipe: usize) -> impl Iterator<Item = Crossing> {
        self.owned(number, pipe).map(|(buffer, owner)| Crossing {
            channel: request::buffer_name(buffer),
            from: owner.from.into(),
            to: owner.to.into(),
        })
    }

    /// All edges of a pipe over any of them.
    pub(crate) fn edges(&self, pipe: usize) -> impl Iterator<Item = Edge> {
        (0..MAX_THROUGH).flat_map(move |through| {
            let owned = self.owned(through, pipe);
            owned.map(move |(buffer, owner)| Edge {
                from: owner.from,
                to: owner.to,
                line: buffer as u16,
                through: through as u8 + 1,
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

    /// Asks one of them to run stages.
    pub(crate) fn run(&mut self, number: usize, id: u64, request: &Packed) -> Outcome {
        let state = self.state(number);
        let outcome = self.ask(number, id, request);
        if let Outcome::Done = outcome {
            epoch(number).store(state.epoch.into(), Relaxed);
        }
        outcome
    }

    /// Asks one of them to end stages, into which the last end of a task went at that tick.
    pub(crate) fn end(&mut self, number: usize, id: u64, ended: u64) -> Outcome {
        self.ask(number, id, &Packed::end(id, ended))
    }

    /// Has one of them begin a pipe of which it has the first stages, not before that tick.
    pub(crate) fn start(&mut self, number: usize, pipe_ref: PipeRef<'_>, at: u64) -> Outcome {
        match pipe_ref {
            PipeRef::Id(id) => self.ask(number, id, &Packed::start(id, at)),
            PipeRef::Name(name) => {
                self.request_for_static(number, |id| Packed::start(id, at).named(name))
            }
        }
    }

    /// Has one of them send the end of a task into such a pipe.
    pub(crate) fn stop(&mut self, number: usize, pipe_ref: PipeRef<'_>) -> Outcome {
        match pipe_ref {
            PipeRef::Id(id) => self.ask(number, id, &Packed::stop(id)),
            PipeRef::Name(name) => {
                self.request_for_static(number, |id| Packed::stop(id).named(name))
            }
        }
    }

    /// Asks one of them to forget what is described of a pipe, likewise.
    pub(crate) fn forget(&mut self, number: usize, name: &[u8; NAME_LEN], ended: u64) -> Outcome {
        self.request_for_static(number, |id| Packed::forget(id, name, ended))
    }

    /// Asks something of what is described. One that starts anew has to be told again, whatever it answers.
    fn request_for_static(
        &mut self,
        number: usize,
        request: impl FnOnce(u64) -> Packed,
    ) -> Outcome {
        let (id, state) = (clock::now(), self.state(number));
        let outcome = self.ask(number, id, &request(id));
        let known = match outcome {
            Outcome::Down => NOT_REQUESTED,
            _ => state.epoch.into(),
        };
        if [0, NOT_REQUESTED].contains(&requested_epoch(number)) {
            epoch(number).store(known, Relaxed);
        }
        outcome
    }

    fn state(&self, number: usize) -> LinkState {
        let other = self.all.get(number).and_then(Option::as_ref);
        other.map_or(LinkState::NEVER, |other| other.place.link.read())
    }

    fn ask(&mut self, number: usize, id: u64, request: &Packed) -> Outcome {
        let asked = self.state(number);
        let Some(other) = self.all.get_mut(number).and_then(Option::as_mut) else {
            return Outcome::Down;
        };
        if asked.state != State::Up {
            return Outcome::Down;
        }
        let until = clock::now().saturating_add(ticks(PATIENCE_NS));
        let mut is_sent = false;
        while clock::now() < until {
            if other.place.link.read() != asked {
                return Outcome::Down;
            }
            if !is_sent {
                is_sent = other.asker.ask(request);
            }
            match other.asker.answer(id, &mut self.text).filter(|_| is_sent) {
                Some(Answered::Done) => return Outcome::Done,
                Some(Answered::Refused(length)) => {
                    self.length = length;
                    return Outcome::Refused;
                }
                // What a former start did not answer.
                Some(Answered::Gone) => is_sent = false,
                None => CORE.threads.sleep_until(clock::now() + ticks(PAUSE_NS)),
            }
        }
        Outcome::Silent
    }

    /// One of them was asked again for all that it had run.
    pub(crate) fn renew_epoch(&self, number: usize) {
        epoch(number).store(self.state(number).epoch.into(), Relaxed);
    }

    /// Those that were asked and started anew since, and are up.
    pub(crate) fn restarted(&self) -> impl Iterator<Item = usize> + use<> {
        let mut bits = [false; MAX_THROUGH];
        for (number, (bit, other)) in bits.iter_mut().zip(&self.all).enumerate() {
            let link = other.as_ref().map(|other| other.place.link);
            *bit = link.is_some_and(|link| has_restarted(&link, number));
        }
        (0..MAX_THROUGH).filter(move |&number| bits.get(number).is_some_and(|bit| *bit))
    }
}

/// A new pipe's place in the owners' table before its number is known to be free: one behind all pipes.
pub(crate) const PENDING: usize = PIPES;
/// The place of those whose stages may still run elsewhere.
const ORPHANED: usize = PIPES + 1;
