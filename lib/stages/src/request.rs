//! Requests for stages of a run-time pipe in another partition, and memory for their buffers
//!
//! A channel of plain memory connects the client, which is the partition with the console on which
//! flows are entered, with each other one that runs stages of them: a transaction buffer, of which
//! the client is the first side, and behind it buffers of one size. A request is a [`Request`] and,
//! to run stages, their description, packed as for a partition (`bulkhead_abi::pipe`), where the
//! channel of a crossing is `#` and the number of the buffer. Each is answered by an [`Answer`] and
//! a text. Either side may restart at any time: a responder that finds itself with the floor
//! answers the request that was lost with its former start, and reports the loss.

use crate::link::{Kind, Shape};
use bulkhead_abi::pipe::{Crossing, Head, PIPES_MAGIC, Pipe, Stage};
use bulkhead_abi::repository::MAX_STAGES;
use bulkhead_abi::{NAME_LEN, name_text};
use bulkhead_buffers::mailbox::{Flags, Layout, Mailbox, Side};
use bulkhead_buffers::{Error, Region};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Maximum bytes of a request and of an answer.
pub const MESSAGE_BYTES: usize = 5632;
/// Capacity of a buffer in messages.
pub const PLACES: u32 = 32;
/// Maximum number of edges of a pipe with an end in another partition.
pub const CROSSINGS: usize = 2 * MAX_STAGES;
/// Maximum number of paths of a pipe with a guarantee.
pub const PATHS: usize = 16;
/// Maximum bytes of the text of an answer.
pub const TEXT_BYTES: usize = 240;
/// Limit of every wait and of every start time in a request, whatever a peer writes, nanoseconds.
pub const LONGEST_WAIT_NS: u64 = 60_000_000_000;

const LINE_BYTES: usize = 64;
const _: () = assert!(
    size_of::<Request>()
        + size_of::<Head>()
        + size_of::<Pipe>()
        + MAX_STAGES * size_of::<Stage>()
        + CROSSINGS * size_of::<Crossing>()
        + PATHS * size_of::<PathGuarantee>()
        <= MESSAGE_BYTES
);

/// A request.
#[repr(C)]
#[derive(
    Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout, PartialEq, Eq,
)]
pub struct Request {
    /// Number of the stages, different for each pipe that is ever requested, not 0. A request about
    /// a static pipe has its own.
    pub id: u64,
    /// A [`Verb`].
    pub verb: u32,
    /// 0.
    pub reserved: u32,
    /// For `End`: tick at which the last end of a task entered the pipe; 0: none did since its
    /// stages run. For `Start`: tick before which the stages do not begin.
    pub ended: u64,
}

/// Guarantee of a path that ends at requested stages.
#[repr(C)]
#[derive(
    Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout, PartialEq, Eq,
)]
pub struct PathGuarantee {
    /// Index of its first stage.
    pub head: u32,
    /// Index of its last stage.
    pub tail: u32,
    /// Bound of the delay, nanoseconds.
    pub bound_ns: u64,
    /// Maximum loss, messages per million.
    pub lost: u32,
    /// 0.
    pub reserved: u32,
    /// Required messages per million seconds; 0: none.
    pub rate: u64,
}

impl PathGuarantee {
    /// No guarantee.
    pub const NOTHING: Self = Self {
        head: 0,
        tail: 0,
        bound_ns: 0,
        lost: 0,
        reserved: 0,
        rate: 0,
    };
}

/// Action of a request.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// The stages get their budgets, and begin.
    Run = 1,
    /// The stages end, last ones after everything that entered the pipe has reached them; their
    /// resources are freed.
    End = 2,
    /// Stages of the named static pipe end, until the client restarts.
    Forget = 3,
    /// First stages of a run-time pipe, or of the named static one, begin, not before tick `ended`.
    Start = 4,
    /// First stages send the end of a task behind their last message, and rest. For a named static
    /// pipe, until the client restarts.
    Stop = 5,
}

