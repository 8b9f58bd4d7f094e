//! VCPUs: Main VCPUs by rate, I/O VCPUs at the priority of whom they work for
//!
//! Paper 001 §4.1, spec 30-scheduling §1–2. A Main VCPU is a corrected sporadic server. An I/O VCPU
//! serves the bottom halves of one device class: each of its threads works for one Main VCPU; while
//! threads are ready it has the priority and, from its next start, the period of the most important
//! Main VCPU among theirs. An interrupt is thereby paid for by its device class and never runs
//! before what matters more than its cause.

use super::{Membership, Pick, Policy, Priority, ServerId, Servers};
use crate::budget::{BandwidthPreserving, Budget, Capacity, Sporadic, Utilisation};
use crate::queue::LEVELS;
use crate::{Refusal, ThreadId, Time};

/// Budget of either kind of VCPU.
#[derive(Clone, Copy, Debug)]
pub enum VcpuBudget<const K: usize> {
    /// A Main VCPU.
    Main(Sporadic<K>),
    /// An I/O VCPU.
    Io(BandwidthPreserving),
}

macro_rules! either {
    ($budget:expr, $name:ident => $call:expr) => {
        match $budget {
            VcpuBudget::Main($name) => $call,
            VcpuBudget::Io($name) => $call,
        }
    };
}

impl<const K: usize> Budget for VcpuBudget<K> {
    fn ready(&mut self, now: Time) {
        either!(self, budget => budget.ready(now));
    }
    fn stop(&mut self, now: Time) {
        either!(self, budget => budget.stop(now));
    }
    fn idle(&mut self, now: Time) {
        either!(self, budget => budget.idle(now));
    }
    fn charge(&mut self, from: Time, until: Time) {
        either!(self, budget => budget.charge(from, until));
    }
    fn available(&self, now: Time) -> Time {
        either!(self, budget => budget.available(now))
    }
    fn next_replenishment(&self, now: Time) -> Time {
        either!(self, budget => budget.next_replenishment(now))
    }
}

/// Where a thread runs, and for whom.
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

/// Of an I/O VCPU that works for nobody.
const LEAST: Priority = Priority(LEVELS as u8 - 1);

/// Policy of up to `M` VCPUs (at most 128) for up to `N` threads, with up to `K` chunks of budget
/// per Main VCPU.
#[derive(Clone, Debug)]
pub struct Vcpus<const N: usize, const M: usize, const K: usize> {
    servers: Servers<VcpuBudget<K>, N, M>,
    /// Of Main VCPUs: the period, twice. Of I/O VCPUs: the shortest and the longest of those that they
    /// may work for.
    periods: [[Time; 2]; M],
    bindings: [Option<Binding>; N],
}

impl<const N: usize, const M: usize, const K: usize> Vcpus<N, M, K> {
    /// A policy without VCPUs. With `background`, those without budget run when nobody else would.
    #[must_use]
    pub const fn new(background: bool) -> Self {
        Self {
            servers: Servers::new(background),
            periods: [[0; 2]; M],
            bindings: [None; N],
        }
    }

    /// Adds a Main VCPU: rate-monotonic, of equals the first added is the more important. Who is
    /// less important moves down a rank; budgets stay as they are.
    ///
    /// # Errors
    /// [`Refusal`]: C or T are bad, or there is no room.
    pub fn add_main(&mut self, limits: Capacity, now: Time) -> Result<ServerId, Refusal> {
        let budget = VcpuBudget::Main(Sporadic::new(limits, now)?);
        let id = self.servers.add_server(budget, LEAST)?;
        self.periods[usize::from(id.0)] = [limits.period; 2];
        self.rank(now);
        Ok(id)
    }

