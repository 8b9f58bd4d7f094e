//! Heartbeats
//!
//! A partition stores the counter in its heartbeat word; the monitor that looks after it compares when the
//! longest tolerated silence would end, not periodically. A partition that has not yet announced itself
//! is watched from its first heartbeat on.

use crate::idle::Monitor;
use crate::machine::Machine;
use crate::state::{Core, NEVER, Partition, request};
use bulkhead_abi::config::Watch;
use bulkhead_abi::status::{Action, Cause, State};
use core::sync::atomic::Ordering::Relaxed;

impl<M: Machine> Monitor<M> {
    /// Looks after this core's heartbeats; when to look again, or [`NEVER`].
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
        let beat = self.machine.read64(watch.heartbeat);
        let now = self.machine.counter();
        // A heartbeat of the future is none.
        let since = partition.link.since();
        let last = if beat > now { since } else { beat.max(since) };
        if !is_watched(partition, beat) {
            return now.wrapping_add(watch.period_ticks);
        }
        let silence = now.wrapping_sub(last);
        if silence <= watch.period_ticks {
            return last.wrapping_add(watch.period_ticks).wrapping_add(1);
        }
        if silence.wrapping_sub(watch.period_ticks) > self.machine.frequency() {
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
        partition.record(leader, Cause::Hang as u64, Action::Halt);
    }
}

fn is_watched(partition: &Partition, beat: u64) -> bool {
    partition.stopped.load(Relaxed) == 0 && (beat != 0 || partition.link.is(State::Up))
}
