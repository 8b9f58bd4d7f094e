//! The program that runs the tuned pipes of a partition ("Tuned Pipes";
//! `doc/design/pipes-deployment.md`)
//!
//! This program is the scheduler of the partition, with the services of [`bulkhead_supervisor`] for its other
//! components: their threads run on VCPUs or at priorities beside the stages. Each stage of a pipe is a thread on a VCPU with
//! the solved budget and period, released by data and paced as `doc/design/pipes-language.md`
//! explains. A stage copies its inputs when a job begins. An I/O VCPU serves the interrupts of the
//! device that the component owns. The archive contains only pipes that were solved and admitted as
//! a whole: they start together once all of them are built, or the partition fails. The kernel ends
//! a job that uses up its budget; the runtime counts the overrun and reacts as the function's
//! `on_overrun` demands. The least important VCPU with a budget runs the recorder, which records
//! messages that leave the pipes and prints a report once a second. The partition is up once all
//! stages have begun and all applications work.
//!
//! If stages are on several cores of the partition, each core has such a component with an address
//! space of its own. The components share memory ([`shared_state`],
//! `doc/design/pipes-deployment.md`). The first core's component has console, trace, devices and
//! recorder, and commands the others ([`core_commands`]).
//!
//! A program names its functions ([`functions!`]); those of `lib/stages` are always available.
//!
//! Argument words:
//! - `profile=JOBS`: measures functions and stages ([`profile`]);
//! - `load=PERCENT`: part of its WCET that each job computes (default 50);
//! - `rounds=COUNT`: instead, iterations of a loop per microsecond of WCET, the same in every
//!   system;
//! - `overrun=FUNCTION`: every hundredth job of that function computes for twice its WCET;
//! - `jitter=PERCENT`: delays each timer release by a random part, up to this percentage, of its
//!   interval.
#![no_std]

mod answer;
mod can;
mod client_pipes;
mod command_interface;
mod component_functions;
mod contents;
mod control;
mod core_commands;
mod crossing;
mod device;
mod endpoints;
mod exit_records;
mod fanout;
mod memory;
mod network_card;
mod planner;
mod profile;
mod recorder;
mod remote_partition;
mod runtime;
mod shared_state;
mod stage;
mod table;
mod vcpu_pool;

use crate::runtime::{CORE, Failure, LOAD, SUPERVISOR, VCPUS, give_up};
use bulkhead_abi::component::{MAX_COMPONENT_THREADS, SCHEDULER_FREE, threads};
use bulkhead_abi::dispatch::EventKind;
use bulkhead_abi::kernel::first;
use bulkhead_abi::timing::{Vcpu, VcpuKind};
use bulkhead_abi::{name_field, name_text};
use bulkhead_component::first::Timing;
use bulkhead_component::{Environment, cores, environment, println};
use bulkhead_formats::archive::Thread;
use bulkhead_sched::policy::ServerId;
use bulkhead_slite::{Refused, io_periods, jobs_on};
use bulkhead_supervisor::{heartbeat, servers};

/// Defines a program that runs pipes from a constant list of names and functions, each a `fn(&mut
/// Job<'_>) -> Option<[u64; 2]>` (`bulkhead_stages::functions`).
#[macro_export]
macro_rules! functions {
    ($($functions:tt)*) => {
        ::bulkhead_component::component!(bulkhead_pipes_program);

        const FUNCTIONS: &[(&str, $crate::Function)] = &$($functions)*;

        fn bulkhead_pipes_program(first: $crate::First) -> ! {
            $crate::run(first, |index| FUNCTIONS.get(index).copied())
        }

        $crate::serve_components!();
    };
}

/// Defines the entry by which components invoke the scheduler: the interfaces `threads` and `pipes`.
#[macro_export]
macro_rules! serve_components {
    () => {
        ::bulkhead_component::serve!(bulkhead_components_answer, threads: $crate::CLIENTS, stack: 2048);

        fn bulkhead_components_answer(token: u64, words: [u64; 5]) -> u64 {
            $crate::serve(token, words)
        }
    };
}

/// Threads that may invoke the scheduler at once: those of components, and the one that restarts them.
pub const CLIENTS: usize = MAX_COMPONENT_THREADS + 1;

pub use bulkhead_component::First;
pub use bulkhead_stages::functions::{Function, Functions, Job};

