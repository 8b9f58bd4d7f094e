//! The schedulers of the cores, and the VCPUs on which carriers run.
//!
//! A core to which the description gives no VCPU is the carrier's whole: its budget is as long as its
//! period, and it runs on without, too.

use super::{carrier, explain, print};
use bulkhead_abi::dispatch::EventKind;
use bulkhead_abi::kernel::{MAX_CORES, Operation, Status, ThreadWord};
use bulkhead_analysis::{Reservation, vcpu};
use bulkhead_component::call::call;
use bulkhead_component::{First, clock};
use bulkhead_sched::budget::Capacity;
use bulkhead_sched::policy::{Binding, Vcpus};
use bulkhead_slite::{CoreThreads, cores};
use core::sync::atomic::{AtomicU64, Ordering};

/// Threads of a core: the carrier.
const THREADS: usize = 2;
/// Chunks of budget that are kept apart.
const CHUNKS: usize = 16;
/// Budget and period of who has the whole core, nanoseconds.
const WHOLE_NS: u64 = 1_000_000_000;

type Scheduler<const RANK: usize> = CoreThreads<RANK, Vcpus<THREADS, 1, CHUNKS>, THREADS>;

/// One core's scheduler, whatever its type.
pub(super) struct Processor {
    /// Makes the carrier; the sides of its end-point, to receive and to send.
    furnish: fn(&mut First, Option<Capacity>) -> Result<[u64; 2], Status>,
    run: fn() -> !,
    wait: fn(u64) -> Result<u64, Status>,
    sleep_until: fn(u64),
    /// Budget and period of its VCPU, nanoseconds; 0: none.
    budget: [AtomicU64; 2],
}

fn furnish<const RANK: usize>(
    scheduler: &'static Scheduler<RANK>,
    first: &mut First,
    budget: Option<Capacity>,
) -> Result<[u64; 2], Status> {
    scheduler.prepare(first)?;
    let whole = clock::ticks(WHOLE_NS);
    let limits = budget.unwrap_or(Capacity {
        capacity: whole,
        period: whole,
    });
    let vcpu = scheduler.with_policy(|policy, now| {
        let servers = policy.servers_mut();
        servers.set_background(budget.is_none());
        policy.add_main(limits, now)
    });
    let vcpu = vcpu.map_err(|_| Status::BadArgument)?;
    if budget.is_some() {
        scheduler.enforce(first, vcpu)?;
    }
    let index = scheduler.spawn(first, carrier::carry, Binding::main(vcpu))?;
    scheduler.end_point(first, index)
}

/// A carrier was stopped: one that faulted is explained, one without budget goes on with the next.
fn tell(_: u64, thread: u64, kind: EventKind) {
    if kind != EventKind::Faulted {
        return;
    }
    let ask = |word: ThreadWord| call(thread, Operation::Inspect, [word as u64]).unwrap_or(0);
    let address = ask(ThreadWord::FaultAddress);
    explain(address as usize);
    crate::report::fatal(format_args!(
        "the program faulted at {:#x}: syndrome {:#x}, address {address:#x}",
        ask(ThreadWord::FaultPc),
        ask(ThreadWord::FaultSyndrome),
    ))
}

macro_rules! processors {
    ($($rank:literal)*) => {
        [$({
            static SCHEDULER: Scheduler<$rank> = Scheduler::new(Vcpus::new(false));
            Processor {
                furnish: |first, budget| furnish(&SCHEDULER, first, budget),
                run: || SCHEDULER.run_telling(tell),
                wait: |receive| SCHEDULER.wait_notified(receive),
                sleep_until: |until| SCHEDULER.sleep_until(until),
                budget: [const { AtomicU64::new(0) }; 2],
            }
        },)*]
    };
}

static PROCESSORS: [Processor; MAX_CORES] = processors!(0 1 2 3 4 5 6 7);

/// The scheduler of the core of `rank`, modulo their number.
pub(super) fn of(rank: usize) -> &'static Processor {
    &PROCESSORS[rank % MAX_CORES]
}

impl Processor {
    /// Says which VCPU the description gives the core, before it is furnished.
    pub(super) fn set_budget(&self, capacity_ns: u64, period_ns: u64) {
        for (place, value) in self.budget.iter().zip([capacity_ns, period_ns]) {
            place.store(value, Ordering::Relaxed);
        }
    }

    /// Budget and period, nanoseconds.
    fn budget_ns(&self) -> Option<[u64; 2]> {
        let budget = [0, 1].map(|place: usize| self.budget[place].load(Ordering::Relaxed));
        (budget[1] != 0).then_some(budget)
    }

    /// Makes the core's carrier, on that core; the sides of its end-point.
    pub(super) fn furnish(&self, first: &mut First) -> Result<[u64; 2], Status> {
        let limits = self.budget_ns().map(|budget| {
            let [capacity, period] = budget.map(clock::ticks);
            Capacity { capacity, period }
        });
        (self.furnish)(first, limits)
    }

    /// Runs the carrier for ever; called by the core's first thread.
    pub(super) fn run(&self) -> ! {
        (self.run)()
    }

    /// The carrier sleeps until tick `until`.
    pub(super) fn sleep_until(&self, until: u64) {
        (self.sleep_until)(until);
    }

    /// The carrier waits until somebody notifies it, or has since it last waited.
    pub(super) fn wait(&self, receive: u64) {
        if (self.wait)(receive).is_err() {
            print(b"bulkhead-omp: the kernel does not let a carrier wait");
            super::fail(1);
        }
    }
}

/// Has the core of `rank` (not 0) be scheduled from here.
pub(super) fn prepare(first: &mut First, rank: usize) -> Result<(), Status> {
    cores::prepare(first, rank)
}

/// Budget and period of the VCPU of the core of `rank`, nanoseconds; the same twice where it has the
/// whole core.
pub fn budget_ns(rank: usize) -> [u64; 2] {
    of(rank).budget_ns().unwrap_or([WHOLE_NS; 2])
}

/// Longest time in which work of `work_ns` nanoseconds is done that comes to the VCPU of the core of
/// `rank` whatever has become of its budget, nanoseconds: ⌈w/C⌉·T and the response of the last budget,
/// which is C, since no other VCPU is on the core ([`vcpu::work_response`]). Nothing where it overflows.
pub fn bound_ns(rank: usize, work_ns: u64) -> Option<u64> {
    let Some([capacity, period]) = of(rank).budget_ns() else {
        return Some(work_ns);
    };
    let reservation = Reservation { capacity, period };
    vcpu::work_response(reservation, capacity, work_ns, 0)
}
