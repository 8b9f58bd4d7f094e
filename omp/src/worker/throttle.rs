//! When a worker makes no more tasks for now

use super::Worker;

/// Tasks that a worker may have queued before their creator has to wait for some of them.
const QUEUE_LIMIT: usize = 256;

/// Tasks that are enough for all thieves. Without thieves a creator that runs none of them itself waits from here on: the
/// nearest cache has them then.
const QUEUE_PLENTY: usize = QUEUE_LIMIT / 4;

impl Worker {
    /// True if the creator of so many tasks should let some of them run. One creator at a time
    /// steps aside.
    #[inline]
    pub fn is_flooded(&self) -> bool {
        self.deque.is_longer_than(QUEUE_PLENTY) && self.is_over_limit()
    }

    #[cold]
    fn is_over_limit(&self) -> bool {
        let few = self.deque.is_private() && !self.fiber.get().holds_no_lock();
        let limit = if few { QUEUE_PLENTY } else { QUEUE_LIMIT };
        self.deque.is_longer_than(limit) && self.held.is_empty() && self.deferred.is_empty()
    }

    /// Length of the queue at which a waiting creator goes on.
    pub(super) fn low(&self) -> usize {
        match self.deque.is_private() {
            true => QUEUE_PLENTY / 2,
            false => QUEUE_LIMIT / 2,
        }
    }

    /// True if the current task's next child may run at once because there are no thieves to take it: no task waits for a lock that
    /// this stack holds, and the stack has room.
    pub fn may_run_at_once(&self) -> bool {
        let fiber = self.fiber.get();
        self.deque.is_private() && fiber.holds_no_lock() && fiber.has_room()
    }

    /// True if the current task's next child may run at once, on top of it: thieves have
    /// enough to take, no task waits for a lock that this stack holds, the stack has room, and it
    /// can move if the child blocks. Where there are no thieves it need not move.
    #[inline]
    pub fn has_plenty(&self) -> bool {
        let fiber = self.fiber.get();
        let may_stay = if self.deque.is_private() {
            self.deque.len() > QUEUE_PLENTY
        } else {
            self.deque.is_longer_than(QUEUE_PLENTY) && fiber.may_move()
        };
        may_stay && fiber.holds_no_lock() && fiber.has_room()
    }
}
