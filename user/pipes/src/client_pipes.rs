//! Stages that another partition asks for: of flows that are typed there
//!
//! What of it the planner keeps for others to see: which pipes of the table are the other one's, and whether that one runs as it did when it
//! asked for them. Such a pipe begins and lasts as its asker says. A described pipe that crosses to the other one is stopped and forgotten as
//! that one says, until it starts anew.

use crate::remote_partition::{self, PeerChannel};
use bulkhead_abi::repository::Repository;
use bulkhead_abi::status::{LinkState, State};
use bulkhead_component::Own;
use bulkhead_guest::Link;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Pipes of the table that were asked for.
static REQUESTED: Pipes = Pipes::none();
/// Described pipes that the other one had forgotten, or is having forgotten.
static FORGOTTEN: Pipes = Pipes::none();
/// Described pipes that the other one stopped.
static HELD: Pipes = Pipes::none();
/// The start of the other partition that asked for them.
static EPOCH: AtomicU64 = AtomicU64::new(0);

/// Some of the pipes of the table, by bit of their numbers.
struct Pipes(AtomicU64);

impl Pipes {
    const fn none() -> Self {
        Self(AtomicU64::new(0))
    }

    fn has(&self, pipe: usize) -> bool {
        self.0.load(Relaxed) >> pipe & 1 != 0
    }

    fn set(&self, pipe: usize, is_there: bool) {
        match is_there {
            true => self.0.fetch_or(1 << pipe, Relaxed),
            false => self.0.fetch_and(!(1 << pipe), Relaxed),
        };
    }
}

/// The channel over which another partition asks, if one does and this component has it.
pub(crate) fn channel(own: &Own, repository: &Repository<'_>) -> Option<PeerChannel> {
    remote_partition::open_channel(own, repository.serves.first()?)
}

/// Whether a pipe was asked for.
pub(crate) fn is_requested(pipe: usize) -> bool {
    REQUESTED.has(pipe)
}

/// A pipe of that number was asked for, or is not there any more.
pub(crate) fn set_requested(pipe: usize, asked: bool) {
    REQUESTED.set(pipe, asked);
}

/// Whether the described pipe of that number is to be forgotten, or is.
pub(crate) fn is_forgotten(pipe: usize) -> bool {
    FORGOTTEN.has(pipe)
}

/// The described pipe of that number is to be forgotten, or runs again.
pub(crate) fn set_forgotten(pipe: usize, forgotten: bool) {
    FORGOTTEN.set(pipe, forgotten);
}

/// Whether it was the other one that stopped the described pipe of that number.
pub(crate) fn is_held(pipe: usize) -> bool {
    HELD.has(pipe)
}

/// It did, or that pipe goes on.
pub(crate) fn set_held(pipe: usize, held: bool) {
    HELD.set(pipe, held);
}

/// Whether it is the other one that says how long the stages of a pipe run here.
pub(crate) fn is_client_controlled(pipe: usize) -> bool {
    is_requested(pipe) || is_forgotten(pipe)
}

/// It is that start of the other one whose requests are obeyed.
pub(crate) fn set_epoch(epoch: u32) {
    EPOCH.store(epoch.into(), Relaxed);
}

/// Whether the other partition is there as it was when it asked.
pub(crate) fn is_same_client_start(link: &Link) -> bool {
    let LinkState { state, epoch } = link.read();
    state == State::Up && u64::from(epoch) == EPOCH.load(Relaxed)
}

/// The name of the partition whose flows may have stages here, if there is one.
pub(crate) fn client_name<'b>(repository: &Repository<'b>) -> Option<&'b str> {
    let asks = repository.serves.first()?;
    Some(remote_partition::name_of(repository, asks.space))
}
