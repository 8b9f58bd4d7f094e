//! Whether a partition is there
//!
//! Its monitor writes a page that its peers may read: state, and an epoch that grows with each
//! start. A peer that died is seen by its epoch, even when it was back before anybody looked.

use crate::shared;
use bulkhead_abi::status::{LINK_MAGIC, LinkPage, State};
use core::mem::offset_of;
use core::sync::atomic::{AtomicU64, Ordering};

/// The link of a partition.
#[derive(Clone, Copy)]
pub struct Link {
    magic: &'static AtomicU64,
    state_and_epoch: &'static AtomicU64,
}

/// What a link says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// Down, starting or up; down where the page says nonsense.
    pub state: State,
    /// Number of starts.
    pub epoch: u32,
}

const _: () = assert!(offset_of!(LinkPage, epoch) == offset_of!(LinkPage, state) + 4);
const _: () = assert!(offset_of!(LinkPage, state).is_multiple_of(8));

impl Link {
    pub(crate) fn at(address: u64) -> Self {
        Self {
            magic: shared::word(address + offset_of!(LinkPage, magic) as u64),
            state_and_epoch: shared::word(address + offset_of!(LinkPage, state) as u64),
        }
    }

    /// What it says now; state and epoch belong together.
    #[must_use]
    pub fn read(&self) -> LinkState {
        if self.magic.load(Ordering::Relaxed) != LINK_MAGIC {
            return LinkState {
                state: State::Down,
                epoch: 0,
            };
        }
        let word = self.state_and_epoch.load(Ordering::Acquire);
        let state = [State::Down, State::Starting, State::Up]
            .into_iter()
            .find(|state| *state as u64 == word & 0xffff_ffff)
            .unwrap_or(State::Down);
        LinkState {
            state,
            epoch: (word >> 32) as u32,
        }
    }

    /// Whether the partition is up.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.read().state == State::Up
    }
}
