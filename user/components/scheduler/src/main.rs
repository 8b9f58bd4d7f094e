//! Schedules the threads of the components of one core of a partition
//!
//! Fixed priorities over the threads that the boot component created, each within its budget if the
//! description gives it one, which the kernel enforces. [`bulkhead_supervisor`] provides the other
//! services for components: a thread that sleeps invokes this component and waits here, so that a
//! switch between two such threads stays in user mode. The thread with the lowest priority renews
//! the heartbeat ([`heart`]), so that a thread that loops for ever stops it.
#![no_std]
#![no_main]

use bulkhead_abi::component::{SCHEDULER_FREE, Wiring};
use bulkhead_abi::kernel::{MAX_COMPONENTS, Status};
use bulkhead_abi::name_text;
use bulkhead_component::{Environment, First, clock};
use bulkhead_formats::archive::Component;
use bulkhead_sched::budget::Capacity;
use bulkhead_sched::policy::{Membership, Priority, Servers};
use bulkhead_slite::Threads;
use bulkhead_supervisor::Supervisor;
use share::Share;

mod heart;
mod share;

bulkhead_component::component!(run);
bulkhead_component::serve!(answer, threads: 17, stack: 1024);

/// Threads of components, the heartbeat's thread, and the thread that requests restarts.
const CAPACITY: usize = MAX_COMPONENTS + 2;
/// Each thread has a server of its own, except the last.
type Policy = Servers<Share, CAPACITY, CAPACITY>;
static THREADS: Threads<Policy, CAPACITY> = Threads::new(Servers::new(false));
static SUPERVISOR: Supervisor<Policy, CAPACITY> = Supervisor::new(&THREADS, || {
    heart::beat();
});
/// Below all priorities of a description.
const HEART: Priority = Priority(63);

fn run(first: First) -> ! {
    let env = Environment::open();
    if let Err(status) = start(first.with_slots_from(SCHEDULER_FREE), &env) {
        let partition = name_text(&env.info().guest.name);
        panic!("{partition}: threads cannot be started: {status:?}")
    }
    SUPERVISOR.run()
}

fn start(mut first: First, env: &Environment) -> Result<(), Status> {
    THREADS.prepare(&mut first)?;
    let place = |first: &mut First, component: &Component<'_>| {
        let importance = component.wiring.priority.into();
        Ok((server(first, component.wiring)?, importance))
    };
    SUPERVISOR.adopt(&mut first, place, restart_components)?;
    if heart::prepare(env) {
        let membership = add(Share::Whole, HEART)?;
        THREADS.spawn(&mut first, beat, membership)?;
    }
    Ok(())
}

/// The server of a component's thread, with its budget behind a temporal capability.
fn server(first: &mut First, wiring: &Wiring) -> Result<Membership, Status> {
    if wiring.task != 0 {
        // It is on a VCPU; this scheduler has none.
        return Err(Status::BadArgument);
    }
    let priority = Priority(wiring.priority as u8);
    if wiring.budget_ticks == 0 {
        return add(Share::Whole, priority);
    }
    let capacity = Capacity {
        capacity: wiring.budget_ticks,
        period: wiring.period_ticks,
    };
    let share = Share::limited(capacity, clock::now()).ok_or(Status::BadArgument)?;
    let membership = add(share, priority)?;
    THREADS.enforce(first, membership.0)?;
    Ok(membership)
}

fn add(share: Share, priority: Priority) -> Result<Membership, Status> {
    let server = THREADS.with_policy(|policy, _| policy.add_server(share, priority));
    server.map(Membership).map_err(|_| Status::BadArgument)
}

extern "C" fn restart_components(index: u64) -> ! {
    SUPERVISOR.restart_components(index)
}

extern "C" fn beat(_: u64) -> ! {
    loop {
        THREADS.sleep_until(heart::beat());
    }
}

fn answer(token: u64, words: [u64; 5]) -> u64 {
    SUPERVISOR.answer(token, words)
}