    /// Gives Main VCPUs their priorities, and I/O VCPUs those of whom they work for.
    fn rank(&mut self, now: Time) {
        let main = |id: &u16| {
            matches!(
                self.servers.budget(ServerId(*id)),
                Some(VcpuBudget::Main(_))
            )
        };
        let mut mains = [ServerId(0); M];
        let mut count = 0;
        for (place, id) in mains.iter_mut().zip((0..M as u16).filter(main)) {
            *place = ServerId(id);
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

    /// Adds an I/O VCPU; it is least important until it works for somebody. `periods` are the shortest
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
    pub const fn servers(&self) -> &Servers<VcpuBudget<K>, N, M> {
        &self.servers
    }

    fn checked(&self, binding: Binding) -> Result<Binding, Refusal> {
        let is_main = |id| matches!(self.servers.budget(id), Some(VcpuBudget::Main(_)));
        let fits = match self.servers.budget(binding.vcpu) {
            Some(VcpuBudget::Main(_)) => binding.cause == binding.vcpu,
            Some(VcpuBudget::Io(_)) => {
                let [shortest, longest] = self.periods[usize::from(binding.vcpu.0)];
                let within = |period: &[Time; 2]| (shortest..=longest).contains(&period[0]);
                let period = self.periods.get(usize::from(binding.cause.0));
                is_main(binding.cause) && period.is_some_and(within)
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
        let ranked = causes.filter_map(|id| Some((self.servers.priority(id)?, id)));
        let Some((priority, main)) = ranked.min_by_key(|&(priority, _)| priority) else {
            return;
        };
        let [period, _] = self.periods[usize::from(main.0)];
        let adopt = |budget: &mut VcpuBudget<K>| {
            if let VcpuBudget::Io(budget) = budget {
                budget.work_for(period);
            }
        };
        self.servers.change(vcpu, priority, adopt, now);
    }
}

impl<const N: usize, const M: usize, const K: usize> Policy for Vcpus<N, M, K> {
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
mod tests {
    use super::*;
    use crate::{NEVER, Scheduler};

    fn main(policy: &mut Vcpus<8, 4, 8>, capacity: Time, period: Time) -> ServerId {
        policy
            .add_main(Capacity { capacity, period }, 0)
            .expect("room")
    }

    /// A storm on the device of the less important VCPU: the more important one keeps its C in T, and
    /// the storm gets its share and no more.
    #[test]
    fn an_interrupt_storm_is_paid_by_its_cause() {
        let mut policy = Vcpus::<8, 4, 8>::new(false);
        let fast = main(&mut policy, 4, 10);
        let slow = main(&mut policy, 10, 40);
        let eighth = Utilisation::ratio(1, 8).expect("valid");
        let io = policy.add_io(eighth, [40, 40], 0).expect("room");
        let mut scheduler = Scheduler::<_, 8>::new(policy);
        let storm = Binding {
            vcpu: io,
            cause: slow,
        };
        let threads = [Binding::main(fast), Binding::main(slow), storm]
            .map(|binding| scheduler.add(binding, 0).expect("room"));
        for thread in threads {
            scheduler.wakeup(thread, 0);
        }
        let (mut ran, mut now) = ([0; 3], 0);
        while now < 4000 {
            let decision = scheduler.decide(now);
            scheduler.dispatched(decision.thread, now);
            let next = decision.timer.min(4000);
            if let Some(thread) = decision.thread {
                ran[thread.index()] += next - now;
            }
            now = next;
        }
        assert_eq!(ran[0], 1600);
        assert!(ran[1] >= 1000 - 10, "{ran:?}");
        assert!((495..=505).contains(&ran[2]), "{ran:?}");
    }

    #[test]
    fn a_more_important_request_raises_the_priority_at_once() {
        let mut policy = Vcpus::<8, 4, 8>::new(false);
        let fast = main(&mut policy, 4, 10);
        let slow = main(&mut policy, 10, 40);
        let half = Utilisation::ratio(1, 2).expect("valid");
        let io = policy.add_io(half, [10, 40], 0).expect("room");
        let mut scheduler = Scheduler::<_, 8>::new(policy);
        let bind = |cause| Binding { vcpu: io, cause };
        let for_slow = scheduler.add(bind(slow), 0).expect("room");
        let for_fast = scheduler.add(bind(fast), 0).expect("room");
        scheduler.wakeup(for_slow, 0);
        let priority =
            |scheduler: &Scheduler<Vcpus<8, 4, 8>, 8>| scheduler.policy().servers().priority(io);
        assert_eq!(priority(&scheduler), Some(Priority(1)));
        scheduler.wakeup(for_fast, 1);
        assert_eq!(priority(&scheduler), Some(Priority(0)));
        scheduler.block(for_fast, NEVER, 2);
        assert_eq!(priority(&scheduler), Some(Priority(1)));
        let lost = Binding {
            vcpu: fast,
            cause: slow,
        };
        assert_eq!(scheduler.add(lost, 2), Err(Refusal::BadParameters));
        assert_eq!(scheduler.add(bind(io), 2), Err(Refusal::BadParameters));
    }
}
