//! Servers: threads in groups, each group with a priority and a budget
//!
//! A thread belongs to one server; a server runs its threads first in, first out, at its own
//! priority, while its budget lasts. With [`crate::budget::Sporadic`] budgets and priorities by
//! period this is the Main VCPU of paper 001 §4.1. Decisions take as long among many threads and
//! servers as among few: eligible servers wait in a bitmap queue, exhausted ones by level and
//! replenishment. A server that gets a budget back and is less important than the running one causes no decision.
//!
//! Three things are opt-in (spec 30-scheduling §5). *Time partitions*: a server may belong to one of
//! `P`, and is then eligible in the slots that the table gives it; 0 (TP0) is always eligible and comes
//! first at equal priority. *EDF bands*: on a priority of TP0 that is a band servers are ordered by the
//! deadlines of their budgets. *Round robin*: equals take turns of a quantum. Without a table, a band
//! and a quantum none of it costs or changes anything: `P` is 1, `S` is 0.

mod eligible;

use crate::budget::Budget;
use crate::policy::fixed_priority::Priority;
use crate::policy::interface::{Pick, Policy};
use crate::policy::time_table::TimeTable;
use crate::queue::{LEVELS, ReadyQueue};
use crate::replenishments::Replenishments;
use crate::thread::{NEVER, Refusal, ThreadId, Time};
use crate::timeouts::Timeouts;

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
    partition: u8,
}

/// The running thread, and the server that is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Running {
    Nobody,
    Foreground(ServerId),
    Background,
}

/// The servers of a time partition that have ready threads, those of bands aside.
#[derive(Clone, Debug)]
struct Lane<const M: usize> {
    /// With budget, by priority.
    eligible: ReadyQueue<M>,
    /// With no budget, or not looked at since they have it again.
    exhausted: Replenishments<M>,
}

/// Policy of up to `M` servers (at most 128) for up to `N` threads, in TP0 and TP1 to TP(P − 1) under a
/// table of up to `S` slots.
#[derive(Clone, Debug)]
pub struct Servers<B, const N: usize, const M: usize, const P: usize = 1, const S: usize = 0> {
    servers: [Option<Server<B>>; M],
    membership: [Option<ServerId>; N],
    /// Ready threads by server.
    threads: ReadyQueue<N>,
    lanes: [Lane<M>; P],
    /// Servers of bands that have ready threads and budget, by priority and deadline.
    band: Timeouts<M, (u8, Time)>,
    /// Priorities of TP0 that are bands, by bit.
    bands: u128,
    table: TimeTable<S>,
    /// Longest turn among equals.
    quantum: Time,
    /// Part of its turn that the running server has used.
    turn: Time,
    running: Running,
    background: bool,
}

const fn as_thread(server: ServerId) -> ThreadId {
    ThreadId(server.0)
}

