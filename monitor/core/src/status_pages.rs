//! The pages a monitor writes for others to read
//!
//! The layouts of [`bulkhead_abi::status`] with cells in place of integers: a monitor writes them while
//! guests and the host tool read. The assertions below keep both in step.

use crate::frame::Frame;
use bulkhead_abi::NAME_LEN;
use bulkhead_abi::status::{
    CAUSES, CauseLog, CoreCounters, DoorbellCounters, LOG_RECORDS, LinkPage, MAX_CORES,
    MAX_DOORBELLS, State, Status, TRAPS, Trap,
};
use core::mem::offset_of;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::Release};

/// One more, for a counter that one core writes.
pub(crate) fn bump(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed).wrapping_add(1), Relaxed);
}

/// [`LinkPage`].
#[repr(C)]
#[derive(Debug)]
pub struct LinkCells {
    magic: u64,
    /// State in the lower half, epoch in the upper: they change together.
    state_epoch: AtomicU64,
    since_ticks: AtomicU64,
    name: [u8; NAME_LEN],
}

const _: () = assert!(offset_of!(LinkPage, state) == offset_of!(LinkCells, state_epoch));
const _: () =
    assert!(offset_of!(LinkPage, epoch) == offset_of!(LinkCells, state_epoch).wrapping_add(4));
const _: () = assert!(offset_of!(LinkPage, since_ticks) == offset_of!(LinkCells, since_ticks));
const _: () = assert!(size_of::<LinkPage>() == size_of::<LinkCells>());

impl LinkCells {
    pub(crate) fn is(&self, state: State) -> bool {
        self.state_epoch.load(Relaxed) & 0xFFFF_FFFF == state as u64
    }

    pub(crate) fn since(&self) -> u64 {
        self.since_ticks.load(Relaxed)
    }

    #[inline(never)]
    pub(crate) fn change(&self, state: State, starts: u64, now: u64) {
        let epoch = (self.state_epoch.load(Relaxed) >> 32).wrapping_add(starts);
        self.since_ticks.store(now, Relaxed);
        self.state_epoch.store(state as u64 | epoch << 32, Release);
    }
}

/// [`CoreCounters`].
#[repr(C)]
#[derive(Debug)]
pub struct CoreCells {
    traps: [AtomicU64; TRAPS],
    traps_at_up: [AtomicU64; TRAPS],
}

const _: () = assert!(offset_of!(CoreCounters, traps_at_up) == offset_of!(CoreCells, traps_at_up));
const _: () = assert!(size_of::<CoreCounters>() == size_of::<CoreCells>());

impl CoreCells {
    #[inline(never)]
    pub(crate) fn count(&self, trap: Trap) {
        if let Some(counter) = self.traps.get(trap as usize) {
            bump(counter);
        }
    }

    fn keep(&self) {
        for (kept, counter) in self.traps_at_up.iter().zip(&self.traps) {
            kept.store(counter.load(Relaxed), Relaxed);
        }
    }
}

/// [`DoorbellCounters`].
#[repr(C)]
#[derive(Debug)]
pub(crate) struct DoorbellCells {
    pub(crate) sent: AtomicU64,
    pub(crate) dropped: AtomicU64,
}

const _: () = assert!(size_of::<DoorbellCounters>() == size_of::<DoorbellCells>());

/// [`CauseLog`].
#[repr(C)]
#[derive(Debug)]
struct LogCells {
    faults: AtomicU64,
    records: [Frame; LOG_RECORDS],
    reserved: [AtomicU64; 191],
}

const _: () = assert!(offset_of!(CauseLog, records) == offset_of!(LogCells, records));
const _: () = assert!(size_of::<CauseLog>() == size_of::<LogCells>());

/// [`Status`].
#[repr(C)]
#[derive(Debug)]
pub struct StatusCells {
    magic: u64,
    partition_cores: u64,
    name: [u8; NAME_LEN],
    restarts: AtomicU64,
    last_restart_ticks: AtomicU64,
    worst_restart_ticks: AtomicU64,
    cores: [CoreCells; MAX_CORES],
    pub(crate) doorbells: [DoorbellCells; MAX_DOORBELLS],
    reserved: [AtomicU64; 505],
    log: [LogCells; CAUSES],
}

const _: () = assert!(offset_of!(Status, restarts) == offset_of!(StatusCells, restarts));
const _: () =
    assert!(offset_of!(Status, last_restart_ticks) == offset_of!(StatusCells, last_restart_ticks));
const _: () = assert!(
    offset_of!(Status, worst_restart_ticks) == offset_of!(StatusCells, worst_restart_ticks)
);
const _: () = assert!(offset_of!(Status, cores) == offset_of!(StatusCells, cores));
const _: () = assert!(offset_of!(Status, doorbells) == offset_of!(StatusCells, doorbells));
const _: () = assert!(offset_of!(Status, log) == offset_of!(StatusCells, log));
const _: () = assert!(size_of::<Status>() == size_of::<StatusCells>());

impl StatusCells {
    pub(crate) fn keep_counters(&self) {
        for core in &self.cores {
            core.keep();
        }
    }

    pub(crate) fn restarts(&self) -> u64 {
        self.restarts.load(Relaxed)
    }

    pub(crate) fn restarted(&self, ticks: u64) {
        bump(&self.restarts);
        self.last_restart_ticks.store(ticks, Relaxed);
        let worst = self.worst_restart_ticks.load(Relaxed);
        self.worst_restart_ticks.store(worst.max(ticks), Relaxed);
    }

    /// Adds a record to the log of its cause, which is below [`CAUSES`].
    pub(crate) fn record(&self, cause: u64, frame: &Frame) {
        if let Some(log) = place_in(cause, CAUSES).and_then(|place| self.log.get(place)) {
            let sequence = log.faults.fetch_add(1, Relaxed);
            let record = place_in(sequence, LOG_RECORDS).and_then(|place| log.records.get(place));
            if let Some(record) = record {
                record.record(sequence.wrapping_add(1), frame);
            }
        }
    }
}

/// Index of the entry for `number` in a table of `size` entries.
fn place_in(number: u64, size: usize) -> Option<usize> {
    usize::try_from(number.checked_rem(size as u64)?).ok()
}
