//! Pipes with stages that run here for a client partition
//!
//! Such flows are entered on the console of the client partition. The planner keeps here, for the
//! other threads, which pipes of the table belong to the client, and whether the client still runs
//! the start that requested them. The client begins and ends these pipes. It may also stop and
//! remove a static pipe that crosses to it, until it restarts.

use crate::remote_partition::{self, PeerChannel};
use bulkhead_abi::repository::Repository;
use bulkhead_abi::status::{LinkState, State};
use bulkhead_component::Environment;
use bulkhead_guest::Link;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Pipes of the table that the client requested.
static REQUESTED: Pipes = Pipes::none();
/// Static pipes that the client removed or is removing.
static FORGOTTEN: Pipes = Pipes::none();
/// Static pipes that the client stopped.
static HELD: Pipes = Pipes::none();
/// Epoch of the client that requested them.
static EPOCH: AtomicU64 = AtomicU64::new(0);

/// A set of pipes of the table: one bit per number.
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

/// The channel for the client's requests, if there is a client and this component has the channel.
pub(crate) fn channel(env: &Environment, repository: &Repository<'_>) -> Option<PeerChannel> {
    remote_partition::open_channel(env, repository.serves.first()?)
}

/// Returns whether the client requested a pipe.
pub(crate) fn is_requested(pipe: usize) -> bool {
    REQUESTED.has(pipe)
}

/// Marks a pipe of the table as requested by the client, or clears the mark.
pub(crate) fn set_requested(pipe: usize, requested: bool) {
    REQUESTED.set(pipe, requested);
}

/// Returns whether the client removed, or is removing, the static pipe of that number.
pub(crate) fn is_forgotten(pipe: usize) -> bool {
    FORGOTTEN.has(pipe)
}

/// Marks the static pipe of that number as removed, or as running again.
pub(crate) fn set_forgotten(pipe: usize, forgotten: bool) {
    FORGOTTEN.set(pipe, forgotten);
}

/// Returns whether the client stopped the static pipe of that number.
pub(crate) fn is_held(pipe: usize) -> bool {
    HELD.has(pipe)
}

/// Marks the static pipe of that number as stopped by the client, or clears the mark.
pub(crate) fn set_held(pipe: usize, held: bool) {
    HELD.set(pipe, held);
}

/// Returns whether the client decides how long the stages of a pipe run here.
pub(crate) fn is_client_controlled(pipe: usize) -> bool {
    is_requested(pipe) || is_forgotten(pipe)
}

/// Sets the client's epoch, with which requests must agree to be executed.
pub(crate) fn set_epoch(epoch: u32) {
    EPOCH.store(epoch.into(), Relaxed);
}

/// Returns whether the client is up with the epoch that made the requests.
pub(crate) fn is_same_client_start(link: &Link) -> bool {
    let LinkState { state, epoch } = link.read();
    state == State::Up && u64::from(epoch) == EPOCH.load(Relaxed)
}

/// Name of the client partition, if there is one.
pub(crate) fn client_name<'b>(repository: &Repository<'b>) -> Option<&'b str> {
    let asks = repository.serves.first()?;
    Some(remote_partition::name_of(repository, asks.space))
}
