//! Stages of a typed flow that another partition runs: memory for their buffers, and how they are asked for
//!
//! One channel of plain memory between the partition where flows are typed and each other one that runs stages of them: a mailbox (paper 001 §4.2), whose first side
//! asks, and behind it buffers of one size. A request is a [`Request`], and to run stages what they are, packed as for a partition
//! (`bulkhead_abi::pipe`) where the channel of a crossing is `#` and the number of the buffer. Each is answered, by an [`Answer`]
//! and what is to be said. Either side may start anew at any time: who answers and finds itself with the floor owes an answer to a
//! request that went with its former start, and says so.

use crate::link::Kind;
use bulkhead_abi::pipe::{Crossing, Head, PIPES_MAGIC, Pipe, Stage};
use bulkhead_abi::repository::MAX_STAGES;
use bulkhead_abi::{NAME_LEN, name_text};
use bulkhead_buffers::mailbox::{Flags, Layout, Mailbox, Side};
use bulkhead_buffers::{Error, Region};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Bytes of a request and of an answer, at most.
pub const MESSAGE_BYTES: usize = 5632;
/// Messages that a buffer has room for.
pub const PLACES: u32 = 32;
/// Edges of a pipe of which at least one end is in another partition, at most.
pub const CROSSINGS: usize = 2 * MAX_STAGES;
/// Paths of a pipe of which something is promised, at most.
pub const PATHS: usize = 16;
/// Bytes of the text of an answer, at most.
pub const TEXT_BYTES: usize = 240;
/// Nobody is waited for longer, and nobody begins later, whatever somebody writes, nanoseconds.
pub const LONGEST_WAIT_NS: u64 = 60_000_000_000;

const LINE_BYTES: usize = 64;
const _: () = assert!(
    size_of::<Request>()
        + size_of::<Head>()
        + size_of::<Pipe>()
        + MAX_STAGES * size_of::<Stage>()
        + CROSSINGS * size_of::<Crossing>()
        + PATHS * size_of::<Promised>()
        <= MESSAGE_BYTES
);

/// What is asked for.
#[repr(C)]
#[derive(
    Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout, PartialEq, Eq,
)]
pub struct Request {
    /// Of the stages; another one for each pipe that is ever asked for, not 0. Of a request about what is described, its own.
    pub id: u64,
    /// A [`Verb`].
    pub verb: u32,
    /// 0.
    pub reserved: u32,
    /// To end: the tick at which the last end of a task went into the pipe; 0: none did since its stages run. To start: the tick before which they do
    /// not.
    pub ended: u64,
}

/// What is promised of a path that ends where stages are asked for.
#[repr(C)]
#[derive(
    Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout, PartialEq, Eq,
)]
pub struct Promised {
    /// Place of its first stage.
    pub head: u32,
    /// Place of its last one.
    pub tail: u32,
    /// The longest delay, nanoseconds.
    pub bound_ns: u64,
    /// Messages of a million that are lost at most.
    pub lost: u32,
    /// 0.
    pub reserved: u32,
    /// Messages in a million seconds that are required; 0: none.
    pub rate: u64,
}

impl Promised {
    /// Of no path.
    pub const NOTHING: Self = Self {
        head: 0,
        tail: 0,
        bound_ns: 0,
        lost: 0,
        reserved: 0,
        rate: 0,
    };
}

/// What is to become of stages.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// They get their budgets, and begin.
    Run = 1,
    /// They end, last ones once all that went into the pipe has come to them; what they were is forgotten.
    End = 2,
    /// The same of stages that run by the description, by the name of their pipe, for as long as who asks does not start anew.
    Forget = 3,
    /// They begin, first ones among them: not before the tick that stands for the last end. With a name: those of that described pipe.
    Start = 4,
    /// First ones among them send the end of a task behind their last message, and rest. With a name: those of that described pipe, for as long
    /// as who asks does not start anew.
    Stop = 5,
}

