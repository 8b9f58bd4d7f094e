//! Where servers with ready threads stand: with budget by priority, without by replenishment

use super::{Priority, ServerId};
use crate::budget::Budget;
use crate::queue::LEVELS;
use crate::replenishments::Replenishments;
use crate::{ReadyQueue, ThreadId, Time};

/// Up to `M` servers, each at one place or none.
#[derive(Clone, Debug)]
pub(super) struct Standing<const M: usize> {
    eligible: ReadyQueue<M>,
    /// Those without budget, or not looked at since they have it again.
    exhausted: Replenishments<M>,
}

const fn as_thread(server: ServerId) -> ThreadId {
    ThreadId(server.0)
}

const fn as_server(thread: ThreadId) -> ServerId {
    ServerId(thread.0)
}

impl<const M: usize> Standing<M> {
    pub(super) const fn new() -> Self {
        const { assert!(M <= LEVELS, "one queue level per server") };
        Self {
            eligible: ReadyQueue::new(),
            exhausted: Replenishments::new(),
        }
    }

    /// Puts a server where its budget says.
    pub(super) fn place(
        &mut self,
        server: ServerId,
        priority: Priority,
        budget: &impl Budget,
        now: Time,
    ) {
        self.withdraw(server);
        if budget.available(now) > 0 {
            self.eligible.push_back(as_thread(server), priority.0);
        } else {
            let when = budget.next_replenishment(now);
            self.exhausted.arm(as_thread(server), priority.0, when);
        }
    }

    /// The server has no ready thread.
    pub(super) fn withdraw(&mut self, server: ServerId) {
        self.eligible.remove(as_thread(server));
        self.exhausted.disarm(as_thread(server));
    }

    /// The most important one with budget.
    pub(super) fn eligible(&self) -> Option<ServerId> {
        self.eligible.first().map(as_server)
    }

    /// The most important one without.
    pub(super) fn exhausted(&self) -> Option<ServerId> {
        self.exhausted.first().map(as_server)
    }

    /// The most important one whose replenishment has come, if it is more important than `level`.
    pub(super) fn due_before(&self, level: usize, now: Time) -> Option<ServerId> {
        let due = self.exhausted.due(now);
        let due = due.filter(|&(due, _)| usize::from(due) < level);
        due.map(|(_, server)| as_server(server))
    }

    /// When the next replenishment of one more important than `level` comes; of all, where that is
    /// [`LEVELS`].
    pub(super) fn next_before(&self, level: usize) -> Time {
        self.exhausted.earliest_before(level)
    }
}
