//! VCPUs: Main VCPUs by rate, I/O VCPUs at the priority of the VCPUs for which they work
//!
//! Paper 001 §4.1, spec 30-scheduling §1–2. A Main VCPU is a corrected sporadic server. An I/O VCPU
//! serves the bottom halves of one device class: each of its threads works for one Main VCPU; while
//! threads are ready it has the priority and, from its next start, the period of the most important
//! Main VCPU among theirs. An interrupt is thereby paid for by its device class and never runs
//! before what matters more than its cause.
//!
//! Main VCPUs are ordered by rate; on choice by deadline, or by priorities that are given, in time
//! partitions, with EDF bands (spec 30-scheduling §5). A reservation of a band is a Main VCPU, too: what it
//! takes from less important VCPUs is never more than C in T (`doc/design/time-and-budgets.md`).

mod budget;
mod limits;

pub use budget::VcpuBudget;

use crate::budget::{BandwidthPreserving, Capacity, Sporadic, Utilisation};
use crate::policy::fixed_priority::Priority;
use crate::policy::interface::{Pick, Policy};
use crate::policy::server::{Membership, ServerId, Servers};
use crate::queue::LEVELS;
use crate::thread::{NEVER, Refusal, ThreadId, Time};

/// Order of Main VCPUs by importance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// A shorter period.
    #[default]
    RateMonotonic,
    /// An earlier deadline: T after what it has of its budget was there.
    EarliestDeadline,
    /// By the priority that it was given: a [`Place`].
    FixedPriority,
}

/// Position of a Main VCPU under [`Order::FixedPriority`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a time partition, 0 = TP0, at a priority that is no band of it.
    Partition(u8, Priority),
    /// A reservation: in the EDF band of this priority.
    Band(Priority),
}

/// The VCPU on which a thread runs, and the one for which it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The VCPU it runs on.
    pub vcpu: ServerId,
    /// The Main VCPU it works for: its own where that is a Main VCPU.
    pub cause: ServerId,
}

impl Binding {
    /// A thread on a Main VCPU.
    #[must_use]
    pub const fn main(vcpu: ServerId) -> Self {
        Self { vcpu, cause: vcpu }
    }
}

/// Priority of an I/O VCPU that works for no VCPU.
const LEAST: Priority = Priority(LEVELS as u8 - 1);
/// Of all Main VCPUs, where deadlines order them: a band.
const SAME: Priority = Priority(0);
/// Most important priority of threads where rates or deadlines order VCPUs. All VCPUs are more important, if they are
/// no more than 48.
pub const BACKGROUND: Priority = Priority(48);

/// Policy of up to `M` VCPUs (at most 128) for up to `N` threads, with up to `K` chunks of budget
/// per Main VCPU, in up to `P` time partitions under a table of up to `S` slots.
#[derive(Clone, Debug)]
pub struct Vcpus<
    const N: usize,
    const M: usize,
    const K: usize,
    const P: usize = 1,
    const S: usize = 0,
> {
    servers: Servers<VcpuBudget<K>, N, M, P, S>,
    order: Order,
    /// Of Main VCPUs: the period, twice. Of I/O VCPUs: the shortest and the longest of those that they
    /// may work for.
    periods: [[Time; 2]; M],
    bindings: [Option<Binding>; N],
    /// Servers at a priority of their own, by bit, and those of them that are less important than all VCPUs.
    at_priority: u128,
    background: u128,
}

