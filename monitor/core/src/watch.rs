//! Signs of life
//!
//! A partition that knows heartbeats stores the counter in its heartbeat word; the monitor that looks after it
//! compares when the longest tolerated silence would end, not periodically. From a start to the first heartbeat,
//! or to the announcement, a partition has its start-up time.

use crate::idle::Monitor;
use crate::machine::Machine;
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
        let Some(partition) = self.core.partitions.get(watch.partition as usize) else {
            return NEVER;
        };
        let since = partition.link.since();
        let beat = self.machine.read64(watch.heartbeat);
        let now = self.machine.counter();
        if partition.stopped.load(Relaxed) != 0 {
            return now.wrapping_add(watch.period_ticks);
        }
        let is_alive = beat != 0 || partition.link.is(State::Up);
        let allowed = if is_alive {
            watch.period_ticks
        } else {
            watch.startup_ticks
        };
        // A heartbeat of the future is none.
        let last = if beat > now { since } else { beat.max(since) };
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
}

/// A second after it was asked, the leader has not come: the partition is down, as far as one can see.
fn report_lost(partition: &Partition, now: u64) {
    let asked = |leader: &&Core| leader.requests.load(Relaxed) & request::HANG != 0;
    if let Some(leader) = partition.leader().filter(asked)
        && !partition.link.is(State::Down)
    {
        partition.link.change(State::Down, 0, now);
        partition.record_lost(leader, now);
    }
}