/// Runs the pipes of the partition for ever. `functions` are the program's own.
pub fn run(first: First, functions: Functions) -> ! {
    let env = Environment::open();
    if let Err(failure) = start(first.with_slots_from(SCHEDULER_FREE), &env, functions) {
        give_up(&failure);
    }
    SUPERVISOR.run(|index, _, how| match (how, stage::of_thread(index)) {
        (EventKind::Expired, Some(stage)) => stage.expired(),
        (EventKind::Expired, None) => {}
        (_, stage) => {
            let name = stage.map_or(name_field("pipes"), stage::Shared::name);
            println!("{}: faulted", name_text(&name));
            let _does_not_return = environment::fail(first::MONITOR, index);
        }
    })
}

/// Answers a component that invokes the interface `threads` or `pipes`.
pub fn serve(token: u64, words: [u64; 5]) -> u64 {
    match command_interface::is_meant(token) {
        true => command_interface::serve(token, words),
        false => {
            let answer = SUPERVISOR.answer(token, words);
            if words[0] == threads::READY {
                component_functions::component_works(u64::from(token as u32));
            }
            answer
        }
    }
}

fn start(mut first: First, env: &Environment, functions: Functions) -> Result<(), Failure> {
    let timing = env.timing();
    CORE.threads.prepare(&mut first)?;
    shared_state::open(env, &timing)?;
    component_functions::open();
    let configured = CORE.configure(&timing, cores::rank() as u32);
    configured.map_err(|refused| Failure::Vcpu("schedule", refused))?;
    LOAD.calibrate();
    if shared_state::is_first() {
        profile::functions(env, &timing, functions);
    }
    let mut servers = [None; VCPUS];
    let create = |number, vcpu: &'static Vcpu| create(&mut first, number, vcpu, &timing);
    let created = servers::create_all(&timing, &mut servers, create);
    created.map_err(|(name, refused)| Failure::Vcpu(name, refused))?;
    planner::make_vcpu(&mut first, &timing)?;
    let place = |first: &mut First, thread: &Thread<'_>| {
        servers::place_thread(&CORE, first, thread, &timing, &servers)
    };
    SUPERVISOR.adopt(&mut first, place, restart_components)?;
    let common = stage::Common::new(env, functions, timing);
    stage::build(&common, env, &timing)?;
    vcpu_pool::open(&mut first, &servers)?;
    match shared_state::is_first() {
        true => start_first(&mut first, env, &timing, &servers, common)?,
        false => start_other(&mut first, env, &timing, common)?,
    }
    if heartbeat::prepare(env) {
        let binding = servers::at_priority(&CORE, &mut first, servers::OF_HEARTBEAT, None)?;
        CORE.threads.spawn(&mut first, beat, binding)?;
    }
    if component_functions::work() {
        shared_state::components_work();
    }
    Ok(())
}

extern "C" fn restart_components(index: u64) -> ! {
    SUPERVISOR.restart_components(index)
}

extern "C" fn beat(_: u64) -> ! {
    loop {
        CORE.threads.sleep_until(heartbeat::beat());
    }
}

/// Starts the threads of the first core that are no stages.
fn start_first(
    first: &mut First,
    env: &Environment,
    timing: &Timing,
    servers: &[Option<ServerId>],
    common: stage::Common,
) -> Result<(), Failure> {
    device::start(first, env, timing, servers)?;
    recorder::start(first, env, timing, servers)?;
    planner::start(first, env, timing, common)?;
    vcpu_pool::open_spare(first, timing)
}

/// Starts the threads of another core that are no stages.
fn start_other(
    first: &mut First,
    env: &Environment,
    timing: &Timing,
    common: stage::Common,
) -> Result<(), Failure> {
    core_commands::start(first, env, timing, common)?;
    vcpu_pool::open_spare(first, timing)
}

/// Creates a VCPU of the description or of the solver.
fn create(
    first: &mut First,
    number: u32,
    vcpu: &Vcpu,
    timing: &Timing,
) -> Result<ServerId, Refused> {
    if vcpu.kind == VcpuKind::Io as u32 && endpoints::serves(timing, number) {
        let has_tasks = timing.tasks.iter().any(|task| task.vcpu == number);
        let periods = has_tasks.then(|| io_periods(timing, number));
        return CORE.create_io_for_any(first, vcpu.percent, periods, jobs_on(timing, number));
    }
    CORE.create_from_description(first, number, timing)
}
