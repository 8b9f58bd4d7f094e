//! VCPUs that a component requests while the partition runs
//!
//! The component with the right to do so waits until this module's thread has decided. That thread has a lower
//! priority than all VCPUs: when it runs, every VCPU is idle or has used up its budget, so that no busy period began
//! without the VCPU that it creates.

use super::{CORE, Servers};
use bulkhead_abi::component::{Part, threads};
use bulkhead_abi::kernel::Status;
use bulkhead_analysis::admission;
use bulkhead_component::First;
use bulkhead_component::load::nanoseconds;
use bulkhead_sched::NEVER;
use bulkhead_sched::policy::{Binding, ServerId};
use bulkhead_slite::{Mutex, Refused, capacity};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU64};

/// Number of the component that may request VCPUs.
static REQUESTER: AtomicU64 = AtomicU64::new(u64::MAX);
/// Index of the thread that decides.
static DECIDER: AtomicU64 = AtomicU64::new(0);
/// Threads of the requester take turns.
static TURN: Mutex<()> = Mutex::new(());

/// C and T of the request, nanoseconds.
static REQUEST: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// Index of the thread that waits.
static CLIENT: AtomicU64 = AtomicU64::new(0);
static ANSWER: AtomicU64 = AtomicU64::new(0);
/// The request has no answer yet.
static IS_PENDING: AtomicBool = AtomicBool::new(false);

static MEANS: Mutex<Option<(First, Servers)>> = Mutex::new(None);

/// Starts the thread that decides, if a component has the right to request VCPUs.
pub(crate) fn start(
    mut first: First,
    servers: Servers,
    bind: impl FnOnce(&mut First) -> Result<Binding, Status>,
) -> Result<(), Status> {
    let mut components = bulkhead_supervisor::archive().components();
    let Some(requester) = components.find(|one| one.owns(Part::Admission)) else {
        return Ok(());
    };
    REQUESTER.store(requester.number as u64, Relaxed);
    let binding = bind(&mut first)?;
    let decider = CORE.threads.spawn(&mut first, decide_all, binding)?;
    DECIDER.store(decider, Relaxed);
    let kept = MEANS.with(&CORE.threads, |means| *means = Some((first, servers)));
    kept.map_err(|_| Status::BadArgument)
}

/// Answers a component that requests a VCPU ([`threads::REQUEST`]).
pub(crate) fn answer(client: u64, times: [u64; 2]) -> u64 {
    if client != REQUESTER.load(Relaxed) {
        return threads::REFUSED;
    }
    let answered = TURN.with(&CORE.threads, |()| {
        for (place, time) in REQUEST.iter().zip(times) {
            place.store(time, Relaxed);
        }
        CLIENT.store(CORE.threads.current(), Relaxed);
        IS_PENDING.store(true, Relaxed);
        CORE.threads.wakeup(DECIDER.load(Relaxed));
        while IS_PENDING.load(Relaxed) {
            CORE.threads.block(NEVER);
        }
        ANSWER.load(Relaxed)
    });
    answered.unwrap_or(threads::REFUSED)
}

/// Decides on requests, for ever.
extern "C" fn decide_all(_: u64) -> ! {
    loop {
        while !IS_PENDING.load(Relaxed) {
            CORE.threads.block(NEVER);
        }
        let answer = MEANS.with(&CORE.threads, |means| means.as_mut().map(decide));
        let answer = answer.ok().flatten().unwrap_or(threads::REFUSED);
        ANSWER.store(answer, Relaxed);
        IS_PENDING.store(false, Relaxed);
        CORE.threads.wakeup(CLIENT.load(Relaxed));
    }
}

fn decide((first, servers): &mut (First, Servers)) -> u64 {
    let [capacity_ns, period_ns] = [0, 1].map(|place: usize| REQUEST[place].load(Relaxed));
    if capacity_ns == 0 || capacity_ns > period_ns {
        return threads::NO_BUDGET;
    }
    match CORE.create_main(first, capacity([capacity_ns, period_ns]), []) {
        Ok(_) => 0,
        Err(Refused::Admission(admission::Refused::Misfit(misfit))) => {
            let is_it = |server: &Option<ServerId>| {
                server.is_some_and(|id| usize::from(id.0) == misfit.vcpu)
            };
            let number = servers.iter().position(is_it);
            let number = number.map_or(threads::REQUESTED, |number| number as u32);
            let lacks = nanoseconds(misfit.lacks).div_ceil(1000);
            threads::misfit(number, u32::try_from(lacks).unwrap_or(u32::MAX))
        }
        Err(Refused::Admission(admission::Refused::BadBudget)) => threads::NO_BUDGET,
        Err(_) => threads::REFUSED,
    }
}
