//! When exhausted servers get their budgets back, by importance
//!
//! A decision needs two facts: a server that has a budget again and is more important than the one that it would
//! pick, and the time at which there will be one. Less important servers can wait for the next decision, however
//! long ago their times came. A tree over the levels, each node with the earliest time below it, answers
//! both in as many steps as levels have bits, whatever the number of servers.

use crate::queue::{LEVELS, ReadyQueue};
use crate::thread::{NEVER, ThreadId, Time};

/// Times of up to `M` servers, in lists by level.
#[derive(Clone, Debug)]
pub(crate) struct Replenishments<const M: usize> {
    waiting: ReadyQueue<M>,
    when: [Time; M],
    /// Node `n` has the children 2n and 2n + 1; level l is node `LEVELS` + l.
    earliest: [Time; NODES],
}

/// Nodes of the tree; there is no node 0.
const NODES: usize = 2 * LEVELS;

impl<const M: usize> Replenishments<M> {
    pub(crate) const fn new() -> Self {
        Self {
            waiting: ReadyQueue::new(),
            when: [NEVER; M],
            earliest: [NEVER; NODES],
        }
    }

    /// The server, which does not wait, waits on its level until `when`.
    pub(crate) fn arm(&mut self, server: ThreadId, level: u8, when: Time) {
        self.waiting.push_back(server, level);
        self.when[server.index()] = when;
        // Nodes above one with an earlier time have an earlier one, too.
        let mut node = LEVELS + usize::from(level);
        while node > 0 && when < self.earliest[node % NODES] {
            self.earliest[node % NODES] = when;
            node /= 2;
        }
    }

    /// The server no longer waits, if it did.
    pub(crate) fn disarm(&mut self, server: ThreadId) {
        let Some(level) = self.waiting.level_of(server) else {
            return;
        };
        self.waiting.remove(server);
        let equals = self.waiting.of(level);
        let mut earliest = equals.fold(NEVER, |earliest, server| {
            earliest.min(self.when[server.index()])
        });
        let mut node = LEVELS + usize::from(level);
        while node > 0 && self.earliest[node % NODES] != earliest {
            self.earliest[node % NODES] = earliest;
            earliest = earliest.min(self.earliest[(node ^ 1) % NODES]);
            node /= 2;
        }
    }

    /// Returns the most important server that is due; of equals, one.
    #[inline(always)]
    pub(crate) fn due(&self, now: Time) -> Option<(u8, ThreadId)> {
        let mut node = 1;
        if self.earliest[node] > now {
            return None;
        }
        while node < LEVELS {
            node = 2 * node + usize::from(self.earliest[2 * node % NODES] > now);
        }
        let level = (node % LEVELS) as u8;
        let mut equals = self.waiting.of(level);
        let server = equals.find(|server| self.when[server.index()] <= now)?;
        Some((level, server))
    }

    /// Returns the earliest time of servers more important than `level`; of all, if that is [`LEVELS`].
    #[inline(always)]
    pub(crate) fn earliest_before(&self, level: usize) -> Time {
        if level >= LEVELS || self.earliest[1] == NEVER {
            return self.earliest[1];
        }
        let mut node = LEVELS + level;
        let mut earliest = NEVER;
        while node > 1 {
            if node % 2 == 1 {
                earliest = earliest.min(self.earliest[(node - 1) % NODES]);
            }
            node /= 2;
        }
        earliest
    }

    /// The most important one that waits.
    pub(crate) fn first(&self) -> Option<ThreadId> {
        self.waiting.first()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn behaves_like_a_list(steps in prop::collection::vec((0u8..2, 0u16..16, 0u8..128, 0u64..100), 0..200)) {
            let mut times = Replenishments::<16>::new();
            let mut model: BTreeMap<u16, (u8, Time)> = BTreeMap::new();
            for (step, server, level, when) in steps {
                times.disarm(ThreadId(server));
                model.remove(&server);
                if step == 0 {
                    times.arm(ThreadId(server), level, when);
                    model.insert(server, (level, when));
                }
                let due = model.values().filter(|&&(_, time)| time <= when);
                prop_assert_eq!(times.due(when).map(|(level, _)| level), due.map(|&(level, _)| level).min());
                for bound in [usize::from(level), LEVELS] {
                    let before = model.values().filter(|&&(level, _)| usize::from(level) < bound);
                    prop_assert_eq!(
                        times.earliest_before(bound),
                        before.map(|&(_, time)| time).min().unwrap_or(NEVER)
                    );
                }
            }
        }
    }
}
