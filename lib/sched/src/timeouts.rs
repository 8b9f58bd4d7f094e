//! Time-outs: a heap of threads by time
//!
//! Each thread has at most one. A binary heap with back-pointers: arming, disarming and expiry are
//! O(log n), without allocation. What is ordered is a time, or anything else that has an order.

use crate::thread::{ThreadId, Time};

const NONE: u16 = u16::MAX;

/// Pending time-outs of up to `N` threads.
#[derive(Clone, Debug)]
pub struct Timeouts<const N: usize, K = Time> {
    heap: [u16; N],
    len: usize,
    when: [K; N],
    place: [u16; N],
}

impl<const N: usize> Default for Timeouts<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Timeouts<N> {
    /// None pending.
    #[must_use]
    pub const fn new() -> Self {
        Self::filled(0)
    }
}

impl<const N: usize, K: Copy + Ord> Timeouts<N, K> {
    /// None pending; `nothing` fills the places, and is never looked at.
    #[must_use]
    pub const fn filled(nothing: K) -> Self {
        Self {
            heap: [NONE; N],
            len: 0,
            when: [nothing; N],
            place: [NONE; N],
        }
    }

    /// Returns true if the thread's time-out is armed.
    #[must_use]
    pub fn is_armed(&self, thread: ThreadId) -> bool {
        self.place[thread.index()] != NONE
    }

    /// The earliest time-out.
    #[must_use]
    pub fn earliest(&self) -> Option<K> {
        (self.len > 0).then(|| self.time_at(0))
    }

    /// Returns the thread with the earliest time; the choice among equal times is unspecified but
    /// reproducible.
    #[must_use]
    pub fn first(&self) -> Option<ThreadId> {
        (self.len > 0).then(|| ThreadId(self.heap[0]))
    }

    /// Arms, or moves, the thread's time-out.
    pub fn arm(&mut self, thread: ThreadId, when: K) {
        self.when[thread.index()] = when;
        if self.place[thread.index()] == NONE {
            self.put(self.len, thread.0);
            self.len += 1;
        }
        self.restore(usize::from(self.place[thread.index()]));
    }

    /// Disarms the thread's time-out, if it has one.
    pub fn disarm(&mut self, thread: ThreadId) {
        let place = self.place[thread.index()];
        if place == NONE {
            return;
        }
        self.place[thread.index()] = NONE;
        self.len -= 1;
        if usize::from(place) < self.len {
            self.put(usize::from(place), self.heap[self.len]);
            self.restore(usize::from(place));
        }
    }

    /// Takes one thread that is due, with its time.
    pub fn expire(&mut self, now: K) -> Option<(ThreadId, K)> {
        let when = self.earliest()?;
        if when > now {
            return None;
        }
        let thread = ThreadId(self.heap[0]);
        self.disarm(thread);
        Some((thread, when))
    }

    fn time_at(&self, place: usize) -> K {
        self.when[usize::from(self.heap[place])]
    }

    fn put(&mut self, place: usize, thread: u16) {
        self.heap[place] = thread;
        self.place[usize::from(thread)] = place as u16;
    }

    fn swap(&mut self, one: usize, other: usize) {
        let (a, b) = (self.heap[one], self.heap[other]);
        self.put(one, b);
        self.put(other, a);
    }

    fn restore(&mut self, start: usize) {
        let mut place = start;
        while place > 0 && self.time_at(place) < self.time_at((place - 1) / 2) {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
        while let Some(child) = self.earlier_child(place)
            && self.time_at(child) < self.time_at(place)
        {
            self.swap(place, child);
            place = child;
        }
    }

    fn earlier_child(&self, place: usize) -> Option<usize> {
        let (first, second) = (2 * place + 1, 2 * place + 2);
        match (first < self.len, second < self.len) {
            (false, _) => None,
            (true, true) if self.time_at(second) < self.time_at(first) => Some(second),
            _ => Some(first),
        }
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
        fn expires_in_order(steps in prop::collection::vec((0u8..3, 0u16..16, 0u64..100), 0..200)) {
            let mut timeouts = Timeouts::<16>::new();
            let mut model: BTreeMap<u16, Time> = BTreeMap::new();
            for (step, thread, when) in steps {
                match step {
                    0 => { timeouts.arm(ThreadId(thread), when); model.insert(thread, when); }
                    1 => { timeouts.disarm(ThreadId(thread)); model.remove(&thread); }
                    _ => while let Some((expired, time)) = timeouts.expire(when) {
                        prop_assert_eq!(model.remove(&expired.0), Some(time));
                        prop_assert!(time <= when);
                        prop_assert!(model.values().all(|&other| other >= time));
                    }
                }
                prop_assert_eq!(timeouts.earliest(), model.values().min().copied());
            }
        }
    }
}
