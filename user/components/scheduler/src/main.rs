//! Schedules the threads of the components of one core of a partition
//!
//! Fixed priorities over the threads that the boot component made, each within its budget if the
//! description gives it one, which the kernel enforces. What else components have of their scheduler is
//! [`bulkhead_keeper`]'s: a thread that sleeps comes here by an invocation and waits here, so that going on from one to
//! the other is a switch in user mode where both are here. The least important thread beats the heart ([`heart`]): what
//! loops for ever silences it.
#![no_std]
#![no_main]

use bulkhead_abi::component::{SCHEDULER_FREE, Wiring};
use bulkhead_abi::kernel::{MAX_COMPONENTS, Status};
use bulkhead_abi::name_text;
use bulkhead_component::{Environment, First, clock};
use bulkhead_formats::archive::Component;
use bulkhead_keeper::Keeper;
use bulkhead_sched::budget::Capacity;
use bulkhead_sched::policy::{Membership, Priority, Servers};
use bulkhead_slite::Threads;
use share::Share;

mod heart;
mod share;

bulkhead_component::component!(run);
bulkhead_component::serve!(answer, threads: 17, stack: 1024);

/// Threads of components, the one that beats the heart, the one that has components made again.
const CAPACITY: usize = MAX_COMPONENTS + 2;
/// Each thread has a server of its own, but for the last.
type Policy = Servers<Share, CAPACITY, CAPACITY>;
static THREADS: Threads<Policy, CAPACITY> = Threads::new(Servers::new(false));
static KEEPER: Keeper<Policy, CAPACITY> = Keeper::new(&THREADS, || {
    heart::beat();
});
/// Below everything that a description can ask for.
const HEART: Priority = Priority(63);

fn run(first: First) -> ! {
    let env = Environment::open();
    if let Err(status) = start(first.with_slots_from(SCHEDULER_FREE), &env) {
        let partition = name_text(&env.info().guest.name);
        panic!("{partition}: threads cannot be started: {status:?}")
    }
    KEEPER.run()
}

fn start(mut first: First, env: &Environment) -> Result<(), Status> {
    THREADS.prepare(&mut first)?;
    let place = |first: &mut First, component: &Component<'_>| {
        let importance = component.wiring.priority.into();
        Ok((server(first, component.wiring)?, importance))
    };
    KEEPER.adopt(&mut first, place, mend)?;
    if heart::prepare(env) {
        let membership = add(Share::Whole, HEART)?;
        THREADS.spawn(&mut first, beat, membership)?;
    }
    Ok(())
}

/// The server of a component's thread, with its budget behind a temporal capability.
fn server(first: &mut First, wiring: &Wiring) -> Result<Membership, Status> {
    if wiring.task != 0 {
        // On a VCPU, of which this scheduler has none.
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

extern "C" fn mend(index: u64) -> ! {
    KEEPER.mend(index)
}

extern "C" fn beat(_: u64) -> ! {
    loop {
        THREADS.sleep_until(heart::beat());
    }
}

fn answer(token: u64, words: [u64; 5]) -> u64 {
    KEEPER.answer(token, words)
}
