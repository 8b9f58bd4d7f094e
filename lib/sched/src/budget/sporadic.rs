//! Sporadic server, corrected
//!
//! Sprunt's sporadic server as corrected by Stanovich, Baker, Wang and Harbour (RTAS 2010): no
//! premature replenishment, no amplified budget (the POSIX server has both). The budget is a list
//! of chunks, each usable from a time on, ordered by time, summing to the capacity at all times.
//! The list is bounded: where it is full, what is unused of a chunk is merged with the *later*
//! neighbour, never the earlier, so that merging only ever delays. Spec 30-scheduling, details.

use crate::budget::interface::{Budget, Capacity};
use crate::thread::{NEVER, Refusal, Time};

/// A part of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// When it may be used.
    pub usable: Time,
    /// Cycles.
    pub amount: Time,
}

/// Budget of a corrected sporadic server with at most `K` chunks.
#[derive(Clone, Copy, Debug)]
pub struct Sporadic<const K: usize> {
    limits: Capacity,
    chunks: [Chunk; K],
    len: usize,
    /// Used of the first chunk, not yet split off.
    used: Time,
}

impl<const K: usize> Sporadic<K> {
    /// Full from `now` on.
    ///
    /// # Errors
    /// [`Refusal::BadParameters`], also for `K` = 0.
    pub fn new(limits: Capacity, now: Time) -> Result<Self, Refusal> {
        let limits = limits.checked()?;
        let mut chunks = [Chunk {
            usable: 0,
            amount: 0,
        }; K];
        *chunks.first_mut().ok_or(Refusal::BadParameters)? = Chunk {
            usable: now,
            amount: limits.capacity,
        };
        Ok(Self {
            limits,
            chunks,
            len: 1,
            used: 0,
        })
    }

    /// The list, first chunk first; sums to the capacity.
    #[must_use]
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks[..self.len]
    }

    fn first(&self) -> Chunk {
        self.chunks[0]
    }

    fn remove(&mut self, place: usize) -> Chunk {
        let removed = self.chunks[place];
        self.len -= 1;
        // There are few: a loop is shorter than a call of `memmove`.
        for place in place..self.len {
            self.chunks[place] = self.chunks[place + 1];
        }
        removed
    }

    /// Appends what comes back; never before what is in the list already.
    fn append(&mut self, usable: Time, amount: Time) {
        if self.len > 0 && self.chunks[self.len - 1].usable >= usable {
            self.chunks[self.len - 1].amount += amount;
        } else {
            self.chunks[self.len] = Chunk { usable, amount };
            self.len += 1;
        }
    }

    fn retire_first(&mut self) {
        let Chunk { usable, amount } = self.remove(0);
        self.used -= amount;
        self.append(usable + self.limits.period, amount);
    }

    /// Pushes the first chunk back by an overrun, and with it what it would overtake.
    fn delay_first(&mut self) {
        self.chunks[0].usable += core::mem::take(&mut self.used);
        self.merge_overtaken();
    }

    fn merge_overtaken(&mut self) {
        while self.len > 1 && self.chunks[1].usable <= self.chunks[0].usable + self.chunks[0].amount
        {
            self.chunks[0].amount += self.remove(1).amount;
        }
    }
}

impl<const K: usize> Budget for Sporadic<K> {
    fn ready(&mut self, now: Time) {
        if self.first().usable < now {
            self.chunks[0].usable = now;
            self.merge_overtaken();
        }
    }

    fn stop(&mut self, _now: Time) {
        if self.used == 0 {
            return;
        }
        let used = core::mem::take(&mut self.used);
        let Chunk { usable, amount } = self.first();
        let rest = amount - used;
        if self.len < K {
            self.chunks[0].amount = rest;
            self.append(usable + self.limits.period, used);
        } else {
            self.remove(0);
            match self.len {
                0 => self.append(usable + self.limits.period, amount),
                _ => {
                    self.chunks[0].amount += rest;
                    self.append(usable + self.limits.period, used);
                }
            }
        }
    }

    fn charge(&mut self, from: Time, until: Time) {
        self.used += until - from;
        for _ in 0..K {
            if self.used < self.first().amount {
                break;
            }
            self.retire_first();
            if self.first().usable > until {
                self.delay_first();
                break;
            }
        }
    }

    fn available(&self, now: Time) -> Time {
        let Chunk { usable, amount } = self.first();
        if usable <= now {
            amount.saturating_sub(self.used)
        } else {
            0
        }
    }

    fn next_replenishment(&self, now: Time) -> Time {
        let Chunk { usable, .. } = self.first();
        if usable > now { usable } else { NEVER }
    }

