//! A buffer between two stages: four-slot or ring, one writer and one reader
//!
//! The contents of long messages lie beside it, a piece of whole cache lines for each slot.

use crate::message::{BYTES, Content, Message, Received, content_bytes};
use bulkhead_abi::pipe::{Pipe, Stage};
use bulkhead_buffers::{Error, Region, four_slot, ring};
use zerocopy::{FromZeros, IntoBytes};

/// Capacity of a ring between a last stage in Linux and the bridge.
pub const OUTWARD_PLACES: u32 = 64;

/// Capacity of a ring between a last stage and its gatherer.
pub const GATHERED_PLACES: u32 = 16;

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

/// Kind of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only the newest message counts: four slots.
    Newest,
    /// Every message counts: a ring of this capacity.
    Each(u32),
}

/// Kind of a buffer, and size of its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its kind.
    pub kind: Kind,
    /// Bytes of each message.
    pub message: u32,
}

impl From<Kind> for Shape {
    /// Messages of two words.
    fn from(kind: Kind) -> Self {
        Self { kind, message: 0 }
    }
}

/// The layout of a buffer without contents.
enum Layout {
    Newest(four_slot::Layout),
    Each(ring::Layout),
}

/// Contents of the messages of a buffer, by slot.
struct Contents {
    memory: Region<'static>,
    /// Bytes of each.
    bytes: usize,
}

/// The reading end.
pub struct Input {
    end: Reader,
    contents: Option<Contents>,
    /// Destination of a copy for a function in a program without access to the buffer.
    copy: Option<Content>,
    /// Messages taken.
    number: u64,
}