impl Verb {
    /// That of a number.
    #[must_use]
    pub fn of(number: u32) -> Option<Self> {
        let mut all = [Self::Run, Self::End, Self::Forget, Self::Start, Self::Stop].into_iter();
        all.find(|one| *one as u32 == number)
    }
}

/// What is said to it, and behind it the text.
#[repr(C)]
#[derive(
    Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout, PartialEq, Eq,
)]
pub struct Answer {
    /// Of the request; 0: who had one before that went, is not there any more.
    pub id: u64,
    /// 1: nothing has changed, the text says why.
    pub refused: u32,
    /// 0.
    pub reserved: u32,
}

/// A request with what belongs to it.
#[derive(Clone, Debug)]
pub struct Packed {
    bytes: [u8; MESSAGE_BYTES],
    length: usize,
}

impl Packed {
    /// To run the stages of a pipe that have a core in these, with the edges of theirs and what is promised of paths that end there.
    #[must_use]
    pub fn run(
        id: u64,
        pipe: &Pipe,
        stages: impl Iterator<Item = Stage>,
        crossings: impl Iterator<Item = Crossing>,
        promised: impl Iterator<Item = Promised>,
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

    /// To end them, into which the last end of a task went at that tick.
    #[must_use]
    pub fn end(id: u64, ended: u64) -> Self {
        Self::of(id, Verb::End, ended)
    }

    /// To forget what is described of the pipe of that name, likewise.
    #[must_use]
    pub fn forget(id: u64, name: &[u8; NAME_LEN], ended: u64) -> Self {
        Self::of(id, Verb::Forget, ended).named(name)
    }

    /// To start them, not before a tick.
    #[must_use]
    pub fn start(id: u64, at: u64) -> Self {
        Self::of(id, Verb::Start, at)
    }

    /// To stop them.
    #[must_use]
    pub fn stop(id: u64) -> Self {
        Self::of(id, Verb::Stop, 0)
    }

    /// The same about the described pipe of that name.
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

    /// One behind the other.
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

/// What is promised, behind the pipe that is asked for.
pub fn promised(pipe: &[u8]) -> impl Iterator<Item = Promised> + '_ {
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
        .chunks_exact(size_of::<Promised>());
    let all = all.take(PATHS);
    all.filter_map(|one| Promised::read_from_bytes(one).ok())
}

/// The name of the described pipe that a request is about, where nothing else stands there. It may be any bytes: only a pipe that has it is meant.
#[must_use]
pub fn described(body: &[u8]) -> Option<[u8; NAME_LEN]> {
    body.try_into().ok()
}

/// Which pipe is to begin, or to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meant {
    /// The one that was asked for by the number of the request.
    Asked,
    /// The described one of that name.
    Described([u8; NAME_LEN]),
}

