//! Whether a partition is there
//!
//! Its monitor writes a page that its peers may read: state, and an epoch that grows with each
//! start. A peer that died is seen by its epoch, even when it was back before anybody looked. The
//! link of a peer that has a standby follows it there.

use crate::shared;
use bulkhead_abi::status::{LINK_MAGIC, LinkPage, LinkState, State};
use core::mem::offset_of;
use core::sync::atomic::{AtomicU64, Ordering};

/// The link of a partition, and of its standby.
#[derive(Clone, Copy)]
pub struct Link {
    page: Page,
    standby: Option<Page>,
}

#[derive(Clone, Copy)]
struct Page {
    magic: &'static AtomicU64,
    state_and_epoch: &'static AtomicU64,
}

impl Link {
    /// Of the link page at `address`, and of the standby's, 0 where there is none.
    pub(crate) fn at(address: u64, standby: u64) -> Self {
        Self {
            page: Page::at(address),
            standby: (standby != 0).then(|| Page::at(standby)),
        }
    }

    /// What it says now; state and epoch belong together.
    #[must_use]
    pub fn read(&self) -> LinkState {
        let standby = self.standby.map_or(LinkState::NEVER, Page::read);
        self.page.read().or_standby(standby)
    }

    /// Whether the partition, or its standby, is up.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.read().state == State::Up
    }
}

impl Page {
    fn at(address: u64) -> Self {
        Self {
            magic: shared::word(address + offset_of!(LinkPage, magic) as u64),
            state_and_epoch: shared::word(address + offset_of!(LinkPage, state) as u64),
        }
    }

    fn read(self) -> LinkState {
        if self.magic.load(Ordering::Relaxed) != LINK_MAGIC {
            return LinkState::NEVER;
        }
        LinkState::of_word(self.state_and_epoch.load(Ordering::Acquire))
    }
}
