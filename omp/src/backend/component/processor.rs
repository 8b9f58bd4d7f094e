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
use bulkhead_slite::CoreThreads;
use core::sync::atomic::{AtomicU64, Ordering};

/// Threads of a core: the carrier.
const THREADS: usize = 2;
/// Chunks of budget that are kept apart.
const CHUNKS: usize = 16;
/// Budget and period of a program that has the whole core, nanoseconds.
const WHOLE_NS: u64 = 1_000_000_000;

/// One core's scheduler.
pub(crate) struct Processor {
    threads: CoreThreads<Vcpus<THREADS, 1, CHUNKS>, THREADS>,
    /// Budget and period of its VCPU, nanoseconds; 0: none.
    budget: [AtomicU64; 2],
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

static PROCESSORS: [Processor; MAX_CORES] = [const {
    Processor {
        threads: CoreThreads::new(Vcpus::new(false)),
        budget: [const { AtomicU64::new(0) }; 2],
    }
}; MAX_CORES];

/// The scheduler of the core of `rank`, modulo their number.
pub(crate) fn of(rank: usize) -> &'static Processor {
    &PROCESSORS[rank % MAX_CORES]
}

impl Processor {
    /// Says which VCPU the description gives the core, before it is furnished.
    pub(crate) fn set_budget(&self, capacity_ns: u64, period_ns: u64) {
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
    pub(crate) fn furnish(&self, first: &mut First) -> Result<[u64; 2], Status> {
        let limits = self.budget_ns().map(|budget| {
            let [capacity, period] = budget.map(clock::ticks);
            Capacity { capacity, period }
        });
        self.threads.prepare(first)?;
        let whole = clock::ticks(WHOLE_NS);
        let vcpu = self.threads.with_policy(|policy, now| {
            let servers = policy.servers_mut();
            servers.set_background(limits.is_none());
            let limits = limits.unwrap_or(Capacity {
                capacity: whole,
                period: whole,
            });
            policy.add_main(limits, now)
        });
        let vcpu = vcpu.map_err(|_| Status::BadArgument)?;
        if limits.is_some() {
            self.threads.enforce(first, vcpu)?;
        }
        let index = self
            .threads
            .spawn(first, carrier::carry, Binding::main(vcpu))?;
        self.threads.receive_end(first, index)
    }

    /// Runs the carrier for ever; called by the core's first thread.
    pub(crate) fn run(&self) -> ! {
        self.threads.run_telling(tell)
    }

    /// The carrier sleeps until tick `until`.
    pub(crate) fn sleep_until(&self, until: u64) {
        self.threads.sleep_until(until);
    }

    /// The carrier waits until another one notifies it, or has since it last waited.
    pub(crate) fn wait(&self, receive: u64) {
        if self.threads.wait_notified(receive).is_err() {
            print(b"bulkhead-omp: the kernel does not let a carrier wait");
            super::fail(1);
        }
    }
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
