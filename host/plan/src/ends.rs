//! Channel ends and devices of a partition
//!
//! A standby holds those of the partition it stands in for: only one of the two ever runs.

use bulkhead_abi::guest::Role;
use bulkhead_formats::address::Ipa;
use bulkhead_model::system::{
    Channel, ChannelId, Console, DeviceId, End, FunctionId, PartitionId, System,
};

/// The partition itself, then those it is the standby of.
pub fn stands_for(system: &System, partition: PartitionId) -> impl Iterator<Item = PartitionId> {
    let replaced = (0..system.partitions.len())
        .map(PartitionId)
        .filter(move |&id| system.partition(id).standby == Some(partition));
    std::iter::once(partition).chain(replaced)
}

/// The devices a partition owns, by itself or as a standby, and where it sees each: where the
/// board says, but a console UART at the guest's.
#[must_use]
pub fn devices(system: &System, partition: PartitionId) -> Vec<(DeviceId, Ipa)> {
    let mut devices: Vec<(DeviceId, Ipa)> = Vec::new();
    for owner in stands_for(system, partition).map(|id| system.partition(id)) {
        for &id in &owner.devices {
            let console = owner.console == Console::Device(id);
            let board = &system.board;
            let ipa = if console {
                board.guest.uart
            } else {
                board.device(id).guest
            };
            if devices.iter().all(|(listed, _)| *listed != id) {
                devices.push((id, Ipa(ipa)));
            }
        }
    }
    devices
}

/// The PCIe functions a partition owns, by itself or as a standby.
#[must_use]
pub fn functions(system: &System, partition: PartitionId) -> Vec<FunctionId> {
    let mut all: Vec<FunctionId> = Vec::new();
    for owner in stands_for(system, partition) {
        let functions = system.partition(owner).functions.iter();
        let new: Vec<_> = functions.filter(|id| !all.contains(id)).copied().collect();
        all.extend(new);
    }
    all
}

/// Which end of the channel a partition holds, by itself or as a standby.
#[must_use]
pub fn role(system: &System, partition: PartitionId, channel: ChannelId) -> Option<Role> {
    let channel = &system.channels[channel.0];
    stands_for(system, partition).find_map(|id| role_by_name(channel, id))
}

fn role_by_name(channel: &Channel, partition: PartitionId) -> Option<Role> {
    let end = End::Partition(partition);
    if channel.from == end {
        Some(Role::Writer)
    } else {
        channel.to.contains(&end).then_some(Role::Reader)
    }
}

/// The channels that a partition has an end of.
pub fn channels(
    system: &System,
    partition: PartitionId,
) -> impl Iterator<Item = (ChannelId, Role)> {
    (0..system.channels.len())
        .map(ChannelId)
        .filter_map(move |id| role(system, partition, id).map(|role| (id, role)))
}

/// The partitions at the other end, seen from `role`.
pub fn peers(channel: &Channel, role: Role) -> impl Iterator<Item = PartitionId> {
    let ends = match role {
        Role::Writer => channel.to.as_slice(),
        Role::Reader => std::slice::from_ref(&channel.from),
    };
    ends.iter().filter_map(|end| match end {
        End::Partition(id) => Some(*id),
        End::Host => None,
    })
}

/// Returns `true` if `other` is the peer of `partition` on a channel, or the standby of the peer.
#[must_use]
pub fn are_peers(system: &System, partition: PartitionId, other: PartitionId) -> bool {
    let is_other =
        |peer: PartitionId| peer == other || system.partition(peer).standby == Some(other);
    channels(system, partition).any(|(id, role)| peers(&system.channels[id.0], role).any(is_other))
}
