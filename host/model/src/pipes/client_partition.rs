//! Channels through which flows that are typed in one partition have stages in another
//!
//! One for each pair, derived: what is asked for and answered, and memory for the buffers between
//! stages of both (`bulkhead_stages::request`).

use crate::draft::{Draft, PartitionDraft};
use crate::ids::{ChannelId, PartitionId};
use crate::resolve::spare;
use crate::system::{Channel, End, RemotePartition};
use bulkhead_abi::guest::ChannelKind;
use bulkhead_stages::request::{CROSSINGS, channel_bytes};

/// Buffers between stages of two partitions, for so many that may be typed.
fn buffers(stages: u32) -> u32 {
    (2 * stages).min(CROSSINGS as u32)
}

impl Draft {
    /// Pairs of a client partition and one that runs stages for it, in order.
    fn remote_pairs(&self) -> impl Iterator<Item = (PartitionId, &PartitionDraft, PartitionId)> {
        let all = self.partitions.iter().enumerate();
        all.flat_map(move |(index, partition)| {
            let names = partition.typed_through.given().into_iter();
            let names = names.flat_map(|names| &names.value);
            names.filter_map(move |name| {
                let mut others = self.partitions.iter();
                let other = others.position(|one| one.name.value == name.value)?;
                Some((PartitionId(index), partition, PartitionId(other)))
            })
        })
    }

    /// The channels, in the order of their numbers.
    pub(crate) fn remote_channels(&self) -> Vec<Channel> {
        let channels = self.remote_pairs().filter_map(|(from, partition, to)| {
            let stages = spare(partition)?.stages;
            Some(Channel {
                // A dot is in no name that is written.
                name: format!("typed.{}", to.0),
                span: partition.typed_through.span()?.clone(),
                kind: ChannelKind::Memory,
                from: End::Partition(from),
                to: vec![End::Partition(to)],
                message: u32::try_from(channel_bytes(buffers(stages) as usize)?).ok()?,
                messages: 1,
                contents: 0,
                reader_writes: true,
                doorbell: None,
                reply_doorbell: None,
                key: None,
            })
        });
        channels.collect()
    }

    /// Partitions that run stages for a client; their numbers begin with `first`.
    pub(crate) fn remote_partitions(
        &self,
        partition: PartitionId,
        first: usize,
    ) -> Vec<RemotePartition> {
        let numbered = (first..).zip(self.remote_pairs());
        let requested = numbered.filter(|(_, (from, ..))| *from == partition);
        let requested = requested.filter_map(|(number, (_, draft, to))| {
            Some(RemotePartition {
                partition: to,
                channel: ChannelId(number),
                buffers: buffers(spare(draft)?.stages),
            })
        });
        requested.collect()
    }
}