    /// A chunk is a job of the sporadic task that the server is: released when it is usable.
    fn deadline(&self) -> Time {
        self.first().usable.saturating_add(self.limits.period)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn list<const K: usize>(budget: &Sporadic<K>) -> Vec<(Time, Time)> {
        budget
            .chunks()
            .iter()
            .map(|chunk| (chunk.amount, chunk.usable))
            .collect()
    }

    /// Paper 001, figure 4.3, schedule (A): VCPU1 = 20/50 beside VCPU0 = 10/40 at t = 1, 41, 81 and
    /// an I/O VCPU of 4 %. Lists as (amount, usable from).
    #[test]
    fn figure_4_3_schedule_a() {
        let mut vcpu1 = Sporadic::<8>::new(
            Capacity {
                capacity: 20,
                period: 50,
            },
            0,
        )
        .expect("valid");
        vcpu1.ready(0);
        vcpu1.charge(0, 1);
        vcpu1.stop(1);
        assert_eq!(list(&vcpu1), [(19, 0), (1, 50)]);
        vcpu1.charge(11, 28);
        vcpu1.idle(28);
        assert_eq!(list(&vcpu1), [(2, 0), (18, 50)]);
        vcpu1.ready(40);
        assert_eq!(list(&vcpu1), [(2, 40), (18, 50)]);
        vcpu1.charge(40, 41);
        vcpu1.stop(41);
        assert_eq!(list(&vcpu1), [(1, 40), (18, 50), (1, 90)]);
        vcpu1.charge(51, 52);
        assert_eq!(list(&vcpu1), [(18, 50), (2, 90)]);
        vcpu1.charge(52, 68);
        vcpu1.idle(68);
        assert_eq!(list(&vcpu1), [(2, 50), (2, 90), (16, 100)]);
        vcpu1.ready(80);
        vcpu1.charge(80, 81);
        vcpu1.stop(81);
        assert_eq!(list(&vcpu1), [(1, 80), (2, 90), (16, 100), (1, 130)]);
        vcpu1.charge(91, 92);
        vcpu1.charge(92, 94);
        assert_eq!(list(&vcpu1), [(16, 100), (2, 130), (2, 140)]);
        assert_eq!(
            (vcpu1.available(94), vcpu1.next_replenishment(94)),
            (0, 100)
        );
    }

    #[test]
    fn overrun_delays_what_follows() {
        let mut budget = Sporadic::<4>::new(
            Capacity {
                capacity: 5,
                period: 20,
            },
            0,
        )
        .expect("valid");
        budget.ready(0);
        budget.charge(0, 7);
        assert_eq!(list(&budget), [(5, 22)]);
    }

    /// Drives a server with random phases and checks it against the definition of a periodic
    /// task's demand: never more than C in a window of T that starts when it became ready.
    fn never_exceeds<const K: usize>(steps: &[(bool, u64)], limits: Capacity) {
        let mut budget = Sporadic::<K>::new(limits, 0).expect("valid");
        let mut executed: Vec<(Time, Time)> = Vec::new();
        let (mut now, mut awake) = (0, false);
        for &(run, span) in steps {
            if run && !awake {
                budget.ready(now);
                awake = true;
            }
            let granted = if run {
                span.min(budget.available(now))
            } else {
                0
            };
            if granted > 0 {
                budget.charge(now, now + granted);
                executed.push((now, now + granted));
                now += granted;
            } else {
                budget.idle(now);
                awake = false;
                now += span;
            }
            let sum: Time = budget.chunks().iter().map(|chunk| chunk.amount).sum();
            assert_eq!(sum, limits.capacity, "the chunks sum to the capacity");
            assert!(
                budget
                    .chunks()
                    .windows(2)
                    .all(|pair| pair[0].usable < pair[1].usable)
            );
        }
        for &(start, _) in &executed {
            let end = start + limits.period;
            let used: Time = executed
                .iter()
                .map(|&(from, until)| until.min(end).saturating_sub(from.max(start)))
                .sum();
            assert!(
                used <= limits.capacity,
                "{used} in the period from {start}: {executed:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn never_more_than_c_in_any_t(
            steps in prop::collection::vec((any::<bool>(), 1u64..30), 1..80),
            capacity in 1u64..20, spare in 0u64..40,
        ) {
            let limits = Capacity { capacity, period: capacity + spare };
            never_exceeds::<1>(&steps, limits);
            never_exceeds::<2>(&steps, limits);
            never_exceeds::<8>(&steps, limits);
        }
    }
}
