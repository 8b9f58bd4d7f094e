//! Servers: threads in groups, each group with a priority and a budget
//!
//! A thread belongs to one server; a server runs its threads first in, first out, at its own
//! priority, while its budget lasts. With [`crate::budget::Sporadic`] budgets and priorities by
//! period this is the Main VCPU of paper 001 §4.1. Decisions take as long among many threads and
//! servers as among few: eligible servers wait in a bitmap queue, exhausted ones by level and
//! replenishment. Who gets a budget back and is less important than who runs causes no decision.

use super::standing::Standing;
use super::{Pick, Policy, Priority};
use crate::budget::Budget;
use crate::queue::LEVELS;
use crate::{NEVER, ReadyQueue, Refusal, ThreadId, Time};

/// A server: an index below the policy's capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(pub u16);

/// Which server a thread belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership(pub ServerId);

#[derive(Clone, Copy, Debug)]
struct Server<B> {
    budget: B,
    priority: Priority,
}

/// Who runs, and on whose account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Running {
    Nobody,
    Foreground(ServerId),
    Background,
}

/// Policy of up to `M` servers (at most 128) for up to `N` threads.
#[derive(Clone, Debug)]
pub struct Servers<B, const N: usize, const M: usize> {
    servers: [Option<Server<B>>; M],
    membership: [Option<ServerId>; N],
    /// Ready threads by server.
    threads: ReadyQueue<N>,
    /// Servers with ready threads.
    standing: Standing<M>,
    running: Running,
    background: bool,
}

impl<B: Budget + Copy, const N: usize, const M: usize> Servers<B, N, M> {
    /// A policy without servers. With `background`, exhausted servers run when nobody else would.
    #[must_use]
    pub const fn new(background: bool) -> Self {
        Self {
            servers: [None; M],
            membership: [None; N],
            threads: ReadyQueue::new(),
            standing: Standing::new(),
            running: Running::Nobody,
            background,
        }
    }

    /// Adds a server.
    ///
    /// # Errors
    /// [`Refusal`] where there is no room or the priority is out of range.
    pub fn add_server(&mut self, budget: B, priority: Priority) -> Result<ServerId, Refusal> {
        if usize::from(priority.0) >= LEVELS {
            return Err(Refusal::BadParameters);
        }
        let id = self.next().ok_or(Refusal::Full)?;
        self.servers[usize::from(id.0)] = Some(Server { budget, priority });
        Ok(id)
    }

    /// What the next server added will be; `None` where there is no room.
    #[must_use]
    pub fn next(&self) -> Option<ServerId> {
        let free = self.servers.iter().position(Option::is_none);
        free.map(|free| ServerId(free as u16))
    }

    /// The server's budget, to read its state.
    #[must_use]
    pub fn budget(&self, server: ServerId) -> Option<&B> {
        self.servers
            .get(usize::from(server.0))?
            .as_ref()
            .map(|server| &server.budget)
    }

    /// The server's priority.
    #[must_use]
    pub fn priority(&self, server: ServerId) -> Option<Priority> {
        let server = self.servers.get(usize::from(server.0))?.as_ref()?;
        Some(server.priority)
    }

    /// Gives the server another priority, eligible or not, and changes its budget.
    pub(super) fn change(
        &mut self,
        id: ServerId,
        priority: Priority,
        budget: impl FnOnce(&mut B),
        now: Time,
    ) {
        let Some(server) = self.server_mut(id) else {
            return;
        };
        let moved = server.priority != priority;
        server.priority = priority;
        budget(&mut server.budget);
        if moved && self.is_ready(id) {
            self.place(id, now);
        }
    }

    /// Whether the server has ready threads.
    #[must_use]
    pub fn is_ready(&self, server: ServerId) -> bool {
        self.threads.first_of(server.0 as u8).is_some()
    }

    /// Ready threads of the server, first in, first out.
    pub(super) fn ready(&self, server: ServerId) -> impl Iterator<Item = ThreadId> {
        self.threads.of(server.0 as u8)
    }

    fn server_of(&self, thread: ThreadId) -> Option<ServerId> {
        self.membership.get(thread.index()).copied().flatten()
    }

    fn server_mut(&mut self, server: ServerId) -> Option<&mut Server<B>> {
        self.servers.get_mut(usize::from(server.0))?.as_mut()
    }

    /// Puts a server with ready threads where its budget says.
    fn place(&mut self, id: ServerId, now: Time) {
        if let Some(Some(Server { budget, priority })) = self.servers.get(usize::from(id.0)) {
            self.standing.place(id, *priority, budget, now);
        }
    }

    fn level(&self, server: ServerId) -> usize {
        self.priority(server)
            .map_or(LEVELS, |priority| usize::from(priority.0))
    }

    fn run(&mut self, next: Running, now: Time) {
        if let Running::Foreground(old) = self.running
            && next != self.running
            && let Some(server) = self.server_mut(old)
        {
            server.budget.stop(now);
        }
        self.running = next;
    }

