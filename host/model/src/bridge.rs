//! Endpoints beyond the machine
//!
//! An endpoint has a name of four parts, `HOST:PARTITION:SPACE:ENDPOINT` (003 §3.1.1), which says where its values come from, and
//! not who carries them: a channel's is its writer's. What is derived here and what Linux's agent and bridge do agree by
//! [`bulkhead_stages::link::OUTWARD_PLACES`] and the text of `doc/interfaces/bridge.md`.

use crate::channel_size;
use crate::document::At;
use crate::draft::{BridgeDraft, ChannelDraft, Draft, Field, ImportDraft, PartitionDraft, items};
use crate::pipes::Pipe;
use crate::system::{Channel, ChannelId, End, Image, Partition, PartitionId};

/// What a last stage of a pipe writes to where its values leave the machine.
pub(crate) const SINK: &str = "bridge";
/// The address space of stages in Linux.
pub(crate) const AGENT: &str = "agent";
/// The address space of whoever has only one.
const MAIN: &str = "main";

/// The bridge of a Linux partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bridge {
    /// Where others reach it.
    pub listen: Vec<String>,
    /// Where it reaches others.
    pub connect: Vec<String>,
    /// What goes out.
    pub exports: Vec<Export>,
    /// What comes in.
    pub imports: Vec<Import>,
}

/// A source of values, and what it is called elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Where they come from.
    pub source: Source,
    /// `HOST:PARTITION:SPACE:ENDPOINT`.
    pub endpoint: String,
}

/// Where values come from that go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A channel that the partition reads.
    Channel(ChannelId),
    /// A last stage, by its place in its pipe.
    Stage {
        /// Index into [`System::pipes`](crate::System::pipes).
        pipe: usize,
        /// Index into the pipe's places.
        stage: usize,
    },
}

/// A channel into which values of another machine go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The channel.
    pub channel: ChannelId,
    /// `HOST:PARTITION:SPACE:ENDPOINT`.
    pub endpoint: String,
    /// From what age on they are not to be gone by, nanoseconds.
    pub max_age_ns: Option<u64>,
    /// What is written then.
    pub fallback: Option<Vec<u8>>,
}

/// The system's parts that names come from.
pub(crate) struct Around<'a> {
    pub(crate) partitions: &'a [Partition],
    pub(crate) channels: &'a [Channel],
    pub(crate) pipes: &'a [Pipe],
}

/// The bridge of a partition, of a draft without errors.
pub(crate) fn resolve(
    draft: &Draft,
    id: PartitionId,
    around: &Around<'_>,
) -> Option<Option<Bridge>> {
    let Some(bridge) = draft.partitions[id.0].bridge.value() else {
        return Some(None);
    };
    let host = bridge.host.value()?;
    let named = |list: &Field<Vec<At<String>>>| items(list).map(|at| at.value.clone()).collect();
    let channels = items(&bridge.export).map(|at| exported(&host, &at.value, around));
    let mut exports: Vec<_> = channels.collect::<Option<_>>()?;
    exports.extend(stages(&host, id, around));
    let imports = bridge.imports.iter().map(|import| imported(import, around));
    Some(Some(Bridge {
        listen: named(&bridge.listen),
        connect: named(&bridge.connect),
        exports,
        imports: imports.collect::<Option<_>>()?,
    }))
}

fn exported(host: &str, name: &str, around: &Around<'_>) -> Option<Export> {
    let id = channel(name, around)?;
    let End::Partition(writer) = around.channels[id.0].from else {
        return None;
    };
    let writer = &around.partitions[writer.0];
    let space = match &writer.image {
        Image::Components(components) => {
            let mut components = components.iter();
            let holder = components.find(|one| one.channels.contains(&id));
            holder.map_or(MAIN, |one| one.name.as_str())
        }
        _ => MAIN,
    };
    Some(Export {
        source: Source::Channel(id),
        endpoint: format!("{host}:{}:{space}:{name}", writer.name),
    })
}

fn channel(name: &str, around: &Around<'_>) -> Option<ChannelId> {
    let mut channels = around.channels.iter();
    channels.position(|one| one.name == name).map(ChannelId)
}

/// Last stages here that write to the bridge.
fn stages(host: &str, id: PartitionId, around: &Around<'_>) -> Vec<Export> {
    let mut exports = Vec::new();
    let partition = &around.partitions[id.0].name;
    let run = around.pipes.iter().enumerate();
    for (number, pipe) in run.filter(|(_, pipe)| pipe.runs_in(id)) {
        let places = pipe.places.iter().enumerate();
        let out = places.filter(|(_, place)| place.partition == id);
        let out = out.filter(|(_, place)| place.sink.as_deref() == Some(SINK));
        exports.extend(out.map(|(stage, _)| Export {
            source: Source::Stage {
                pipe: number,
                stage,
            },
            endpoint: format!("{host}:{partition}:{AGENT}:{}.{}", pipe.name, stage + 1),
        }));
    }
    exports
}

fn imported(import: &ImportDraft, around: &Around<'_>) -> Option<Import> {
    Some(Import {
        channel: channel(&import.name.value, around)?,
        endpoint: import.from.value()?,
        max_age_ns: import.max_age.value(),
        fallback: match import.fallback.given() {
            Some(text) => Some(bytes(&text.value)?),
            None => None,
        },
    })
}

/// Pairs of hexadecimal digits.
pub(crate) fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<_>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    let pairs = digits.chunks_exact(2);
    Some(pairs.map(|pair| (pair[0] * 16 + pair[1]) as u8).collect())
}

/// Whether a word can be a part of an endpoint's name: Zenoh reads nothing else into it.
pub(crate) fn is_part(word: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    !word.is_empty() && word.bytes().all(plain)
}

impl Draft {
    /// The partitions that have a bridge.
    pub(crate) fn bridges(&self) -> impl Iterator<Item = (&PartitionDraft, &BridgeDraft)> {
        let all = self.partitions.iter();
        all.filter_map(|one| Some((one, &one.bridge.given()?.value)))
    }

    /// The channel of that name.
    pub(crate) fn channel(&self, name: &str) -> Option<&ChannelDraft> {
        let mut channels = self.channels.iter();
        channels.find(|channel| channel.name.value == name)
    }
}

impl ChannelDraft {
    /// Bytes of a message, where such a channel can be.
    pub(crate) fn message_bytes(&self) -> Option<usize> {
        let (kind, message) = (self.kind.value()?, self.message.value()?);
        channel_size(kind, message, self.messages.or(1)?)?;
        usize::try_from(message).ok()
    }
}
