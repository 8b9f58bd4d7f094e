//! Ready queue: FIFO lists by level, found by bitmap
//!
//! Threads are linked through per-thread tables, so that every operation is O(1) and none
//! allocates. Level 0 is the most important.

use crate::thread::ThreadId;

/// Number of levels: two machine words' worth, so that ten thousand VCPUs fit on 128 cores.
pub(crate) const LEVELS: usize = 128;

const NONE: u16 = u16::MAX;

#[derive(Clone, Copy, Debug)]
struct Links {
    next: u16,
    previous: u16,
    level: u8,
    queued: bool,
}

const UNQUEUED: Links = Links {
    next: NONE,
    previous: NONE,
    level: 0,
    queued: false,
};

/// FIFO queues of up to `N` threads on `LEVELS` levels; a thread is in at most one.
#[derive(Clone, Debug)]
pub struct ReadyQueue<const N: usize> {
    occupied: u128,
    heads: [u16; LEVELS],
    tails: [u16; LEVELS],
    links: [Links; N],
}

impl<const N: usize> Default for ReadyQueue<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> ReadyQueue<N> {
    /// An empty queue.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            occupied: 0,
            heads: [NONE; LEVELS],
            tails: [NONE; LEVELS],
            links: [UNQUEUED; N],
        }
    }

    /// The level on which the thread is queued.
    #[must_use]
    pub fn level_of(&self, thread: ThreadId) -> Option<u8> {
        let links = self.links[thread.index()];
        links.queued.then_some(links.level)
    }

    /// Returns true if the thread is queued.
    #[must_use]
    pub fn contains(&self, thread: ThreadId) -> bool {
        self.links[thread.index()].queued
    }

    /// Appends the thread to its level; one that is queued already stays where it is.
    pub fn push_back(&mut self, thread: ThreadId, level: u8) {
        if self.contains(thread) {
            return;
        }
        let tail = self.tails[usize::from(level)];
        self.links[thread.index()] = Links {
            next: NONE,
            previous: tail,
            level,
            queued: true,
        };
        match tail {
            NONE => self.heads[usize::from(level)] = thread.0,
            tail => self.links[usize::from(tail)].next = thread.0,
        }
        self.tails[usize::from(level)] = thread.0;
        self.occupied |= 1 << level;
    }

    /// Puts a queued thread before its equals.
    pub fn bring_forward(&mut self, thread: ThreadId) {
        let Some(level) = self.level_of(thread) else {
            return;
        };
        let first = self.heads[usize::from(level)];
        if first == thread.0 {
            return;
        }
        self.remove(thread);
        self.links[thread.index()] = Links {
            next: first,
            previous: NONE,
            level,
            queued: true,
        };
        self.links[usize::from(first)].previous = thread.0;
        self.heads[usize::from(level)] = thread.0;
    }

    /// Takes the thread out, if it is queued.
    pub fn remove(&mut self, thread: ThreadId) {
        let Links {
            next,
            previous,
            level,
            queued,
        } = self.links[thread.index()];
        if !queued {
            return;
        }
        match previous {
            NONE => self.heads[usize::from(level)] = next,
            previous => self.links[usize::from(previous)].next = next,
        }
        match next {
            NONE => self.tails[usize::from(level)] = previous,
            next => self.links[usize::from(next)].previous = previous,
        }
        if self.heads[usize::from(level)] == NONE {
            self.occupied &= !(1 << level);
        }
        self.links[thread.index()] = UNQUEUED;
    }

    /// Moves the thread behind its equals.
    pub fn rotate(&mut self, thread: ThreadId) {
        if self.contains(thread) {
            let level = self.links[thread.index()].level;
            self.remove(thread);
            self.push_back(thread, level);
        }
    }

    /// The first thread of the most important occupied level.
    #[must_use]
    pub fn first(&self) -> Option<ThreadId> {
        self.first_and_level().map(|(first, _)| first)
    }

    /// The first one of the most important level, and that level.
    #[must_use]
    #[inline(always)]
    pub fn first_and_level(&self) -> Option<(ThreadId, u8)> {
        let level = self.occupied.trailing_zeros();
        let head = self.heads.get(level as usize)?;
        Some((ThreadId(*head), level as u8))
    }

    /// The first thread of one level.
    #[must_use]
    pub fn first_of(&self, level: u8) -> Option<ThreadId> {
        self.heads
            .get(usize::from(level))
            .filter(|&&head| head != NONE)
            .map(|&head| ThreadId(head))
    }

    /// The threads of one level, in order.
    pub(crate) fn of(&self, level: u8) -> impl Iterator<Item = ThreadId> {
        let next = |thread: &ThreadId| match self.links[thread.index()].next {
            NONE => None,
            next => Some(ThreadId(next)),
        };
        core::iter::successors(self.first_of(level), next)
    }

    /// Returns true if another thread is queued on its level.
    #[must_use]
    pub fn has_equal(&self, thread: ThreadId) -> bool {
        let links = self.links[thread.index()];
        links.queued && (links.next != NONE || links.previous != NONE)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    proptest! {
        #[test]
        fn behaves_like_sorted_lists(steps in prop::collection::vec((0u8..4, 0u16..12, 0u8..64), 0..300)) {
            let mut queue = ReadyQueue::<12>::new();
            let mut model: Vec<(u8, u16)> = Vec::new();
            for (step, thread, level) in steps {
                let id = ThreadId(thread);
                let place = model.iter().position(|&(_, t)| t == thread);
                match (step, place) {
                    (0, None) => {
                        let at = model.iter().position(|&(l, _)| l > level).unwrap_or(model.len());
                        model.insert(at, (level, thread));
                        queue.push_back(id, level);
                    }
                    (1, Some(at)) => { model.remove(at); queue.remove(id); }
                    (2, Some(at)) => {
                        let (level, _) = model.remove(at);
                        let to = model.iter().position(|&(l, _)| l > level).unwrap_or(model.len());
                        model.insert(to, (level, thread));
                        queue.rotate(id);
                    }
                    (1, None) => queue.remove(id),
                    (3, Some(at)) => {
                        let (level, _) = model.remove(at);
                        let to = model.iter().position(|&(l, _)| l >= level).unwrap_or(model.len());
                        model.insert(to, (level, thread));
                        queue.bring_forward(id);
                    }
                    _ => {}
                }
                prop_assert_eq!(queue.first(), model.first().map(|&(_, t)| ThreadId(t)));
                prop_assert_eq!(queue.contains(id), model.iter().any(|&(_, t)| t == thread));
                for &(l, t) in &model {
                    let equals = model.iter().filter(|&&(m, _)| m == l).count();
                    prop_assert_eq!(queue.has_equal(ThreadId(t)), equals > 1);
                }
            }
        }
    }
}