    fn first_eligible(&mut self, now: Time) -> Option<(ServerId, Time)> {
        for _ in 0..2 * M {
            let best = self.standing.eligible();
            let level = best.map_or(LEVELS, |best| self.level(best));
            if let Some(due) = self.standing.due_before(level, now) {
                self.place(due, now);
                continue;
            }
            let id = best?;
            let available = self.server_mut(id)?.budget.available(now);
            if available > 0 {
                return Some((id, available));
            }
            self.place(id, now);
        }
        None
    }

    fn background_pick(&self) -> Option<Pick> {
        let server = self.standing.exhausted().filter(|_| self.background)?;
        let thread = self.threads.first_of(server.0 as u8)?;
        Some(Pick {
            thread,
            until: NEVER,
            server: None,
        })
    }
}

impl<B: Budget + Copy, const N: usize, const M: usize> Policy for Servers<B, N, M> {
    type Parameters = Membership;

    fn add(&mut self, thread: ThreadId, parameters: Membership, _now: Time) -> Result<(), Refusal> {
        self.budget(parameters.0).ok_or(Refusal::BadParameters)?;
        self.membership[thread.index()] = Some(parameters.0);
        Ok(())
    }

    fn remove(&mut self, thread: ThreadId) {
        self.membership[thread.index()] = None;
    }

    fn set_parameters(
        &mut self,
        thread: ThreadId,
        parameters: Membership,
        now: Time,
    ) -> Result<(), Refusal> {
        self.budget(parameters.0).ok_or(Refusal::BadParameters)?;
        let ready = self.threads.contains(thread);
        if ready {
            self.block(thread, now);
        }
        self.membership[thread.index()] = Some(parameters.0);
        if ready {
            self.wakeup(thread, now);
        }
        Ok(())
    }

    fn wakeup(&mut self, thread: ThreadId, now: Time) {
        let Some(id) = self.server_of(thread) else {
            return;
        };
        let was_idle = self.threads.first_of(id.0 as u8).is_none();
        self.threads.push_back(thread, id.0 as u8);
        if was_idle && let Some(server) = self.server_mut(id) {
            server.budget.ready(now);
            self.place(id, now);
        }
    }

    fn block(&mut self, thread: ThreadId, now: Time) {
        self.threads.remove(thread);
        let Some(id) = self.server_of(thread) else {
            return;
        };
        if self.threads.first_of(id.0 as u8).is_none() {
            if let Some(server) = self.server_mut(id) {
                server.budget.idle(now);
            }
            self.standing.withdraw(id);
            if self.running == Running::Foreground(id) {
                self.running = Running::Nobody;
            }
        }
    }

    fn yield_now(&mut self, thread: ThreadId, _now: Time) {
        self.threads.rotate(thread);
    }

    fn favour(&mut self, thread: ThreadId) {
        self.threads.bring_forward(thread);
    }

    fn charge(&mut self, thread: ThreadId, from: Time, until: Time) {
        if let Some(id) = self.server_of(thread)
            && self.running == Running::Foreground(id)
            && let Some(server) = self.server_mut(id)
        {
            server.budget.charge(from, until);
        }
    }

    fn surcharge(&mut self, thread: ThreadId, cycles: Time, now: Time) {
        let server = self.server_of(thread).and_then(|id| self.server_mut(id));
        if let Some(server) = server {
            server.budget.charge(now.saturating_sub(cycles), now);
        }
    }

    fn pick(&mut self, now: Time) -> Option<Pick> {
        match self.first_eligible(now) {
            Some((id, available)) => {
                self.run(Running::Foreground(id), now);
                let thread = self.threads.first_of(id.0 as u8)?;
                Some(Pick {
                    thread,
                    until: now.saturating_add(available),
                    server: Some(id),
                })
            }
            None => {
                self.run(Running::Background, now);
                self.background_pick()
            }
        }
    }

    fn next_event(&self, _now: Time) -> Time {
        let level = match self.running {
            Running::Foreground(id) => self.level(id),
            Running::Background | Running::Nobody => LEVELS,
        };
        self.standing.next_before(level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scheduler;
    use crate::budget::{Capacity, Deferrable};

    #[test]
    fn an_exhausted_server_gives_way_and_comes_back() {
        let mut policy = Servers::<Deferrable, 4, 2>::new(false);
        let budget =
            |capacity, period| Deferrable::new(Capacity { capacity, period }, 0).expect("valid");
        let fast = policy.add_server(budget(3, 10), Priority(0)).expect("room");
        let slow = policy
            .add_server(budget(20, 40), Priority(1))
            .expect("room");
        let mut scheduler = Scheduler::<_, 4>::new(policy);
        let a = scheduler.add(Membership(fast), 0).expect("room");
        let b = scheduler.add(Membership(slow), 0).expect("room");
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
        run(0, Some(a), 3);
        run(3, Some(b), 10);
        run(10, Some(a), 13);
        run(13, Some(b), 20);
        run(20, Some(a), 23);
        run(23, Some(b), 29);
        run(29, None, 30);
        run(30, Some(a), 33);
    }
}
