//! Endpoints of devices, as functions name them
//!
//! In an rtos partition an endpoint belongs to the component that drives the device, with the I/O
//! VCPU that serves it. In Linux it belongs to the partition, with a declared latency, because the
//! time that its kernel takes between device and socket is not analysed.

use super::flow::{AGENT, local_name};
use crate::draft::{EndpointDraft, KindDraft, PartitionDraft};
use crate::system::PartitionId;

/// An endpoint of a device in Linux.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinuxEnd {
    /// The device, by its name.
    pub device: String,
    /// Longest that Linux is assumed to take between it and the stage, nanoseconds.
    pub latency_ns: u64,
}

/// An endpoint by its path, and its device pipe.
pub(super) type End<'p> = (String, &'p EndpointDraft, Option<usize>);

/// The server of an endpoint.
#[derive(Clone, Debug)]
pub struct Served {
    /// Its partition.
    pub partition: PartitionId,
    /// Its I/O VCPU, by name; nothing in Linux.
    pub io: String,
    /// The VCPU that scatters or gathers for it.
    pub scatter: Option<String>,
}

/// The part of a bottom half that works for one message of an endpoint.
#[derive(Clone, Debug)]
pub(super) struct Half {
    /// Its I/O VCPU.
    pub(super) io: String,
    pub(super) wcet_ns: u64,
    /// The Main VCPU of the scatterer behind it, or the gatherer before it, for which it works in
    /// the stage's place.
    pub(super) scatter: Option<String>,
}

pub(super) fn half_of(endpoint: &EndpointDraft) -> Option<Half> {
    Some(Half {
        io: endpoint.vcpu.value()?,
        wcet_ns: endpoint.wcet.or(0)?,
        scatter: endpoint.scatter.value(),
    })
}

pub(super) fn linux_end((_, endpoint, _): &End<'_>) -> Option<LinuxEnd> {
    Some(LinuxEnd {
        device: endpoint.device.value()?,
        latency_ns: endpoint.latency.value()?,
    })
}

/// The endpoints of a partition, `COMPONENT.ENDPOINT` each; in Linux `agent.ENDPOINT`.
pub(crate) fn endpoints(
    partition: &PartitionDraft,
) -> impl Iterator<Item = (String, &EndpointDraft)> {
    let components = partition.components.iter();
    let spaces = components.map(|one| (one.name.value.as_str(), &one.endpoints));
    let spaces = spaces.chain([(AGENT, &partition.endpoints)]);
    spaces.flat_map(|(space, ends)| {
        ends.iter()
            .map(move |end| (format!("{space}.{}", end.name.value), end))
    })
}

/// Returns whether a function of the partition writes the endpoint of that path.
pub(crate) fn is_written(partition: &PartitionDraft, path: &str) -> bool {
    is_named(partition, path, 1)
}

/// Returns whether one reads it.
pub(crate) fn is_read(partition: &PartitionDraft, path: &str) -> bool {
    is_named(partition, path, 0)
}

fn is_named(partition: &PartitionDraft, path: &str, end: usize) -> bool {
    partition.functions.iter().any(|function| {
        let named = function.ends()[end].given();
        named.is_some_and(|named| local_name(&partition.name.value, &named.value) == path)
    })
}

/// Returns whether a VCPU is one for interrupts.
pub(crate) fn is_io(partition: &PartitionDraft, name: &str) -> bool {
    partition
        .vcpu(name)
        .is_some_and(|vcpu| vcpu.is(KindDraft::Io))
}
