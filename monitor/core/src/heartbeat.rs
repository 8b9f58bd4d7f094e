//! Signs of life
//!
//! A partition that knows heartbeats stores the counter in its heartbeat word; the monitor that looks after it
//! compares when the longest tolerated silence would end, not periodically. A guest that knows none is watched by
//! 32 bits of its memory, or of its console's position, that change while it makes progress: each silence is
//! found at the second look at the latest. From a start to the first sign of life, or to the
//! announcement, a partition has its start-up time.

use crate::idle::Monitor;
use crate::machine::{Machine, Transfer};
use crate::state::{Core, NEVER, Partition, request};
use bulkhead_abi::config::Watch;
use bulkhead_abi::status::State;
use core::sync::atomic::Ordering::Relaxed;

impl<M: Machine> Monitor<M> {
    /// Looks after this core's watches; when to look again, or [`NEVER`].
    pub(crate) fn watch(self) -> u64 {
        self.core
            .watches
            .iter()
            .fold(NEVER, |next, watch| next.min(self.look(watch)))
    }

    fn look(self, watch: &Watch) -> u64 {
        let index = watch.partition as usize;
        let Some(partition) = self.core.partitions.get(index).copied() else {
            return NEVER;
        };
        let since = partition.link.since();
        let mut last = self.machine.read64(watch.heartbeat);
        let now = self.machine.counter();
        if partition.stopped.load(Relaxed) != 0 {
            return now.wrapping_add(watch.period_ticks);
        }
        if watch.by_change != 0 {
            last = self.last_change(partition, watch.heartbeat, since, now);
        }
        // A sign of life of the future, or of an earlier start, is none.
        let is_alive = last <= now && last > since;
        if !is_alive {
            last = since;
        }
        let allowed = if is_alive || partition.link.is(State::Up) {
            watch.period_ticks
        } else {
            watch.startup_ticks
        };
        let silence = now.wrapping_sub(last);
        if silence <= allowed {
            return last.wrapping_add(allowed).wrapping_add(1);
        }
        if silence.wrapping_sub(allowed) > self.machine.frequency() {
            report_lost(partition, now);
        }
        self.signal(partition, request::HANG);
        now.wrapping_add(watch.period_ticks)
    }

    /// When 32 bits were first seen as they are: at `since` or before, where the present start left them so. A
    /// guest that runs without caches writes past this core's.
    fn last_change(self, partition: &Partition, place: u64, since: u64, now: u64) -> u64 {
        self.machine.transfer(Transfer::Clean, place & !63, 0, 64);
        self.machine.order();
        let bits = u64::from(self.machine.read32(place));
        let [seen, changed] = &partition.progress;
        if changed.load(Relaxed) < since {
            changed.store(since, Relaxed);
        } else if seen.load(Relaxed) != bits {
            changed.store(now, Relaxed);
        }
        seen.store(bits, Relaxed);
        changed.load(Relaxed)
    }
}

/// A second after it was asked, the leader has not come: the partition is down, as far as one can see.
fn report_lost(partition: &Partition, now: u64) {
    let has_hang_request = |leader: &&Core| leader.requests.load(Relaxed) & request::HANG != 0;
    if let Some(leader) = partition.leader().filter(has_hang_request)
        && !partition.link.is(State::Down)
    {
        partition.link.change(State::Down, 0, now);
        partition.record_lost(leader, now);
    }
}