impl<const N: usize, const M: usize, const K: usize, const P: usize, const S: usize>
    Vcpus<N, M, K, P, S>
{
    /// A policy without VCPUs, by rate. With `background`, those without budget run when no other would.
    #[must_use]
    pub const fn new(background: bool) -> Self {
        Self {
            servers: Servers::new(background),
            order: Order::RateMonotonic,
            periods: [[0; 2]; M],
            bindings: [None; N],
            at_priority: 0,
            background: 0,
        }
    }

    /// Orders Main VCPUs; before there are any.
    ///
    /// # Errors
    /// [`Refusal::BadParameters`] where there are.
    pub fn set_order(&mut self, order: Order) -> Result<(), Refusal> {
        if self.servers.next() != Some(ServerId(0)) {
            return Err(Refusal::BadParameters);
        }
        if order == Order::EarliestDeadline && self.order != order {
            self.servers.add_band(SAME)?;
        }
        self.order = order;
        Ok(())
    }

    /// Adds a Main VCPU by rate, of equals the first added is the more important; or by deadline. Less
    /// important ones move down a rank; budgets stay as they are.
    ///
    /// # Errors
    /// [`Refusal`]: C or T are bad, there is no room, or priorities are given.
    pub fn add_main(&mut self, limits: Capacity, now: Time) -> Result<ServerId, Refusal> {
        let priority = match self.order {
            Order::RateMonotonic => LEAST,
            Order::EarliestDeadline => SAME,
            Order::FixedPriority => return Err(Refusal::BadParameters),
        };
        let id = self.add(0, priority, limits, now)?;
        if self.order == Order::RateMonotonic {
            self.rank(now);
        }
        Ok(id)
    }

    /// Adds a Main VCPU where priorities are given.
    ///
    /// # Errors
    /// [`Refusal`]: C or T are bad, there is no room, priorities are not given, it is a reservation where no
    /// band is, or none where one is.
    pub fn add_placed(
        &mut self,
        limits: Capacity,
        place: Place,
        now: Time,
    ) -> Result<ServerId, Refusal> {
        let (partition, priority, reservation) = match place {
            Place::Partition(number, priority) => (number, priority, false),
            Place::Band(priority) => (0, priority, true),
        };
        let fits = priority < LEAST && self.servers.is_band(partition, priority) == reservation;
        if self.order != Order::FixedPriority || !fits {
            return Err(Refusal::BadParameters);
        }
        self.add(partition, priority, limits, now)
    }

    fn add(
        &mut self,
        partition: u8,
        priority: Priority,
        limits: Capacity,
        now: Time,
    ) -> Result<ServerId, Refusal> {
        let budget = VcpuBudget::Main(Sporadic::new(limits, now)?);
        let id = self.servers.add_server_to(partition, budget, priority)?;
        self.periods[usize::from(id.0)] = [limits.period; 2];
        Ok(id)
    }

    /// Adds a priority, in TP0, for threads that have no VCPU: with a budget, or without a limit. If there are VCPUs, it
    /// is in the background of all of them.
    ///
    /// # Errors
    /// [`Refusal`]: C or T are bad, there is no room, the priority is that of a band, more important than that of a Main
    /// VCPU, or than [`BACKGROUND`] where rates or deadlines order VCPUs.
    pub fn add_priority(
        &mut self,
        priority: Priority,
        limits: Option<Capacity>,
        now: Time,
    ) -> Result<ServerId, Refusal> {
        let has_vcpus = self.mains().next().is_some();
        let is_behind = match self.order == Order::FixedPriority {
            true => self
                .mains()
                .all(|id| self.servers.priority(id) < Some(priority)),
            false => priority >= BACKGROUND,
        };
        if !is_behind || self.servers.is_band(0, priority) {
            return Err(Refusal::BadParameters);
        }
        let budget = match limits {
            None => VcpuBudget::Whole,
            Some(limits) => VcpuBudget::Main(Sporadic::new(limits, now)?),
        };
        let id = self.servers.add_server_to(0, budget, priority)?;
        self.periods[usize::from(id.0)] = [limits.map_or(NEVER, |limits| limits.period); 2];
        self.at_priority |= 1 << id.0;
        self.background |= u128::from(has_vcpus) << id.0;
        Ok(id)
    }

    /// The Main VCPUs.
    fn mains(&self) -> impl Iterator<Item = ServerId> {
        let is_main = |id: &ServerId| {
            matches!(self.servers.budget(*id), Some(VcpuBudget::Main(_)))
                && self.at_priority >> id.0 & 1 == 0
        };
        (0..M as u16).map(ServerId).filter(is_main)
    }

    /// Gives Main VCPUs their priorities, and I/O VCPUs those of the VCPUs for which they work.
    fn rank(&mut self, now: Time) {
        let mut mains = [ServerId(0); M];
        let mut count = 0;
        for (place, id) in mains.iter_mut().zip(self.mains()) {
            *place = id;
            count += 1;
        }
        let Some(mains) = mains.get_mut(..count) else {
            return;
        };
        mains.sort_unstable_by_key(|id| (self.periods[usize::from(id.0)], *id));
        for (rank, &id) in mains.iter().enumerate() {
            let priority = Priority(rank.min(LEVELS - 1) as u8);
            self.servers.change(id, priority, |_| {}, now);
        }
        for id in (0..M as u16).map(ServerId) {
            self.inherit(id, None, now);
        }
    }

    /// Adds an I/O VCPU; it is least important until it works for a VCPU. `periods` are the shortest
    /// and the longest of the Main VCPUs that it may work for.
    ///
    /// # Errors
    /// [`Refusal`]: U·T is nothing, or there is no room.
    pub fn add_io(
        &mut self,
        utilisation: Utilisation,
        periods: [Time; 2],
        now: Time,
    ) -> Result<ServerId, Refusal> {
        let budget = VcpuBudget::Io(BandwidthPreserving::new(utilisation, periods[1], now)?);
        let id = self.servers.add_server(budget, LEAST)?;
        self.periods[usize::from(id.0)] = periods;
        Ok(id)
    }

    /// The servers, to read their state.
    #[must_use]
    pub const fn servers(&self) -> &Servers<VcpuBudget<K>, N, M, P, S> {
        &self.servers
    }

    /// The servers, to set their optional features.
    pub const fn servers_mut(&mut self) -> &mut Servers<VcpuBudget<K>, N, M, P, S> {
        &mut self.servers
    }

    /// Returns true if an I/O VCPU may work for it: that is always eligible. In a band it has the deadlines of its own periods.
    fn may_wait(&self, id: ServerId) -> bool {
        self.servers.partition(id) == Some(0)
    }

    fn checked(&self, binding: Binding) -> Result<Binding, Refusal> {
        let is_main = |id| matches!(self.servers.budget(id), Some(VcpuBudget::Main(_)));
        let fits = match self.servers.budget(binding.vcpu) {
            Some(VcpuBudget::Main(_) | VcpuBudget::Whole) => binding.cause == binding.vcpu,
            Some(VcpuBudget::Io(_)) => {
                let [shortest, longest] = self.periods[usize::from(binding.vcpu.0)];
                let within = |period: &[Time; 2]| (shortest..=longest).contains(&period[0]);
                let period = self.periods.get(usize::from(binding.cause.0));
                is_main(binding.cause) && self.may_wait(binding.cause) && period.is_some_and(within)
            }
            None => false,
        };
        if fits {
            Ok(binding)
        } else {
            Err(Refusal::BadParameters)
        }
    }

    /// Gives an I/O VCPU the priority and period of the most important of those it works for, with
    /// `newcomer` among them.
    fn inherit(&mut self, vcpu: ServerId, newcomer: Option<ServerId>, now: Time) {
        if !matches!(self.servers.budget(vcpu), Some(VcpuBudget::Io(_))) {
            return;
        }
        let cause = |thread: ThreadId| Some(self.bindings[thread.index()]?.cause);
        let causes = self.servers.ready(vcpu).filter_map(cause).chain(newcomer);
        let period = |id: ServerId| self.periods[usize::from(id.0)][0];
        let ranked = causes.filter_map(|id| Some((self.servers.priority(id)?, period(id))));
        let Some((priority, period)) = ranked.min() else {
            return;
        };
        let adopt = |budget: &mut VcpuBudget<K>| {
            if let VcpuBudget::Io(budget) = budget {
                budget.work_for(period);
            }
        };
        self.servers.change(vcpu, priority, adopt, now);
    }
}