impl Verb {
    /// The verb of a number.
    #[must_use]
    pub fn of(number: u32) -> Option<Self> {
        let mut all = [Self::Run, Self::End, Self::Forget, Self::Start, Self::Stop].into_iter();
        all.find(|one| *one as u32 == number)
    }
}

/// Head of an answer, followed by the text.
#[repr(C)]
#[derive(
    Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout, PartialEq, Eq,
)]
pub struct Answer {
    /// Number of the request; 0: the request was lost with the responder's former start.
    pub id: u64,
    /// 1: rejected without any change; the text has the reason.
    pub refused: u32,
    /// 0.
    pub reserved: u32,
}

/// A request with its description.
#[derive(Clone, Debug)]
pub struct Packed {
    bytes: [u8; MESSAGE_BYTES],
    length: usize,
}

impl Packed {
    /// A request to run the stages of a pipe that have one of these cores, with their edges and the
    /// guarantees of paths that end there.
    #[must_use]
    pub fn run(
        id: u64,
        pipe: &Pipe,
        stages: impl Iterator<Item = Stage>,
        crossings: impl Iterator<Item = Crossing>,
        promised: impl Iterator<Item = PathGuarantee>,
    ) -> Self {
        let mut packed = Self::of(id, Verb::Run, 0);
        let mut head = Head {
            magic: PIPES_MAGIC,
            pipes: 1,
            ..Head::default()
        };
        let place = packed.length;
        packed.put(head.as_bytes());
        packed.put(pipe.as_bytes());
        for stage in stages {
            packed.put(stage.as_bytes());
            head.stages += 1;
        }
        for crossing in crossings {
            packed.put(crossing.as_bytes());
            head.crossings += 1;
        }
        promised.for_each(|one| packed.put(one.as_bytes()));
        let length = core::mem::replace(&mut packed.length, place);
        packed.put(head.as_bytes());
        packed.length = length;
        packed
    }

    /// A request to end them; the last end of a task entered at tick `ended`.
    #[must_use]
    pub fn end(id: u64, ended: u64) -> Self {
        Self::of(id, Verb::End, ended)
    }

    /// A request to release the static pipe of that name; the last end of a task entered at tick
    /// `ended`.
    #[must_use]
    pub fn forget(id: u64, name: &[u8; NAME_LEN], ended: u64) -> Self {
        Self::of(id, Verb::Forget, ended).named(name)
    }

    /// A request to start them, not before a tick.
    #[must_use]
    pub fn start(id: u64, at: u64) -> Self {
        Self::of(id, Verb::Start, at)
    }

    /// A request to stop them.
    #[must_use]
    pub fn stop(id: u64) -> Self {
        Self::of(id, Verb::Stop, 0)
    }

    /// The request for the static pipe of that name instead.
    #[must_use]
    pub fn named(mut self, name: &[u8; NAME_LEN]) -> Self {
        self.put(name);
        self
    }

    fn of(id: u64, verb: Verb, ended: u64) -> Self {
        let mut packed = Self {
            bytes: [0; MESSAGE_BYTES],
            length: 0,
        };
        let request = Request {
            id,
            verb: verb as u32,
            reserved: 0,
            ended,
        };
        packed.put(request.as_bytes());
        packed
    }

    /// Appends a part.
    fn put(&mut self, part: &[u8]) {
        let places = self.bytes.get_mut(self.length..).unwrap_or_default();
        for (place, byte) in places.iter_mut().zip(part) {
            *place = *byte;
            self.length += 1;
        }
    }

