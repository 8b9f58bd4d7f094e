//! How a worker finds what to do next.

use super::{Work, Worker};
use crate::arch;
use crate::deque::{Deque, Steal};
use crate::fiber::Fiber;
use crate::trace;

impl Worker {
    /// Everything but tasks: fibers of its own, its run queue, creators with a drained queue.
    #[inline]
    pub(super) fn find_fiber(&'static self) -> Option<&'static Fiber> {
        if !self.inbox.is_empty() {
            self.open_inbox();
        }
        if let Some(fiber) = self.mine.pop() {
            return Some(fiber);
        }
        if let Some(fiber) = oldest(&self.ready) {
            return Some(fiber);
        }
        if self.deque.len() <= self.low() {
            return self.held.pop().or_else(|| oldest(&self.deferred));
        }
        None
    }

    fn open_inbox(&'static self) {
        self.inbox.receive(|fiber| {
            if fiber.pinned_to().is_some() {
                self.mine.push(fiber);
            } else {
                self.push_ready(fiber);
            }
        });
    }

    /// The next thing to do, if there is any in the team.
    #[inline]
    pub fn find_work(&'static self) -> Option<Work> {
        trace::search(self);
        let fiber = self.find_fiber().map(Work::Fiber);
        let work = fiber.or_else(|| self.find_task()).or_else(|| self.steal());
        match work {
            Some(Work::Fiber(fiber)) => trace::resume(self, fiber),
            Some(Work::Task(_)) => (),
            None => trace::fail(self),
        }
        work
    }

    #[inline]
    pub(super) fn find_task(&'static self) -> Option<Work> {
        let team = self.team.get();
        let member = self.index.get() < team.size();
        let urgent = if member { team.urgent().take() } else { None };
        urgent.or_else(|| self.deque.take().map(Work::Task))
    }

    /// Tries every other worker of the team once.
    pub(super) fn steal(&'static self) -> Option<Work> {
        let team = self.team.get();
        let size = team.size();
        if self.index.get() >= size {
            return None;
        }
        for _ in 0..size {
            let mut victim = self.victim.get() + 1;
            if victim >= size {
                victim = 0;
            }
            self.victim.set(victim);
            if victim == self.index.get() {
                continue;
            }
            if let Some(work) = team.worker(victim).and_then(|victim| self.rob(victim)) {
                if self.index.get() >= team.size() {
                    self.hand_back(work);
                    return None;
                }
                self.notify_rest(victim);
                self.victim.set(victim.checked_sub(1).unwrap_or(size - 1));
                return Some(work);
            }
        }
        None
    }

    /// The team has started a region without this worker while it was looking for work of the one
    /// before: what it took belongs to the others. (The loot shows the size that came before it.)
    #[cold]
    fn hand_back(&self, work: Work) {
        let team = self.team.get();
        match work {
            Work::Task(task) => team.urgent().push(task),
            Work::Fiber(fiber) => team.urgent().push_fiber(fiber),
        }
        team.wake_all();
    }

    /// There may be more tasks than the one taken, and one thief may not be enough.
    fn notify_rest(&self, victim: u32) {
        let rich = self
            .team
            .get()
            .worker(victim)
            .is_some_and(|victim| !victim.deque.is_empty());
        if rich {
            self.notify();
        }
    }

    fn rob(&self, victim: &'static Worker) -> Option<Work> {
        let fiber = persist(|| victim.ready.steal()).map(Work::Fiber);
        let task = || persist(|| victim.deque.steal()).map(Work::Task);
        let deferred = || persist(|| victim.deferred.steal()).map(Work::Fiber);
        fiber.or_else(task).or_else(deferred)
    }

    /// True if a search might find something; cheaper than a search and takes nothing.
    pub fn sees_work(&self) -> bool {
        let has_own_work = !self.inbox.is_empty() || !self.mine.is_empty() || !self.held.is_empty();
        let team = self.team.get();
        if self.index.get() >= team.size() {
            return has_own_work;
        }
        has_own_work
            || !team.urgent().is_empty()
            || (0..team.size()).any(|i| team.worker(i).is_some_and(Worker::has_loot))
    }

    fn has_loot(&self) -> bool {
        !self.deque.is_empty() || !self.ready.is_empty() || !self.deferred.is_empty()
    }
}

fn oldest<T: Sync>(queue: &Deque<T>) -> Option<&'static T> {
    if queue.is_empty() {
        None
    } else {
        persist(|| queue.steal())
    }
}

/// Tries again while others take what it reached for: each time another worker made progress.
fn persist<T>(mut steal: impl FnMut() -> Steal<T>) -> Option<T> {
    loop {
        match steal() {
            Steal::Taken(element) => return Some(element),
            Steal::Empty => return None,
            Steal::Lost => arch::pause(),
        }
    }
}
