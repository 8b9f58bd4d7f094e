//! State of other partitions
//!
//! Its monitor writes a page that its peers may read: state, and an epoch that grows with each
//! start. A peer's restart is seen by its epoch, even if the peer was back before the next check.
//! The link of a peer that has a standby follows it there.

use bulkhead_abi::status::{LINK_MAGIC, LinkPage, LinkState, State};
use core::mem::offset_of;
use core::sync::atomic::{AtomicU64, Ordering};

/// The two words of a link page that are read.
#[derive(Clone, Copy)]
pub struct LinkWords {
    magic: &'static AtomicU64,
    state_and_epoch: &'static AtomicU64,
}

impl LinkWords {
    /// Of the page at `address`; `word` gives the word at an address in it.
    pub fn at(address: u64, word: impl Fn(u64) -> &'static AtomicU64) -> Self {
        Self {
            magic: word(address + offset_of!(LinkPage, magic) as u64),
            state_and_epoch: word(address + offset_of!(LinkPage, state) as u64),
        }
    }

    fn read(self) -> LinkState {
        if self.magic.load(Ordering::Relaxed) != LINK_MAGIC {
            return LinkState::NEVER;
        }
        LinkState::of_word(self.state_and_epoch.load(Ordering::Acquire))
    }
}

/// The link of a partition, and of its standby.
#[derive(Clone, Copy)]
pub struct Link {
    /// The partition's.
    pub page: LinkWords,
    /// Its standby's.
    pub standby: Option<LinkWords>,
}

impl Link {
    /// Returns true if both describe one partition.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        core::ptr::eq(self.page.magic, other.page.magic)
    }

    /// Returns the current state and epoch, which belong together.
    #[must_use]
    pub fn read(&self) -> LinkState {
        let standby = self.standby.map_or(LinkState::NEVER, LinkWords::read);
        self.page.read().or_standby(standby)
    }

    /// Returns true if the partition, or its standby, is up.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.read().state == State::Up
    }
}
