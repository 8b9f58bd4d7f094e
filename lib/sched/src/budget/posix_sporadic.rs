//! Sporadic server as POSIX has it, defects included
//!
//! `SCHED_SPORADIC` of IEEE 1003.1: one activation time for all that is used until the server blocks or
//! runs out. What was replenished during an activation thus comes back a period after the
//! activation's start, not after its own: premature replenishment, and with it more than C in a T
//! (Stanovich et al., RTAS 2010; paper 001, figure 4.3 (B)). Kept for comparison;
//! [`super::Sporadic`] is the one to use.

use crate::budget::interface::{Budget, Capacity};
use crate::budget::sporadic::Chunk;
use crate::thread::{NEVER, Refusal, Time};

/// Budget of a POSIX sporadic server with at most `K` pending replenishments.
#[derive(Clone, Copy, Debug)]
pub struct PosixSporadic<const K: usize> {
    limits: Capacity,
    remaining: Time,
    activation: Time,
    used: Time,
    pending: [Chunk; K],
    len: usize,
}

impl<const K: usize> PosixSporadic<K> {
    /// Full from `now` on.
    ///
    /// # Errors
    /// [`Refusal::BadParameters`], also for `K` = 0.
    pub fn new(limits: Capacity, now: Time) -> Result<Self, Refusal> {
        let limits = limits.checked()?;
        if K == 0 {
            return Err(Refusal::BadParameters);
        }
        Ok(Self {
            limits,
            remaining: limits.capacity,
            activation: now,
            used: 0,
            pending: [Chunk {
                usable: 0,
                amount: 0,
            }; K],
            len: 0,
        })
    }

    fn replenish(&mut self, now: Time) {
        while self.len > 0 && self.pending[0].usable <= now {
            let Chunk { usable, amount } = self.pending[0];
            self.pending.copy_within(1..self.len, 0);
            self.len -= 1;
            if self.remaining == 0 {
                self.activation = usable;
            }
            self.remaining += amount;
        }
    }

    /// Plans the return of what was used since the activation.
    fn end_activation(&mut self) {
        let amount = core::mem::take(&mut self.used);
        if amount == 0 {
            return;
        }
        let usable = self.activation + self.limits.period;
        if self.len == K {
            self.pending[K - 1].amount += amount;
            self.pending[K - 1].usable = usable;
        } else {
            self.pending[self.len] = Chunk { usable, amount };
            self.len += 1;
        }
    }
}

impl<const K: usize> Budget for PosixSporadic<K> {
    fn ready(&mut self, now: Time) {
        self.replenish(now);
        self.activation = now;
    }

    fn stop(&mut self, _now: Time) {}

    fn idle(&mut self, _now: Time) {
        self.end_activation();
    }

    fn charge(&mut self, from: Time, until: Time) {
        self.replenish(from);
        self.used += until - from;
        self.remaining = self.remaining.saturating_sub(until - from);
        if self.remaining == 0 {
            self.end_activation();
        }
    }

    fn available(&self, now: Time) -> Time {
        let due = self.pending[..self.len].iter();
        let due = due.take_while(|chunk| chunk.usable <= now);
        self.remaining + due.map(|chunk| chunk.amount).sum::<Time>()
    }

    fn next_replenishment(&self, now: Time) -> Time {
        let later = self.pending[..self.len]
            .iter()
            .find(|chunk| chunk.usable > now);
        later.map_or(NEVER, |chunk| chunk.usable)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::budget::Sporadic;
    use std::vec::Vec;

    const LIMITS: Capacity = Capacity {
        capacity: 20,
        period: 50,
    };
    const PERIODS: Time = 4;
    /// The demand of VCPU1 in figure 4.3: when it becomes ready, and when another server has the
    /// processor (VCPU0 at 1, 41, 81; the I/O VCPU for a short while after).
    const READY: [Time; 3] = [0, 40, 80];
    const TAKEN: [(Time, Time); 3] = [(1, 11), (41, 51), (81, 91)];
    const SLEEPS: [(Time, Time); 2] = [(28, 40), (68, 80)];

    fn within(spans: &[(Time, Time)], now: Time) -> bool {
        spans
            .iter()
            .any(|&(from, until)| (from..until).contains(&now))
    }

    /// Runs a thread that always has work, cycle by cycle, whenever the budget allows. Returns the times at which it ran.
    fn drive(mut budget: impl Budget) -> Vec<Time> {
        let (mut ran, mut running) = (Vec::new(), false);
        for now in 0..PERIODS * LIMITS.period {
            if READY.contains(&now) {
                budget.ready(now);
            }
            if SLEEPS.iter().any(|&(from, _)| from == now) {
                budget.idle(now);
                running = false;
            }
            let runs = !within(&TAKEN, now) && !within(&SLEEPS, now) && budget.available(now) > 0;
            if runs {
                budget.charge(now, now + 1);
                ran.push(now);
            } else if running {
                budget.stop(now);
            }
            running = runs;
        }
        ran
    }

    /// Demand as above over four periods from the first activation, in which a sporadic task of C and T
    /// executes at most 4·C: the POSIX server exceeds that, the corrected one does not.
    #[test]
    fn amplifies_where_the_corrected_one_does_not() {
        let posix = drive(PosixSporadic::<8>::new(LIMITS, 0).expect("valid"));
        let corrected = drive(Sporadic::<8>::new(LIMITS, 0).expect("valid"));
        let most = (PERIODS * LIMITS.capacity) as usize;
        assert!(posix.len() > most, "{posix:?}");
        assert!(corrected.len() <= most, "{corrected:?}");
    }
}