    /// Its bytes.
    #[must_use]
    pub fn message(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// Guarantees, which follow the description of the requested pipe.
pub fn path_guarantees(pipe: &[u8]) -> impl Iterator<Item = PathGuarantee> + '_ {
    let behind = Head::read_from_prefix(pipe).ok().and_then(|(head, rest)| {
        let sizes = [
            (head.pipes, size_of::<Pipe>()),
            (head.stages, size_of::<Stage>()),
            (head.crossings, size_of::<Crossing>()),
        ];
        let sizes = sizes.map(|(count, size)| (count as usize).saturating_mul(size));
        rest.get(sizes.into_iter().fold(0, usize::saturating_add)..)
    });
    let all = behind
        .unwrap_or_default()
        .chunks_exact(size_of::<PathGuarantee>());
    let all = all.take(PATHS);
    all.filter_map(|one| PathGuarantee::read_from_bytes(one).ok())
}

/// Name of the static pipe of a request, if nothing else follows. It may be any bytes: only a pipe
/// with that name is meant.
#[must_use]
pub fn static_pipe(body: &[u8]) -> Option<[u8; NAME_LEN]> {
    body.try_into().ok()
}

/// The pipe to be started or stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The pipe that was requested by the number of the request.
    Requested,
    /// The static pipe of that name.
    Static([u8; NAME_LEN]),
}

/// The pipe of a request to start or stop, if the request is valid.
#[must_use]
pub fn target(body: &[u8]) -> Option<Target> {
    match body {
        [] => Some(Target::Requested),
        name => static_pipe(name).map(Target::Static),
    }
}

const WHOLE: Flags = Flags {
    start: true,
    end: true,
    over: true,
};

fn layout() -> Option<Layout> {
    Layout::for_slot(MESSAGE_BYTES).ok()
}

fn mailbox_lines() -> Option<usize> {
    Some(layout()?.bytes().div_ceil(LINE_BYTES))
}

/// Bytes of a buffer, whole cache lines.
fn buffer_bytes() -> Option<usize> {
    let [ring, slots] = [Kind::Each(PLACES), Kind::Newest].map(|kind| Shape::from(kind).bytes());
    Some(ring?.max(slots?).next_multiple_of(LINE_BYTES))
}

/// Bytes of a channel with so many buffers.
#[must_use]
pub fn channel_bytes(buffers: usize) -> Option<usize> {
    let mailbox = mailbox_lines()?.checked_mul(LINE_BYTES)?;
    mailbox.checked_add(buffers.checked_mul(buffer_bytes()?)?)
}

/// The buffer of that number in a channel, if it exists.
#[must_use]
pub fn buffer(channel: Region<'static>, number: usize) -> Option<Region<'static>> {
    let bytes = buffer_bytes()?;
    let line = mailbox_lines()?.checked_add(number.checked_mul(bytes / LINE_BYTES)?)?;
    channel.part(line, bytes)
}

/// The name of the buffer of that number in a crossing.
#[must_use]
pub fn buffer_name(number: usize) -> [u8; NAME_LEN] {
    let mut name = [0; NAME_LEN];
    let digits = [number / 100, number / 10, number].map(|digit| b'0' + (digit % 10) as u8);
    name[0] = b'#';
    name[1..4].copy_from_slice(&digits);
    name
}

/// The number of a buffer with such a name.
#[must_use]
pub fn buffer_number(name: &str) -> Option<usize> {
    name.strip_prefix('#')?.parse().ok()
}

/// The number of the buffer of a crossing.
#[must_use]
pub fn buffer_of(crossing: &Crossing) -> Option<usize> {
    buffer_number(name_text(&crossing.channel))
}

/// The client's end: sends requests.
pub struct Requester {
    mailbox: Mailbox<'static>,
}

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The request is fulfilled.
    Done,
    /// The request is rejected; so many bytes of text have the reason.
    Refused(usize),
    /// The request was lost, because the responder restarted.
    Lost,
}

impl Requester {
    /// Attaches to a channel for requests; `None` if it is too small.
    #[must_use]
    pub fn attach(channel: Region<'static>) -> Option<Self> {
        let mailbox = Mailbox::attach(channel, &layout()?, Side::First).ok()?;
        Some(Self { mailbox })
    }

