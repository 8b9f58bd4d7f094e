//! Trace events
//!
//! Each partition may have a trace: a recorder ([`crate::guest::ChannelKind::Recorder`]) of events.
//! Only the host tool, or a privileged partition, reads it. The runtime emits job and message
//! events by itself. All figures in reports come from these events.

use crate::NAME_LEN;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Kind of an event, [`Event::kind`].
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A job of a periodic task: `ticks` start, `a` release, `b` finish, `sequence` job number.
    Job = 0,
    /// A message was sent on a channel: `sequence` its number, `ticks` when.
    Sent = 1,
    /// A message was received: `sequence` its number, `a` ticks when sent, `ticks` when read.
    Received = 2,
    /// `a` messages of a channel were lost before `sequence`.
    Lost = 3,
    /// A signal has a value: `a` the bits of an `f64`.
    Signal = 4,
    /// Something happened; the name says what, `a` and `b` are its own.
    Mark = 5,
    /// A job was released `a` periods late, or its release was skipped.
    Overrun = 6,
    /// A message left a path: `sequence` its number there, from 1, `a` when it entered, `ticks` when it left, `b` the
    /// path's number: its first stage, and its last one above eight bits.
    Delivered = 7,
    /// A stage of a pipe fell back, `sequence` times so far: `a` the age of what it reads, ticks; `b` the stage's place in its pipe.
    FellBack = 8,
    /// From here on `a` nanoseconds are the bound of a path of the pipe of that name: `b` the path's number as above, `sequence` the
    /// largest part of its messages that is lost, millionths. A run-time pipe was deployed, or another one beside it. With 0 nanoseconds and no ends
    /// behind it, the bounds of the description hold again for all paths of the pipe.
    Promised = 9,
    /// An end of the path that was promised last: the name of its function; `sequence` 0: the first, 1: the last; `a` messages per
    /// second that are required of it, millionths, or 0.
    PathEnd = 10,
    /// A job of a stage of a pipe needed more than its budget, `sequence` such jobs so far: `a` 1 where its pipe stopped since; `b` the
    /// stage's place in its pipe.
    StageOverran = 11,
    /// Of the devices that a stage of a pipe in Linux reads and writes: one of them could not be used, `sequence` times so far; `a` the
    /// longest time from a driver to the stage that waited, ticks; `b` the stage's place in its pipe.
    Endpoint = 12,
    /// A periodic task begins: `a` its period, `b` its first release, ticks. Until it ends, each of its releases is served.
    TaskBegun = 13,
    /// A periodic task has ended by itself.
    TaskEnded = 14,
    /// Messages came closer to a stage of a pipe than the distance that its endpoint declares and were dropped, `sequence` so far:
    /// `a` their CAN identifier, or [`PORT`] and their port; `b` the stage's place in its pipe.
    CameEarly = 15,
    /// A command stopped the pipe of that name, or is about to remove it.
    Stopped = 16,
    /// Jobs of a stage of a pipe had no output, `sequence` so far, because the component of their function caused a fault or did not work
    /// yet after one: `b` the stage's place in its pipe.
    JobsFailed = 17,
}

/// Unit of a field of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain number.
    Count,
    /// Ticks of the counter: a time, or a length of time.
    Ticks,
    /// Nanoseconds.
    Nanoseconds,
    /// Millionths.
    Millionths,
    /// The bits of an `f64`.
    Float,
    /// Number of a path: its first stage, and its last one above eight bits.
    Path,
}

/// A field of an event: its name, and its unit.
pub type Field = (&'static str, Unit);

/// Schema of the events of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// The kind.
    pub kind: EventKind,
    /// Its name.
    pub name: &'static str,
    /// Meaning of [`Event::sequence`], [`Event::a`] and [`Event::b`]; `None` where the kind does not use it.
    pub fields: [Option<Field>; 3],
}

const fn schema(kind: EventKind, name: &'static str, fields: [Option<Field>; 3]) -> Schema {
    Schema { kind, name, fields }
}

const fn count(name: &'static str) -> Option<Field> {
    Some((name, Unit::Count))
}

const fn ticks(name: &'static str) -> Option<Field> {
    Some((name, Unit::Ticks))
}

/// Schemas of all kinds, in the order of [`EventKind`].
pub const SCHEMAS: [Schema; 18] = [
    schema(
        EventKind::Job,
        "job",
        [count("number"), ticks("release"), ticks("end")],
    ),
    schema(EventKind::Sent, "sent", [count("number"), None, None]),
    schema(
        EventKind::Received,
        "received",
        [count("number"), ticks("sent"), None],
    ),
    schema(
        EventKind::Lost,
        "lost",
        [count("before"), count("messages"), None],
    ),
    schema(
        EventKind::Signal,
        "signal",
        [None, Some(("value", Unit::Float)), None],
    ),
    schema(
        EventKind::Mark,
        "mark",
        [count("sequence"), count("a"), count("b")],
    ),
    schema(
        EventKind::Overrun,
        "overrun",
        [count("number"), count("periods"), None],
    ),
    schema(
        EventKind::Delivered,
        "delivered",
        [
            count("number"),
            ticks("entered"),
            Some(("path", Unit::Path)),
        ],
    ),
    schema(
        EventKind::FellBack,
        "fell-back",
        [count("times"), ticks("age"), count("stage")],
    ),
    schema(
        EventKind::Promised,
        "promised",
        [
            Some(("loss", Unit::Millionths)),
            Some(("bound", Unit::Nanoseconds)),
            Some(("path", Unit::Path)),
        ],
    ),
    schema(
        EventKind::PathEnd,
        "path-end",
        [count("end"), Some(("rate", Unit::Millionths)), None],
    ),
    schema(
        EventKind::StageOverran,
        "stage-overran",
        [count("jobs"), count("stopped"), count("stage")],
    ),
    schema(
        EventKind::Endpoint,
        "endpoint",
        [count("failures"), ticks("longest"), count("stage")],
    ),
    schema(
        EventKind::TaskBegun,
        "task-begun",
        [None, ticks("period"), ticks("first")],
    ),
    schema(EventKind::TaskEnded, "task-ended", [None; 3]),
    schema(
        EventKind::CameEarly,
        "came-early",
        [count("messages"), count("sender"), count("stage")],
    ),
    schema(EventKind::Stopped, "stopped", [None; 3]),
    schema(
        EventKind::JobsFailed,
        "jobs-failed",
        [count("jobs"), None, count("stage")],
    ),
];

const _: () = {
    let mut index = 0;
    while index < SCHEMAS.len() {
        assert!(
            SCHEMAS[index].kind as usize == index,
            "in the order of the kinds"
        );
        index += 1;
    }
};

/// Bit of a number that is a port of a network card and no CAN identifier.
pub const PORT: u64 = 1 << 32;

/// One event.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Event {
    /// Counter value (CNTVCT; all partitions share it).
    pub ticks: u64,
    /// An [`EventKind`].
    pub kind: u32,
    /// By kind.
    pub sequence: u32,
    /// By kind.
    pub a: u64,
    /// By kind.
    pub b: u64,
    /// Name of the task, channel, signal or mark.
    pub name: [u8; NAME_LEN],
}

/// Header of every message that is measured for age or loss.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Stamp {
    /// Number of the message, from 1, one more each time.
    pub sequence: u64,
    /// Counter value when it was sent.
    pub ticks: u64,
}

const _: () = assert!(size_of::<Event>() == 48);