/// Which one a request to begin or to stop means, if it says that.
#[must_use]
pub fn meant(body: &[u8]) -> Option<Meant> {
    match body {
        [] => Some(Meant::Asked),
        name => described(name).map(Meant::Described),
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
    let [ring, slots] = [Kind::Each(PLACES), Kind::Newest].map(Kind::bytes);
    Some(ring?.max(slots?).next_multiple_of(LINE_BYTES))
}

/// Bytes of a channel with so many buffers.
#[must_use]
pub fn channel_bytes(buffers: usize) -> Option<usize> {
    let mailbox = mailbox_lines()?.checked_mul(LINE_BYTES)?;
    mailbox.checked_add(buffers.checked_mul(buffer_bytes()?)?)
}

/// The buffer of that number in a channel, if it has so many.
#[must_use]
pub fn buffer(channel: Region<'static>, number: usize) -> Option<Region<'static>> {
    let bytes = buffer_bytes()?;
    let line = mailbox_lines()?.checked_add(number.checked_mul(bytes / LINE_BYTES)?)?;
    channel.part(line, bytes)
}

/// How a crossing calls the buffer of that number.
#[must_use]
pub fn buffer_name(number: usize) -> [u8; NAME_LEN] {
    let mut name = [0; NAME_LEN];
    let digits = [number / 100, number / 10, number].map(|digit| b'0' + (digit % 10) as u8);
    name[0] = b'#';
    name[1..4].copy_from_slice(&digits);
    name
}

/// The number of a buffer by such a name.
#[must_use]
pub fn buffer_number(name: &str) -> Option<usize> {
    name.strip_prefix('#')?.parse().ok()
}

/// The same of a crossing.
#[must_use]
pub fn buffer_of(crossing: &Crossing) -> Option<usize> {
    buffer_number(name_text(&crossing.channel))
}

/// Who asks.
pub struct Asker {
    mailbox: Mailbox<'static>,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// It is as was asked.
    Done,
    /// It is not; so many bytes of text say why.
    Refused(usize),
    /// Who was asked has started anew since, and knows of nothing.
    Gone,
}

impl Asker {
    /// At a channel of such requests; nothing where it is too small.
    #[must_use]
    pub fn attach(channel: Region<'static>) -> Option<Self> {
        let mailbox = Mailbox::attach(channel, &layout()?, Side::First).ok()?;
        Some(Self { mailbox })
    }

    /// Asks; whether nobody has to answer another request first, as long as who does is there.
    pub fn ask(&mut self, request: &Packed) -> bool {
        let message = request.message();
        match self.mailbox.try_send(message, WHOLE) {
            Ok(()) => true,
            // An answer that nobody waited for any more.
            Err(Error::Floor) => {
                self.mailbox.discard().is_ok() && self.mailbox.try_send(message, WHOLE).is_ok()
            }
            Err(_) => false,
        }
    }

    /// What is answered to the request of that number, if it is; what is answered to others is passed over.
    pub fn answer(&mut self, id: u64, text: &mut [u8; TEXT_BYTES]) -> Option<Answered> {
        let mut bytes = [0; size_of::<Answer>() + TEXT_BYTES];
        let length = match self.mailbox.try_receive(&mut bytes) {
            Ok(part) => part.length,
            Err(Error::Length) => {
                let _passed_over = self.mailbox.discard();
                return None;
            }
            Err(_) => return None,
        };
        let (answer, said) = Answer::read_from_prefix(bytes.get(..length)?).ok()?;
        for (place, byte) in text.iter_mut().zip(said) {
            *place = *byte;
        }
        match (answer.id, answer.refused) {
            (0, _) => Some(Answered::Gone),
            (other, _) if other != id => None,
            (_, 0) => Some(Answered::Done),
            _ => Some(Answered::Refused(said.len().min(TEXT_BYTES))),
        }
    }
}

/// Who answers.
pub struct Answerer {
    mailbox: Mailbox<'static>,
    /// A request was taken that is to be answered.
    owes: bool,
}

impl Answerer {
    /// At a channel of such requests; nothing where it is too small. A request that a former start took with it is answered.
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

    /// Who has the floor and owes nothing passes it on, or who asks waits for ever: a former start owed it, or anybody wrote it.
    fn pass(&mut self) {
        if !self.owes && self.mailbox.holds_floor() {
            self.answer(&Answer::default(), "");
        }
    }

    /// A request, if there is one, and how many of the bytes it takes. What is no request is answered at once.
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

    /// Answers a request: it is done, or refused, and why.
    pub fn settle(&mut self, id: u64, refused: Option<&str>) {
        let answer = Answer {
            id,
            refused: refused.is_some().into(),
            reserved: 0,
        };
        self.answer(&answer, refused.unwrap_or_default());
    }

    /// Answers; whether who asked waits for one.
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
        // Refused, it was not to be sent: the other one has the floor.
        self.owes = false;
        is_sent
    }
}

#[cfg(test)]
mod tests;
