//! Schedules the threads of the components of one core of a partition
//!
//! A thread runs on the VCPU of its task, or at the priority of its component. VCPUs are ordered by rate, by deadline,
//! or by priorities in time partitions, as the description says, and are admitted before they exist ([`VcpuThreads`]);
//! the kernel enforces their budgets. Threads at a priority run within a budget if the description gives them one. Where rates
//! or deadlines order VCPUs, they run while no VCPU does. [`bulkhead_supervisor`] provides the other services for
//! components: a thread that sleeps invokes this component and waits here, so that a switch between two such threads
//! stays in user mode. The thread with the lowest priority renews the heartbeat ([`bulkhead_supervisor::heartbeat`]), so that a thread that
//! loops for ever stops it. VCPUs can be requested at run time ([`requests`]).
//!
//! Argument word: `unlimited=VCPU,VCPU`: these have no limit and are not admitted, to compare.

use bulkhead_abi::component::{MAX_COMPONENT_THREADS, SCHEDULER_FREE};
use bulkhead_abi::kernel::Status;
use bulkhead_abi::timing::{MAX_CHUNKS, Vcpu};
use bulkhead_abi::{component, name_text};
use bulkhead_component::first::{Timing, argument_text};
use bulkhead_component::{Environment, First, cores};
use bulkhead_formats::archive::Thread;
use bulkhead_sched::policy::{self, Priority, ServerId, Vcpus};
use bulkhead_slite::{Refused, VcpuThreads};
use bulkhead_supervisor::{Supervisor, heartbeat, servers};

use crate::size::{REQUESTED, SLOTS, TIME_PARTITIONS, VCPUS};

mod requests;

bulkhead_component::component!(run);
bulkhead_component::serve!(answer, threads: bulkhead_abi::component::MAX_COMPONENT_THREADS + 1, stack: 1024);

/// Threads of components, and this program's own: the first one, the thread that restarts components, the
/// heartbeat's, and the one for requests.
const THREADS: usize = MAX_COMPONENT_THREADS + 4;
/// VCPUs, and priorities of threads.
const SERVERS: usize = VCPUS + REQUESTED + THREADS;

/// The VCPUs of the description that are on this core, by number.
type Servers = [Option<ServerId>; VCPUS];
type Policy = Vcpus<THREADS, SERVERS, MAX_CHUNKS, TIME_PARTITIONS, SLOTS>;
static CORE: VcpuThreads<THREADS, SERVERS, MAX_CHUNKS, TIME_PARTITIONS, SLOTS> =
    VcpuThreads::new(false);
static SUPERVISOR: Supervisor<Policy, THREADS> = Supervisor::new(&CORE.threads, || {
    heartbeat::beat();
});

/// Priority of the thread that decides on requests, below all priorities of a description.
const OF_REQUESTS: Priority = Priority(62);

/// Reason for which no thread is started: what is missing, and the refusal.
struct Failure(&'static str, Refused);

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self("threads", Refused::Kernel(status))
    }
}

fn run(first: First) -> ! {
    let env = Environment::open();
    if let Err(Failure(what, refused)) = start(first.with_slots_from(SCHEDULER_FREE), &env) {
        let partition = name_text(&env.info().guest.name);
        panic!("{partition}: no thread is started: {what}: {refused:?}")
    }
    SUPERVISOR.run(bulkhead_supervisor::report_own_fault)
}

fn start(mut first: First, env: &Environment) -> Result<(), Failure> {
    CORE.threads.prepare(&mut first)?;
    let timing = env.timing();
    let servers = create_all(&mut first, env, &timing)?;
    let place = |first: &mut First, thread: &Thread<'_>| {
        servers::place_thread(&CORE, first, thread, &timing, &servers)
    };
    SUPERVISOR.adopt(&mut first, place, restart_components)?;
    if heartbeat::prepare(env) {
        let binding = servers::at_priority(&CORE, &mut first, servers::OF_HEARTBEAT, None)?;
        CORE.threads.spawn(&mut first, beat, binding)?;
    }
    requests::start(first, servers, |first| {
        servers::at_priority(&CORE, first, OF_REQUESTS, None)
    })?;
    Ok(())
}

/// Creates the VCPUs of the description that are on this core, by number.
fn create_all(first: &mut First, env: &Environment, timing: &Timing) -> Result<Servers, Failure> {
    let rank = cores::rank() as u32;
    let configured = CORE.configure(timing, rank);
    configured.map_err(|refused| Failure("schedule", refused))?;
    if timing.vcpus.is_empty() {
        let by_priority = policy::Order::FixedPriority;
        let set = CORE
            .threads
            .with_policy(|policy, _| policy.set_order(by_priority));
        set.map_err(|_| Status::BadArgument)?;
    }
    let mut servers = [None; VCPUS];
    let create = |number, vcpu: &'static Vcpu| match is_unlimited(env, name_text(&vcpu.name)) {
        true => CORE.create_unlimited(first, number, timing),
        false => CORE.create_from_description(first, number, timing),
    };
    servers::create_all(timing, &mut servers, create)
        .map_err(|(name, refused)| Failure(name, refused))?;
    Ok(servers)
}

/// Returns whether the argument word `unlimited=` names the VCPU.
fn is_unlimited(env: &Environment, name: &str) -> bool {
    let list = argument_text(&env.info().guest, "unlimited");
    list.is_some_and(|list| list.split(',').any(|one| one == name))
}

extern "C" fn restart_components(index: u64) -> ! {
    SUPERVISOR.restart_components(index)
}

extern "C" fn beat(_: u64) -> ! {
    loop {
        CORE.threads.sleep_until(heartbeat::beat());
    }
}

fn answer(token: u64, words: [u64; 5]) -> u64 {
    match words {
        [component::threads::REQUEST, capacity_ns, period_ns, ..] => {
            requests::answer(u64::from(token as u32), [capacity_ns, period_ns])
        }
        _ => SUPERVISOR.answer(token, words),
    }
}
