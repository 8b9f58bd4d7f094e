//! Reservations: EDF among constant-bandwidth servers with hard budgets
//!
//! The inside of an EDF band (papers 002, 003 §2.1; Abeni and Buttazzo 1998 with hard reservations):
//! each reservation (C, T) encloses threads, first in, first out; its deadline is the start of its
//! period + T; who has used up C waits for its deadline.

use super::{Membership, Pick, Policy, ServerId};
use crate::budget::Capacity;
use crate::queue::LEVELS;
use crate::{NEVER, ReadyQueue, Refusal, ThreadId, Time, Timeouts};

#[derive(Clone, Copy, Debug)]
struct Reservation {
    limits: Capacity,
    left: Time,
    deadline: Time,
}

impl Reservation {
    /// The rule of the constant-bandwidth server for a new arrival: the old deadline stays where what
    /// is left of the budget does not exceed the bandwidth until then. Nothing left: it waits.
    fn arrive(&mut self, now: Time) {
        let Capacity { capacity, period } = self.limits;
        let rest = self.deadline.saturating_sub(now);
        let exceeds =
            u128::from(self.left) * u128::from(period) > u128::from(rest) * u128::from(capacity);
        if rest == 0 || exceeds {
            self.left = capacity;
            self.deadline = now + period;
        }
    }
}

const fn as_thread(server: ServerId) -> ThreadId {
    ThreadId(server.0)
}

/// EDF among up to `R` reservations (at most 128) for up to `N` threads.
#[derive(Clone, Debug)]
pub struct Reservations<const N: usize, const R: usize> {
    reservations: [Option<Reservation>; R],
    membership: [Option<ServerId>; N],
    threads: ReadyQueue<N>,
    /// With threads and budget, by deadline.
    eligible: Timeouts<R>,
    /// With threads and without budget, by deadline.
    exhausted: Timeouts<R>,
}

impl<const N: usize, const R: usize> Default for Reservations<N, R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize, const R: usize> Reservations<N, R> {
    /// Without reservations.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(R <= LEVELS, "one queue level per reservation") };
        Self {
            reservations: [None; R],
            membership: [None; N],
            threads: ReadyQueue::new(),
            eligible: Timeouts::new(),
            exhausted: Timeouts::new(),
        }
    }

    /// Adds a reservation.
    ///
    /// # Errors
    /// [`Refusal`]: C or T are bad, or there is no room.
    pub fn add_reservation(&mut self, limits: Capacity) -> Result<ServerId, Refusal> {
        let limits = limits.checked()?;
        let free = self.reservations.iter().position(Option::is_none);
        let free = free.ok_or(Refusal::Full)?;
        self.reservations[free] = Some(Reservation {
            limits,
            left: 0,
            deadline: 0,
        });
        Ok(ServerId(free as u16))
    }

    fn reservation(&mut self, id: ServerId) -> Option<&mut Reservation> {
        self.reservations.get_mut(usize::from(id.0))?.as_mut()
    }

    fn place(&mut self, id: ServerId) {
        self.withdraw(id);
        match self.reservation(id).copied() {
            Some(Reservation {
                left: 0, deadline, ..
            }) => self.exhausted.arm(as_thread(id), deadline),
            Some(Reservation { deadline, .. }) => self.eligible.arm(as_thread(id), deadline),
            None => {}
        }
    }

    fn withdraw(&mut self, id: ServerId) {
        self.eligible.disarm(as_thread(id));
        self.exhausted.disarm(as_thread(id));
    }

    fn replenish(&mut self, now: Time) {
        while let Some(thread) = self.exhausted.expire(now) {
            let id = ServerId(thread.0);
            if let Some(reservation) = self.reservation(id) {
                reservation.left = reservation.limits.capacity;
                reservation.deadline += reservation.limits.period;
                if reservation.deadline <= now {
                    reservation.deadline = now + reservation.limits.period;
                }
            }
            self.place(id);
        }
    }
}

