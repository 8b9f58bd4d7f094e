//! Purpose of a range of physical memory, and the access rights of partitions to it
//!
//! The whole isolation argument is [`grant`]: the plan is built elsewhere, and checked against this
//! table afterwards, entry by entry of the finished translation tables.

use bulkhead_abi::guest::Role;
use bulkhead_formats::stage2::Access;
use bulkhead_model::system::{ChannelId, Console, DeviceId, PartitionId, System};

use crate::ends;

/// Purpose of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// The boot part, unused after boot.
    Boot,
    /// Resident monitor.
    Monitor,
    /// Configuration blob.
    Config,
    /// Translation tables.
    Tables,
    /// Pristine images.
    Images,
    /// Guard page, stack and state of a core.
    Stack(usize),
    /// Working state of the monitors of a partition.
    State(PartitionId),
    /// Link page of a partition.
    Link(PartitionId),
    /// Status region of a partition.
    Status(PartitionId),
    /// Guest page of a partition.
    GuestPage(PartitionId),
    /// Console output of a partition.
    ConsoleOut(PartitionId),
    /// Console input of a partition.
    ConsoleIn(PartitionId),
    /// Trace of a partition.
    Trace(PartitionId),
    /// Faults of a partition's components, as its kernel records them.
    ComponentLog(PartitionId),
    /// Memory of a partition.
    Memory(PartitionId),
    /// Buffer of a channel.
    Channel(ChannelId),
    /// Registers of a device.
    Device(DeviceId),
    /// Configuration, ports and memory of the PCIe bus of a partition.
    Bus(PartitionId),
    /// Registers that hold devices back: the SMMU's and the bridges'.
    Confining,
    /// Blocked accesses, as the SMMU records them.
    Events,
}

/// Returns the access of `partition` to a range of that purpose; `None`: the range must not be mapped.
#[must_use]
pub fn grant(system: &System, partition: PartitionId, purpose: Purpose) -> Option<Access> {
    let this = system.partition(partition);
    let if_owner = |id: PartitionId, access| (id == partition).then_some(access);
    match purpose {
        Purpose::Memory(id) => if_owner(id, Access::MEMORY),
        Purpose::GuestPage(id) | Purpose::Trace(id) | Purpose::ComponentLog(id) => {
            if_owner(id, Access::SHARED)
        }
        Purpose::ConsoleOut(id) if this.privileged && id != partition => Some(Access::READ_ONLY),
        Purpose::ConsoleIn(id) if this.privileged && id != partition => Some(Access::SHARED),
        Purpose::ConsoleOut(id) | Purpose::ConsoleIn(id) => {
            if_owner(id, Access::SHARED).filter(|_| this.console == Console::Memory)
        }
        Purpose::Status(id) => (id == partition || this.privileged).then_some(Access::READ_ONLY),
        Purpose::Link(id) => {
            (id == partition || this.privileged || ends::are_peers(system, partition, id))
                .then_some(Access::READ_ONLY)
        }
        Purpose::Channel(id) => ends::role(system, partition, id).map(|role| {
            let writes = role == Role::Writer || system.channels[id.0].reader_writes;
            if writes {
                Access::SHARED
            } else {
                Access::READ_ONLY
            }
        }),
        Purpose::Device(id) => ends::devices(system, partition)
            .iter()
            .any(|(owned, _)| *owned == id)
            .then_some(Access::DEVICE),
        Purpose::Bus(owner) => ends::stands_for(system, partition)
            .any(|id| id == owner)
            .then_some(Access::DEVICE),
        Purpose::Boot
        | Purpose::Monitor
        | Purpose::Config
        | Purpose::Tables
        | Purpose::Images
        | Purpose::Stack(_)
        | Purpose::State(_)
        | Purpose::Confining
        | Purpose::Events => None,
    }
}
