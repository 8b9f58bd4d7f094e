//! Sizes of shared memory
//!
//! A channel's buffer is as large as its kind lays it out, in whole pages.

use bulkhead_abi::status::STATUS_SIZE;
use bulkhead_formats::address::{BLOCK_2M, PAGE};
use bulkhead_model::system::{ChannelId, Console, Image, PartitionId, System};

use crate::purpose::Purpose;

/// Bytes of a memory console's output recorder.
pub const CONSOLE_OUT_SIZE: u64 = 64 << 10;
/// Bytes of a memory console's input ring.
pub const CONSOLE_IN_SIZE: u64 = PAGE;

/// A range of memory that is shared, or seen through the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared {
    /// Purpose.
    pub purpose: Purpose,
    /// Bytes, whole pages.
    pub size: u64,
}

impl Shared {
    /// Large ranges are aligned so that blocks can map them.
    #[must_use]
    pub const fn alignment(self) -> u64 {
        if self.size >= BLOCK_2M {
            BLOCK_2M
        } else {
            PAGE
        }
    }
}

/// Everything of a system that guests share among them or with monitors or the host tool.
#[must_use]
pub fn all(system: &System) -> Vec<Shared> {
    let partitions = (0..system.partitions.len()).map(PartitionId);
    let of_partitions = partitions.flat_map(|id| of_partition(system, id));
    let channels = system
        .channels
        .iter()
        .enumerate()
        .map(|(id, channel)| Shared {
            purpose: Purpose::Channel(ChannelId(id)),
            size: channel.size(),
        });
    of_partitions.chain(channels).collect()
}

fn of_partition(system: &System, id: PartitionId) -> Vec<Shared> {
    let partition = system.partition(id);
    let mut ranges = vec![
        Shared {
            purpose: Purpose::GuestPage(id),
            size: PAGE,
        },
        Shared {
            purpose: Purpose::Link(id),
            size: PAGE,
        },
        Shared {
            purpose: Purpose::Status(id),
            size: STATUS_SIZE,
        },
    ];
    if !matches!(partition.console, Console::Device(_)) {
        ranges.push(Shared {
            purpose: Purpose::ConsoleOut(id),
            size: CONSOLE_OUT_SIZE,
        });
        ranges.push(Shared {
            purpose: Purpose::ConsoleIn(id),
            size: CONSOLE_IN_SIZE,
        });
    }
    if partition.trace > 0 {
        let size = partition.trace.next_multiple_of(PAGE);
        ranges.push(Shared {
            purpose: Purpose::Trace(id),
            size,
        });
    }
    let mut images = std::iter::once(&partition.image).chain(&partition.alternate);
    if images.any(|image| matches!(image, Image::Components(_))) {
        ranges.push(Shared {
            purpose: Purpose::ComponentLog(id),
            size: bulkhead_abi::component_log::SIZE,
        });
    }
    ranges
}
