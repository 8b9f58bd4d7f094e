//! Pipes that are solved, and where their stages run

use super::endpoints::{Half, LinuxEnd};
use super::network_card::AtCard;
use super::{flow, solved};
use crate::ids::ChannelId;
use crate::quantity::time_text;
use crate::system::{PartitionId, Span};
use bulkhead_abi::pipe::{EndpointKind, OnOverrun};
use bulkhead_stages::link::{Kind, Shape};
use bulkhead_tpipe::language::Buffering;

/// A pipe with a kept requirement.
#[derive(Clone, Debug)]
pub struct Pipe {
    /// Its name.
    pub name: String,
    /// Place in the description.
    pub span: Span,
    /// Budgets, periods, buffers and bounds.
    pub solved: solved::Solved,
    /// Placement of its stages.
    pub places: Vec<Place>,
    /// Its edges between partitions, and between cores of one.
    pub crossings: Vec<Crossing>,
    /// From what age on of what crosses a stage falls back, nanoseconds.
    pub max_age_ns: Option<u64>,
}

/// An edge between partitions, or between cores of an rtos partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The stage that writes, by its place in the pipe.
    pub from: usize,
    /// The stage that reads.
    pub to: usize,
    /// The buffer between them; nothing between cores.
    pub channel: Option<ChannelId>,
}

/// Placement of a stage, with the endpoints that it reads and writes.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its partition.
    pub partition: PartitionId,
    /// Core of the partition, from 0.
    pub core: usize,
    /// Its function, by the name in the partition.
    pub function: String,
    /// The endpoint it reads, `timer`, `bridge.NAME` or nothing.
    pub source: Option<String>,
    /// The I/O VCPU of what it reads or writes, by its name.
    pub io: Option<String>,
    /// The endpoint it writes, `trace`, `null` or nothing.
    pub sink: Option<String>,
    /// CAN identifiers, or ports, of what it reads and writes.
    pub identifiers: [Option<u16>; 2],
    /// At a network card: what it needs there.
    pub at_card: Option<AtCard>,
    /// Reaction to a job that uses up its budget.
    pub on_overrun: OnOverrun,
    /// Bytes of the messages that it reads from other stages and that it writes.
    pub message_bytes: [u32; 2],
    /// The fallback function for inputs from other partitions.
    pub fallback: Option<String>,
    /// Longest time of its function that was measured, nanoseconds.
    pub wcmt_ns: Option<u64>,
    /// Bottom halves that work for it.
    pub(super) halves: Vec<Half>,
    /// In Linux: under SCHED_DEADLINE.
    pub linux: bool,
    /// True if its core has a program that runs stages.
    pub(super) is_run: bool,
    /// The Main VCPUs that scatter what it reads and gather what it writes, by their names.
    pub scatter: [Option<String>; 2],
    /// True if it reads, and if it writes, an endpoint of a device.
    pub at_endpoint: [bool; 2],
    /// In Linux: the endpoints of devices that it reads and writes.
    pub ends: [Option<LinuxEnd>; 2],
    /// Shortest distance of the messages that it reads at a device or from another machine,
    /// nanoseconds.
    pub distance_ns: Option<u64>,
}

impl Pipe {
    /// [`Solved::table`](solved::Solved::table), where it begins, and what it stands on.
    #[must_use]
    pub fn table(&self, formulas: bool) -> String {
        let lines = self.beginnings().chain(self.assumptions());
        lines.fold(self.solved.table(formulas), |text, line| {
            text + "  " + &line + "\n"
        })
    }

    /// Returns whether its partitions run it.
    #[must_use]
    pub fn is_run(&self) -> bool {
        self.places.iter().all(|place| place.is_run)
    }

    /// The place of a stage on a core without a runtime, if there is one.
    pub(crate) fn idle(&self) -> Option<&Place> {
        self.places.iter().find(|place| !place.is_run)
    }

    /// Returns whether what a stage writes for another is in memory that both cores' components
    /// share.
    pub(super) fn is_within(&self, from: usize, to: usize) -> bool {
        let [from, to] = [from, to].map(|stage| &self.places[stage]);
        from.partition == to.partition && !from.linux && from.core != to.core
    }

    /// The shape of the buffers before a stage.
    pub(crate) fn shape(&self, stage: usize) -> Shape {
        let kind = match self.solved.buffering {
            Buffering::FourSlot => Kind::Newest,
            Buffering::Fifo => {
                let places = u32::try_from(self.solved.stages[stage].buffer);
                Kind::Each(places.unwrap_or(u32::MAX))
            }
        };
        Shape {
            kind,
            message: self.places[stage].message_bytes[0],
        }
    }

    /// Unproven assumptions of its bounds, a line each.
    pub fn assumptions(&self) -> impl Iterator<Item = String> {
        self.places.iter().flat_map(|place| {
            let names = [&place.source, &place.sink];
            let ends = place.ends.iter().zip(names);
            ends.filter_map(|(end, name)| {
                let (end, name) = (end.as_ref()?, name.as_ref()?);
                Some(format!(
                    "assumed: Linux takes at most {} at {name}, the controller {}",
                    time_text(end.latency_ns),
                    end.device
                ))
            })
        })
    }

    /// Sources outside the scope of any bound, a line each.
    fn beginnings(&self) -> impl Iterator<Item = String> {
        let heads = self
            .places
            .iter()
            .filter_map(|place| Some((place, place.import()?)));
        heads.map(|(place, import)| {
            let distance = time_text(place.distance_ns.unwrap_or(0));
            format!(
                "begins where the bridge puts {import} in, before {}: what is before has no bound; messages enter {distance} apart, \
                 and a flood is dropped",
                place.function
            )
        })
    }

    /// Returns whether a partition runs a stage of it.
    #[must_use]
    pub fn runs_in(&self, partition: PartitionId) -> bool {
        self.is_run() && self.places.iter().any(|place| place.partition == partition)
    }

    /// Name of a stage's VCPU.
    #[must_use]
    pub fn vcpu(&self, stage: usize) -> String {
        let number = (stage + 1).to_string();
        let room = bulkhead_abi::NAME_LEN - 2 - number.len();
        let name = self.name.get(..room).unwrap_or(&self.name);
        format!("{name}.{number}")
    }
}

impl Place {
    /// The import that it reads as a first stage.
    #[must_use]
    pub fn import(&self) -> Option<&str> {
        flow::import(self.source.as_deref()?).filter(|_| self.linux)
    }

    /// Returns the kinds of its source and its sink.
    #[must_use]
    pub fn endpoints(&self) -> [EndpointKind; 2] {
        let kind = |which, name: &Option<String>| match name {
            None => EndpointKind::Absent,
            Some(name) => flow::endpoint_kind(which, name),
        };
        let source = match self.import() {
            Some(_) => EndpointKind::Bridge,
            None => kind(0, &self.source),
        };
        [source, kind(1, &self.sink)]
    }
}
