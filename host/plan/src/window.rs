//! The window: what a partition sees beside its memory and devices
//!
//! Guest page, own link and status pages, console, trace, channels, peers' link pages, and what a
//! privileged partition may see of others, each at the lowest fitting address. Addresses depend on
//! the description alone, not on where things lie in physical memory.

use bulkhead_formats::address::{BLOCK_2M, Ipa, PAGE};
use bulkhead_formats::region::{Range, RegionSet};
use bulkhead_formats::stage2::Access;
use bulkhead_model::system::{PartitionId, System};

use crate::error::PlanError;
use crate::purpose::{Purpose, grant};
use crate::shared::Shared;

/// A range of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Purpose.
    pub purpose: Purpose,
    /// Address in the partition.
    pub ipa: Ipa,
    /// Bytes.
    pub size: u64,
    /// Access of the partition.
    pub access: Access,
    /// Key of a channel that is mapped when asked for.
    pub key: Option<u64>,
}

/// The window of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Its ranges, ascending.
    pub slots: Vec<Slot>,
}

impl Window {
    /// The slot of that purpose.
    #[must_use]
    pub fn slot(&self, purpose: Purpose) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.purpose == purpose)
    }

    /// Address and size of that purpose; zeros where the partition does not see it.
    #[must_use]
    pub fn place(&self, purpose: Purpose) -> [u64; 2] {
        self.slot(purpose)
            .map_or([0, 0], |slot| [slot.ipa.0, slot.size])
    }
}

/// Lays out the window of `partition`.
///
/// # Errors
/// The window is too small.
pub fn lay_out(
    system: &System,
    shared: &[Shared],
    partition: PartitionId,
) -> Result<Window, PlanError> {
    let mut visible: Vec<(u64, Slot)> = shared
        .iter()
        .filter_map(|&range| slot_of(system, partition, range))
        .collect();
    // What blocks can map goes first; the rest then shares the tables of its odd ends.
    visible.sort_by_key(|(alignment, slot)| (*alignment < BLOCK_2M, rank(partition, slot)));
    let guest = &system.board.guest;
    let mut free = RegionSet::of([Range::sized(guest.window, guest.window_size)]);
    let mut slots = Vec::new();
    for (alignment, slot) in visible {
        let ipa = free
            .first_fit(slot.size, alignment)
            .ok_or_else(|| overflow(system, partition))?;
        free.remove(Range::sized(ipa, slot.size));
        slots.push(Slot {
            ipa: Ipa(ipa),
            ..slot
        });
    }
    slots.sort_by_key(|slot| slot.ipa);
    Ok(Window { slots })
}

fn slot_of(system: &System, partition: PartitionId, range: Shared) -> Option<(u64, Slot)> {
    let access = grant(system, partition, range.purpose)?;
    let key = match range.purpose {
        Purpose::Channel(id) => system.channels[id.0].key,
        _ => None,
    };
    let alignment = match key {
        // Its level-3 entries must follow each other.
        Some(_) => range.size.next_power_of_two().clamp(PAGE, BLOCK_2M),
        None => range.alignment(),
    };
    let slot = Slot {
        purpose: range.purpose,
        ipa: Ipa(0),
        size: range.size,
        access,
        key,
    };
    Some((alignment, slot))
}

/// Order in the window: one's own first, the guest page before all.
fn rank(partition: PartitionId, slot: &Slot) -> u32 {
    match slot.purpose {
        Purpose::GuestPage(_) => 0,
        Purpose::Link(id) if id == partition => 1,
        Purpose::Status(id) if id == partition => 2,
        Purpose::ConsoleOut(id) | Purpose::ConsoleIn(id) if id == partition => 3,
        Purpose::Trace(_) => 4,
        Purpose::Channel(_) if slot.key.is_none() => 5,
        Purpose::Link(_) => 6,
        Purpose::Status(_) => 7,
        Purpose::ConsoleOut(_) | Purpose::ConsoleIn(_) => 8,
        // Behind everything that the kernel gives out.
        Purpose::ComponentLog(_) => 10,
        _ => 9,
    }
}

fn overflow(system: &System, partition: PartitionId) -> PlanError {
    let partition = system.partition(partition);
    let message = format!(
        "what partition `{}` shares does not fit into its window of {} MiB",
        partition.name,
        system.board.guest.window_size >> 20
    );
    let help = "give its channels or traces fewer or smaller messages";
    PlanError::new("window-overflow", message, help).at(&partition.span)
}