impl<const N: usize, const R: usize> Policy for Reservations<N, R> {
    type Parameters = Membership;

    fn add(&mut self, thread: ThreadId, of: Membership, _now: Time) -> Result<(), Refusal> {
        self.reservation(of.0).ok_or(Refusal::BadParameters)?;
        self.membership[thread.index()] = Some(of.0);
        Ok(())
    }

    fn remove(&mut self, thread: ThreadId) {
        self.membership[thread.index()] = None;
    }

    fn set_parameters(
        &mut self,
        thread: ThreadId,
        of: Membership,
        now: Time,
    ) -> Result<(), Refusal> {
        self.reservation(of.0).ok_or(Refusal::BadParameters)?;
        let ready = self.threads.contains(thread);
        if ready {
            self.block(thread, now);
        }
        self.membership[thread.index()] = Some(of.0);
        if ready {
            self.wakeup(thread, now);
        }
        Ok(())
    }

    fn wakeup(&mut self, thread: ThreadId, now: Time) {
        let Some(id) = self.membership[thread.index()] else {
            return;
        };
        let was_idle = self.threads.first_of(id.0 as u8).is_none();
        self.threads.push_back(thread, id.0 as u8);
        if was_idle {
            if let Some(reservation) = self.reservation(id) {
                reservation.arrive(now);
            }
            self.place(id);
        }
    }

    fn block(&mut self, thread: ThreadId, _now: Time) {
        self.threads.remove(thread);
        if let Some(id) = self.membership[thread.index()]
            && self.threads.first_of(id.0 as u8).is_none()
        {
            self.withdraw(id);
        }
    }

    fn yield_now(&mut self, thread: ThreadId, _now: Time) {
        self.threads.rotate(thread);
    }

    fn charge(&mut self, thread: ThreadId, from: Time, until: Time) {
        let Some(id) = self.membership[thread.index()] else {
            return;
        };
        if let Some(reservation) = self.reservation(id) {
            reservation.left = reservation.left.saturating_sub(until - from);
        }
        if self.threads.first_of(id.0 as u8).is_some() {
            self.place(id);
        }
    }

    fn pick(&mut self, now: Time) -> Option<Pick> {
        self.replenish(now);
        let id = ServerId(self.eligible.first()?.0);
        let left = self.reservation(id)?.left;
        let thread = self.threads.first_of(id.0 as u8)?;
        Some(Pick {
            thread,
            until: now.saturating_add(left),
            server: Some(id),
        })
    }

    fn next_event(&self, _now: Time) -> Time {
        self.exhausted.earliest().unwrap_or(NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scheduler;

    fn limits(capacity: Time, period: Time) -> Capacity {
        Capacity { capacity, period }
    }

    #[test]
    fn earliest_deadline_runs_and_no_more_than_its_budget() {
        let mut policy = Reservations::<4, 2>::new();
        let slow = policy.add_reservation(limits(20, 100)).expect("room");
        let fast = policy.add_reservation(limits(5, 20)).expect("room");
        assert_eq!(policy.add_reservation(limits(1, 2)), Err(Refusal::Full));
        let mut scheduler = Scheduler::<_, 4>::new(policy);
        let a = scheduler.add(Membership(slow), 0).expect("room");
        let b = scheduler.add(Membership(fast), 0).expect("room");
        scheduler.wakeup(a, 0);
        scheduler.wakeup(b, 0);
        let mut run = |now, thread, timer| {
            let decision = scheduler.decide(now);
            assert_eq!(
                (decision.thread, decision.timer),
                (thread, timer),
                "at {now}"
            );
            scheduler.dispatched(decision.thread, now);
        };
        run(0, Some(b), 5);
        run(5, Some(a), 20);
        run(20, Some(b), 25);
        run(25, Some(a), 30);
        run(30, None, 40);
        run(40, Some(b), 45);
        run(45, None, 60);
    }
}