impl<const N: usize, const M: usize, const K: usize, const P: usize, const S: usize> Policy
    for Vcpus<N, M, K, P, S>
{
    type Parameters = Binding;

    fn add(&mut self, thread: ThreadId, binding: Binding, now: Time) -> Result<(), Refusal> {
        let binding = self.checked(binding)?;
        self.servers.add(thread, Membership(binding.vcpu), now)?;
        self.bindings[thread.index()] = Some(binding);
        Ok(())
    }

    fn remove(&mut self, thread: ThreadId) {
        self.servers.remove(thread);
        self.bindings[thread.index()] = None;
    }

    fn set_parameters(
        &mut self,
        thread: ThreadId,
        binding: Binding,
        now: Time,
    ) -> Result<(), Refusal> {
        let binding = self.checked(binding)?;
        let old = self.bindings[thread.index()].replace(binding);
        self.inherit(binding.vcpu, Some(binding.cause), now);
        self.servers
            .set_parameters(thread, Membership(binding.vcpu), now)?;
        for changed in old.into_iter().chain([binding]) {
            self.inherit(changed.vcpu, None, now);
        }
        Ok(())
    }

    fn is_background(&self, thread: ThreadId) -> bool {
        let binding = self.bindings.get(thread.index()).copied().flatten();
        binding.is_some_and(|binding| self.background >> binding.vcpu.0 & 1 != 0)
    }

    fn wakeup(&mut self, thread: ThreadId, now: Time) {
        if let Some(binding) = self.bindings[thread.index()] {
            self.inherit(binding.vcpu, Some(binding.cause), now);
        }
        self.servers.wakeup(thread, now);
    }

    fn block(&mut self, thread: ThreadId, now: Time) {
        self.servers.block(thread, now);
        if let Some(binding) = self.bindings[thread.index()] {
            self.inherit(binding.vcpu, None, now);
        }
    }

    fn yield_now(&mut self, thread: ThreadId, now: Time) {
        self.servers.yield_now(thread, now);
    }

    fn favour(&mut self, thread: ThreadId) {
        self.servers.favour(thread);
    }

    fn charge(&mut self, thread: ThreadId, from: Time, until: Time) {
        self.servers.charge(thread, from, until);
    }

    fn surcharge(&mut self, thread: ThreadId, cycles: Time, now: Time) {
        self.servers.surcharge(thread, cycles, now);
    }

    fn pick(&mut self, now: Time) -> Option<Pick> {
        self.servers.pick(now)
    }

    fn next_event(&self, now: Time) -> Time {
        self.servers.next_event(now)
    }
}

#[cfg(test)]
mod tests;
