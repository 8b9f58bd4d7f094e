//! Endpoints on other machines
//!
//! An endpoint has a name of four parts, `HOST:PARTITION:SPACE:ENDPOINT` ("Tuned Pipes" §3.1.1),
//! which identifies the source of its values, not the bridge that forwards them: a channel's
//! endpoint belongs to its writer. Nodes of ROS 2 use topics instead ([`Topic`]). Linux's agent and
//! bridge rely on [`bulkhead_stages::link::OUTWARD_PLACES`] and on `doc/interfaces/bridge.md`.

use crate::channel_size;
use crate::document::At;
use crate::draft::{
    BridgeDraft, ChannelDraft, Draft, Field, ImportDraft, PartitionDraft, TopicDraft, items,
};
use crate::ids::{ChannelId, PartitionId};
use crate::pipes::flow::{AGENT, IMPORT, local_name};
use crate::pipes::{Pipe, Place};
use crate::ros::{Topic, Type};
use crate::system::{Channel, End, Image, Partition};
use bulkhead_abi::pipe::EndpointKind;
use std::fmt;

/// Address space of a partition with only one.
const MAIN: &str = "main";

/// The bridge of a Linux partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bridge {
    /// Name of the node in ROS 2.
    pub node: String,
    /// Addresses at which it is reached.
    pub listen: Vec<String>,
    /// Addresses to which it connects.
    pub connect: Vec<String>,
    /// Published values.
    pub exports: Vec<Export>,
    /// Subscribed values.
    pub imports: Vec<Import>,
}

impl Bridge {
    /// Returns whether nodes of ROS 2 hear or are heard.
    #[must_use]
    pub fn has_topics(&self) -> bool {
        let exports = self.exports.iter().map(|one| &one.address);
        let imports = self.imports.iter().map(|one| &one.address);
        let mut all = exports.chain(imports);
        all.any(|address| matches!(address, Address::Topic(_)))
    }
}

/// A source of values, and what it is called elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Source of the values.
    pub source: Inside,
    /// Address by which other machines know it.
    pub address: Address,
}

/// An address on other machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// `HOST:PARTITION:SPACE:ENDPOINT`.
    Endpoint(String),
    /// A topic of ROS 2.
    Topic(Topic),
}

impl Address {
    /// Its key expression on Zenoh.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Endpoint(name) => name.replace(':', "/"),
            Self::Topic(topic) => topic.key.clone(),
        }
    }

    /// As it stands in the bridge's text.
    #[must_use]
    pub fn word(&self) -> String {
        match self {
            Self::Endpoint(name) => name.clone(),
            Self::Topic(topic) => topic.address(),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Endpoint(name) => f.write_str(name),
            Self::Topic(topic) => write!(f, "the topic {}, {}", topic.name, topic.kind),
        }
    }
}

/// Source of published values, and destination of subscribed ones, in this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// A channel of which the partition has the other end.
    Channel(ChannelId),
    /// A last stage, or a first one, by its place in its pipe.
    Stage {
        /// Index into [`System::pipes`](crate::System::pipes).
        pipe: usize,
        /// Index into the pipe's places.
        stage: usize,
    },
}

/// Destination of values of another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The channel, or the stage.
    pub target: Inside,
    /// To a stage: the closest that they may be, nanoseconds.
    pub distance_ns: Option<u64>,
    /// Address on the other machine.
    pub address: Address,
    /// From what age on they are not to be gone by, nanoseconds.
    pub max_age_ns: Option<u64>,
    /// The fallback value.
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
    let domain = bridge.domain.or(0)?;
    for publish in &bridge.publish {
        let address = Address::Topic(publish.topic(domain)?);
        exports = published(&publish.name.value, address, exports, around);
    }
    let mut imports = Vec::new();
    for import in &bridge.imports {
        for target in targets(import, id, around) {
            imports.push(imported(import, domain, target)?);
        }
    }
    Some(Some(Bridge {
        node: host.replace(['-', '.'], "_"),
        listen: named(&bridge.listen),
        connect: named(&bridge.connect),
        exports,
        imports,
    }))
}