enum Reader {
    Newest(four_slot::Reader<'static>),
    Each(ring::Consumer<'static>),
}

/// The writing end.
pub struct Output {
    end: Writer,
    contents: Option<Contents>,
}

enum Writer {
    Newest(four_slot::Writer<'static>),
    Each(ring::Producer<'static>),
}

impl Shape {
    /// The shape of the buffers before a stage of a pipe.
    #[must_use]
    pub const fn before(pipe: &Pipe, reader: &Stage) -> Self {
        let kind = match pipe.fifo {
            0 => Kind::Newest,
            _ => Kind::Each(reader.buffer),
        };
        Self {
            kind,
            message: reader.message_bytes[0],
        }
    }

    fn layout(self) -> Option<Layout> {
        Some(match self.kind {
            Kind::Newest => Layout::Newest(four_slot::Layout::for_messages(BYTES).ok()?),
            Kind::Each(places) => {
                let places = places.max(1) as usize;
                Layout::Each(match content_bytes(self.message) {
                    0 => ring::Layout::for_messages(BYTES, places).ok()?,
                    _ => ring::Layout::in_place(BYTES, places).ok()?,
                })
            }
        })
    }

    /// Number of slots; of a short message's ring, the messages that fit.
    #[must_use]
    pub fn slots(self) -> u32 {
        match self.kind {
            Kind::Newest => four_slot::SLOTS as u32,
            Kind::Each(places) if content_bytes(self.message) == 0 => places.max(1),
            Kind::Each(places) => places.max(1).saturating_add(ring::SPARE as u32),
        }
    }

    /// Bytes of such a buffer without contents; `None` if the capacity is not valid.
    #[must_use]
    pub fn header_bytes(self) -> Option<usize> {
        Some(match self.layout()? {
            Layout::Newest(layout) => layout.bytes(),
            Layout::Each(layout) => layout.bytes(),
        })
    }

    /// Bytes of the contents of its slots.
    #[must_use]
    pub fn content_bytes(self) -> usize {
        let stride = content_bytes(self.message).next_multiple_of(LINE_BYTES);
        (self.slots() as usize).saturating_mul(stride)
    }

    /// Bytes of both, in one piece of memory; `None` if the capacity is not valid.
    #[must_use]
    pub fn bytes(self) -> Option<usize> {
        let headers = self.header_bytes()?;
        match self.content_bytes() {
            0 => Some(headers),
            contents => headers.next_multiple_of(LINE_BYTES).checked_add(contents),
        }
    }

    /// The two parts of a region of [`Shape::bytes`].
    fn parts(self, region: Region<'static>) -> Option<[Region<'static>; 2]> {
        let headers = self.header_bytes()?;
        let contents = self.content_bytes();
        let line = match contents {
            0 => 0,
            _ => headers.div_ceil(LINE_BYTES),
        };
        Some([region, region.part(line, contents)?])
    }

    fn contents(self, memory: Region<'static>) -> Option<Contents> {
        let bytes = content_bytes(self.message);
        (bytes != 0).then_some(Contents { memory, bytes })
    }
}

impl Contents {
    fn of_slot(&self, slot: usize) -> Option<Content> {
        let line = slot * self.bytes.div_ceil(LINE_BYTES);
        Content::new(self.memory.part(line, self.bytes)?, self.bytes)
    }
}

/// Creates a buffer in memory from `take`, which returns so many zeroed bytes or nothing; first the bytes without contents, then those of
/// the contents, if there are any.
pub fn make(
    shape: impl Into<Shape>,
    take: impl FnOnce(usize) -> Option<Region<'static>>,
    take_contents: impl FnOnce(usize) -> Option<Region<'static>>,
) -> Option<(Input, Output)> {
    let shape = shape.into();
    let headers = take(shape.header_bytes()?)?;
    let contents = match shape.content_bytes() {
        0 => headers,
        bytes => take_contents(bytes)?,
    };
    let parts = [headers, contents];
    Some((Input::of(shape, parts)?, Output::of(shape, parts)?))
}

impl Input {
    /// Attaches to a buffer that the other end may use already; `None` if the memory is too small.
    #[must_use]
    pub fn attach(shape: impl Into<Shape>, region: Region<'static>) -> Option<Self> {
        let shape = shape.into();
        Self::of(shape, shape.parts(region)?)
    }

    fn of(shape: Shape, [headers, contents]: [Region<'static>; 2]) -> Option<Self> {
        let end = match shape.layout()? {
            Layout::Newest(layout) => {
                Reader::Newest(four_slot::Reader::attach(headers, &layout).ok()?)
            }
            Layout::Each(layout) => Reader::Each(ring::Consumer::attach(headers, &layout).ok()?),
        };
        Some(Self {
            end,
            contents: shape.contents(contents),
            copy: None,
            number: 0,
        })
    }

    /// Returns whether only the newest message counts.
    #[must_use]
    pub const fn is_four_slot(&self) -> bool {
        matches!(self.end, Reader::Newest(_))
    }

    /// Bytes of a content; 0 of short messages.
    #[must_use]
    pub fn content_bytes(&self) -> usize {
        self.contents.as_ref().map_or(0, |all| all.bytes)
    }

    /// Copies contents to this memory, since the program of the stage's function has no access to the buffer.
    pub const fn copy_to(&mut self, content: Content) {
        self.copy = Some(content);
    }

    /// Takes a message that was not read before.
    pub fn fresh(&mut self) -> Option<Received> {
        self.fresh_of().map(|(received, _)| received)
    }

    /// Takes it, with the number of messages written since the one before it: itself,
    /// and those that it overwrote.
    pub fn fresh_of(&mut self) -> Option<(Received, u64)> {
        let mut message = Message::new_zeroed();
        let (written, slot) = self.read(&mut message);
        if written == 0 {
            return None;
        }
        self.number += 1;
        let received = Received {
            message,
            content: None,
            number: self.number,
        };
        match &self.contents {
            None => Some((received, written)),
            Some(contents) => {
                let received = with_content(received, contents.of_slot(slot), self.copy);
                Some((received, written))
            }
        }
    }

    /// The message without its content if another one was taken since.
    pub(crate) fn held(&self, received: Received) -> Received {
        let is_held = received.number == self.number;
        Received {
            content: received.content.filter(|_| is_held),
            ..received
        }
    }

    /// Number of messages written since the last read one, if there is a new one, and its slot.
    #[inline(always)]
    fn read(&mut self, message: &mut Message) -> (u64, usize) {
        match &mut self.end {
            Reader::Newest(reader) => reader
                .read(message.as_mut_bytes())
                .map_or((0, 0), |read| (read.advanced, read.slot)),
            Reader::Each(consumer) => {
                let is_read = consumer.try_pop(message.as_mut_bytes()).is_ok();
                match self.contents {
                    Some(_) if is_read => (1, consumer.slot()),
                    _ => (is_read.into(), 0),
                }
            }
        }
    }
}

/// Only stages with long messages pay for this.
#[cold]
fn with_content(received: Received, content: Option<Content>, copy: Option<Content>) -> Received {
    let content = content.filter(|_| !received.message.is_end());
    if let (Some(content), Some(copy)) = (content, copy) {
        copy.copy_from(&content);
    }
    Received {
        content: content.and(copy).or(content),
        ..received
    }
}

impl Output {
    /// Attaches to a buffer, as [`Input::attach`].
    #[must_use]
    pub fn attach(shape: impl Into<Shape>, region: Region<'static>) -> Option<Self> {
        let shape = shape.into();
        Self::of(shape, shape.parts(region)?)
    }

    fn of(shape: Shape, [headers, contents]: [Region<'static>; 2]) -> Option<Self> {
        let end = match shape.layout()? {
            Layout::Newest(layout) => {
                Writer::Newest(four_slot::Writer::attach(headers, &layout).ok()?)
            }
            Layout::Each(layout) => Writer::Each(ring::Producer::attach(headers, &layout).ok()?),
        };
        Some(Self {
            end,
            contents: shape.contents(contents),
        })
    }

    /// Bytes of a content; 0 of short messages.
    #[must_use]
    pub fn content_bytes(&self) -> usize {
        self.contents.as_ref().map_or(0, |all| all.bytes)
    }

    /// The content of the next message, to be filled before [`Output::put`]; `None` of short messages.
    pub fn content(&mut self) -> Option<Content> {
        let contents = self.contents.as_ref()?;
        contents.of_slot(self.end.slot())
    }

    /// Copies a content to the next message, unless it was written there.
    pub fn fill(&mut self, from: &Content) {
        if let Some(content) = self.content()
            && content.address() != from.address()
        {
            content.copy_from(from);
        }
    }

    /// Writes a message. Returns whether there was room.
    pub fn put(&mut self, message: &Message) -> bool {
        match &mut self.end {
            Writer::Newest(writer) => writer.write(message.as_bytes()).is_ok(),
            Writer::Each(producer) => {
                !matches!(producer.try_push(message.as_bytes()), Err(Error::Full))
            }
        }
    }
}

impl Writer {
    /// The slot of the next message.
    fn slot(&mut self) -> usize {
        match self {
            Self::Newest(writer) => writer.reserve(),
            Self::Each(producer) => producer.slot(),
        }
    }
}

#[cfg(test)]
mod tests;