impl<B: Budget + Copy, const N: usize, const M: usize, const P: usize, const S: usize>
    Servers<B, N, M, P, S>
{
    /// A policy without servers. With `background`, exhausted servers run when no other would.
    #[must_use]
    pub const fn new(background: bool) -> Self {
        const { assert!(M <= LEVELS, "one queue level per server") };
        const { assert!(P > 0, "TP0 is always there") };
        Self {
            servers: [None; M],
            membership: [None; N],
            threads: ReadyQueue::new(),
            lanes: [const {
                Lane {
                    eligible: ReadyQueue::new(),
                    exhausted: Replenishments::new(),
                }
            }; P],
            band: Timeouts::filled((0, 0)),
            bands: 0,
            table: TimeTable::new(),
            quantum: NEVER,
            turn: 0,
            running: Running::Nobody,
            background,
        }
    }

    /// Sets whether exhausted servers run when no other would.
    pub const fn set_background(&mut self, background: bool) {
        self.background = background;
    }

    /// Has equals take turns of so many cycles; [`NEVER`]: they do not.
    pub const fn set_quantum(&mut self, quantum: Time) {
        self.quantum = quantum;
    }

    /// Puts time partitions under a table.
    ///
    /// # Errors
    /// [`Refusal::BadParameters`]: it has a slot of a partition that there cannot be.
    pub fn set_table(&mut self, table: TimeTable<S>) -> Result<(), Refusal> {
        if usize::from(table.partitions()) >= P {
            return Err(Refusal::BadParameters);
        }
        self.table = table;
        Ok(())
    }

    /// Makes a priority of TP0 an EDF band. Before there are servers.
    ///
    /// # Errors
    /// [`Refusal::BadParameters`] where it is one already, or is out of range.
    pub fn add_band(&mut self, priority: Priority) -> Result<(), Refusal> {
        if usize::from(priority.0) >= LEVELS || self.is_band(0, priority) {
            return Err(Refusal::BadParameters);
        }
        self.bands |= 1 << priority.0;
        Ok(())
    }

    /// Returns true if servers of that time partition and priority are ordered by deadline.
    #[must_use]
    #[inline(always)]
    pub const fn is_band(&self, partition: u8, priority: Priority) -> bool {
        partition == 0 && self.bands >> priority.0 & 1 != 0
    }

    /// Adds a server.
    ///
    /// # Errors
    /// [`Refusal`] where there is no room or the priority is out of range.
    pub fn add_server(&mut self, budget: B, priority: Priority) -> Result<ServerId, Refusal> {
        self.add_server_to(0, budget, priority)
    }

    /// Adds a server to a time partition.
    ///
    /// # Errors
    /// [`Refusal`] where there is no room, or priority or partition are out of range.
    pub fn add_server_to(
        &mut self,
        partition: u8,
        budget: B,
        priority: Priority,
    ) -> Result<ServerId, Refusal> {
        if usize::from(priority.0) >= LEVELS || usize::from(partition) >= P {
            return Err(Refusal::BadParameters);
        }
        let id = self.next().ok_or(Refusal::Full)?;
        self.servers[usize::from(id.0)] = Some(Server {
            budget,
            priority,
            partition,
        });
        Ok(id)
    }

    /// Returns the identity of the server that is added next; `None` if there is no room.
    #[must_use]
    pub fn next(&self) -> Option<ServerId> {
        let free = self.servers.iter().position(Option::is_none);
        free.map(|free| ServerId(free as u16))
    }

    /// The server's budget, to read its state.
    #[must_use]
    pub fn budget(&self, server: ServerId) -> Option<&B> {
        self.server(server).map(|server| &server.budget)
    }

    /// The server's priority.
    #[must_use]
    pub fn priority(&self, server: ServerId) -> Option<Priority> {
        self.server(server).map(|server| server.priority)
    }

    /// The server's time partition.
    #[must_use]
    pub fn partition(&self, server: ServerId) -> Option<u8> {
        self.server(server).map(|server| server.partition)
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
        self.reorder(id);
    }

    /// Returns true if the server has ready threads.
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

    fn server(&self, server: ServerId) -> Option<&Server<B>> {
        self.servers.get(usize::from(server.0))?.as_ref()
    }

    fn server_mut(&mut self, server: ServerId) -> Option<&mut Server<B>> {
        self.servers.get_mut(usize::from(server.0))?.as_mut()
    }

    fn run(&mut self, next: Running, now: Time) {
        if next == self.running {
            return;
        }
        if let Running::Foreground(old) = self.running
            && let Some(server) = self.server_mut(old)
        {
            server.budget.stop(now);
            self.reorder(old);
        }
        self.turn = 0;
        self.running = next;
    }
}

impl<B: Budget + Copy, const N: usize, const M: usize, const P: usize, const S: usize> Policy
    for Servers<B, N, M, P, S>
{
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
            self.withdraw(id);
            if self.running == Running::Foreground(id) {
                self.running = Running::Nobody;
                self.turn = 0;
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
            self.reorder(id);
            self.end_turn(id, until - from);
        }
    }

    fn surcharge(&mut self, thread: ThreadId, cycles: Time, now: Time) {
        let Some(id) = self.server_of(thread) else {
            return;
        };
        if let Some(server) = self.server_mut(id) {
            server.budget.charge(now.saturating_sub(cycles), now);
            self.reorder(id);
        }
    }

    fn pick(&mut self, now: Time) -> Option<Pick> {
        match self.first_eligible(now) {
            Some((id, available)) => {
                self.run(Running::Foreground(id), now);
                let thread = self.threads.first_of(id.0 as u8)?;
                Some(Pick {
                    thread,
                    until: now.saturating_add(available.min(self.turn_left(id))),
                    server: Some(id),
                })
            }
            None => {
                self.run(Running::Background, now);
                self.background_pick(now)
            }
        }
    }

    fn next_event(&self, now: Time) -> Time {
        let (partition, end) = self.table.at(now);
        self.next_replenishment(partition).min(end)
    }
}

#[cfg(test)]
mod tests;