/// Destinations of an import: the channel, or each first stage that reads it.
fn targets(import: &ImportDraft, id: PartitionId, around: &Around<'_>) -> Vec<Inside> {
    let name = &import.name.value;
    let channel = channel(name, around).map(Inside::Channel);
    let reads = |place: &Place| place.import() == Some(name);
    channel.into_iter().chain(here(id, around, reads)).collect()
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
        source: Inside::Channel(id),
        address: Address::Endpoint(format!("{host}:{}:{space}:{name}", writer.name)),
    })
}

/// Exports of a topic: values of a channel or a pipe of that name.
fn published(
    name: &str,
    address: Address,
    exports: Vec<Export>,
    around: &Around<'_>,
) -> Vec<Export> {
    let source = channel(name, around).map(Inside::Channel);
    let channel = source.map(|source| Export {
        source,
        address: address.clone(),
    });
    let is_meant = |source| match source {
        Inside::Channel(_) => false,
        Inside::Stage { pipe, .. } => channel.is_none() && around.pipes[pipe].name == name,
    };
    let exports = exports
        .into_iter()
        .map(|export| match is_meant(export.source) {
            true => Export {
                address: address.clone(),
                ..export
            },
            false => export,
        });
    exports.chain(channel.clone()).collect()
}

fn channel(name: &str, around: &Around<'_>) -> Option<ChannelId> {
    let mut channels = around.channels.iter();
    channels.position(|one| one.name == name).map(ChannelId)
}

/// Last stages here that write to the bridge.
fn stages(host: &str, id: PartitionId, around: &Around<'_>) -> Vec<Export> {
    let partition = &around.partitions[id.0].name;
    let out = here(id, around, |place| {
        place.endpoints()[1] == EndpointKind::Bridge
    });
    let out = out.filter_map(|source| {
        let Inside::Stage { pipe, stage } = source else {
            return None;
        };
        let pipe = &around.pipes[pipe].name;
        Some(Export {
            source,
            address: Address::Endpoint(format!("{host}:{partition}:{AGENT}:{pipe}.{}", stage + 1)),
        })
    });
    out.collect()
}

/// Stages that a partition runs, of a kind.
fn here<'a>(
    id: PartitionId,
    around: &Around<'a>,
    is_one: impl Fn(&Place) -> bool,
) -> impl Iterator<Item = Inside> {
    let run = around.pipes.iter().enumerate();
    let run = run.filter(move |(_, pipe)| pipe.runs_in(id));
    run.flat_map(move |(number, pipe)| {
        let places = pipe.places.iter().enumerate();
        let here = places.filter(|(_, place)| place.partition == id && is_one(place));
        let here = here.map(|(stage, _)| Inside::Stage {
            pipe: number,
            stage,
        });
        here.collect::<Vec<_>>()
    })
}

fn imported(import: &ImportDraft, domain: u64, target: Inside) -> Option<Import> {
    let address = match import.from.given() {
        Some(from) => Address::Endpoint(from.value.clone()),
        None => Address::Topic(import.topic.topic(domain)?),
    };
    Some(Import {
        address,
        target,
        distance_ns: import.distance.value(),
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

/// Returns whether a word can be a part of an endpoint's name: Zenoh reads nothing else into it.
pub(crate) fn is_part(word: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    !word.is_empty() && word.bytes().all(plain)
}

impl TopicDraft {
    /// Its type, if it is one.
    pub(crate) fn type_of(&self) -> Option<Type> {
        let kind = self.kind.value()?;
        match self.fields.given() {
            Some(fields) => Type::of(&kind, fields.value.iter().map(|at| at.value.as_str())).ok(),
            None => Type::of_name(&kind),
        }
    }

    fn topic(&self, domain: u64) -> Option<Topic> {
        Some(self.type_of()?.topic(domain, &self.topic.value()?))
    }
}

impl PartitionDraft {
    /// Its imports, each with what functions name it.
    pub(crate) fn imports(&self) -> impl Iterator<Item = (String, &ImportDraft)> {
        let bridge = self.bridge.given().into_iter();
        let imports = bridge.flat_map(|bridge| &bridge.value.imports);
        imports.map(|import| (format!("{IMPORT}{}", import.name.value), import))
    }

    /// Imports that functions read.
    pub(crate) fn imports_read(&self) -> impl Iterator<Item = (String, &ImportDraft)> {
        let reads = move |path: &str| {
            let mut named = self.functions.iter().filter_map(|one| one.reads.given());
            named.any(|name| local_name(&self.name.value, &name.value) == path)
        };
        self.imports().filter(move |(path, _)| reads(path))
    }
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