    /// Sends a request. Returns `false` while the answer to another request is missing and its
    /// responder is up.
    pub fn ask(&mut self, request: &Packed) -> bool {
        let message = request.message();
        match self.mailbox.try_send(message, WHOLE) {
            Ok(()) => true,
            // An answer to a request that is not waited for any more.
            Err(Error::Floor) => {
                self.mailbox.discard().is_ok() && self.mailbox.try_send(message, WHOLE).is_ok()
            }
            Err(_) => false,
        }
    }

    /// Takes the answer to the request of that number, if there is one; other answers are dropped.
    pub fn answer(&mut self, id: u64, text: &mut [u8; TEXT_BYTES]) -> Option<Reply> {
        let mut bytes = [0; size_of::<Answer>() + TEXT_BYTES];
        let length = match self.mailbox.try_receive(&mut bytes) {
            Ok(part) => part.length,
            Err(Error::Length) => {
                let _passed_over = self.mailbox.discard();
                return None;
            }
            Err(_) => return None,
        };
        let (answer, rest) = Answer::read_from_prefix(bytes.get(..length)?).ok()?;
        for (place, byte) in text.iter_mut().zip(rest) {
            *place = *byte;
        }
        match (answer.id, answer.refused) {
            (0, _) => Some(Reply::Lost),
            (other, _) if other != id => None,
            (_, 0) => Some(Reply::Done),
            _ => Some(Reply::Refused(rest.len().min(TEXT_BYTES))),
        }
    }
}

/// The other end: answers requests.
pub struct Responder {
    mailbox: Mailbox<'static>,
    /// True if a request was taken that is not answered yet.
    owes: bool,
}

impl Responder {
    /// Attaches to a channel for requests; `None` if it is too small. A request that was lost with
    /// a former start is answered.
    #[must_use]
    pub fn attach(channel: Region<'static>) -> Option<Self> {
        let mailbox = Mailbox::attach(channel, &layout()?, Side::Second).ok()?;
        let mut answerer = Self {
            mailbox,
            owes: false,
        };
        answerer.pass();
        Some(answerer)
    }

    /// Passes the floor on if no answer is due; otherwise the client would wait for ever. The floor
    /// may be left from a former start, or from words that a peer wrote.
    fn pass(&mut self) {
        if !self.owes && self.mailbox.holds_floor() {
            self.answer(&Answer::default(), "");
        }
    }

    /// Takes a request, if there is one, and returns the number of its bytes. An invalid request is
    /// answered immediately.
    pub fn take(&mut self, bytes: &mut [u8; MESSAGE_BYTES]) -> Option<(Request, usize)> {
        let request = self.mailbox.try_receive(bytes).ok().and_then(|part| {
            let message = bytes.get(..part.length)?;
            let (request, _) = Request::read_from_prefix(message).ok()?;
            Some((request, part.length))
        });
        self.owes |= request.is_some();
        self.pass();
        request
    }

    /// Answers a request as fulfilled, or as rejected with a reason.
    pub fn settle(&mut self, id: u64, refused: Option<&str>) {
        let answer = Answer {
            id,
            refused: refused.is_some().into(),
            reserved: 0,
        };
        self.answer(&answer, refused.unwrap_or_default());
    }

    /// Sends an answer. Returns whether the client waits for one.
    fn answer(&mut self, answer: &Answer, text: &str) -> bool {
        let mut bytes = [0; size_of::<Answer>() + TEXT_BYTES];
        let all = answer.as_bytes().iter().chain(text.as_bytes());
        let mut length = 0;
        for (place, byte) in bytes.iter_mut().zip(all) {
            *place = *byte;
            length += 1;
        }
        let message = bytes.get(..length).unwrap_or_default();
        let is_sent = self.mailbox.try_send(message, WHOLE).is_ok();
        // Not sent, because the client has the floor.
        self.owes = false;
        is_sent
    }
}

#[cfg(test)]
mod tests;
