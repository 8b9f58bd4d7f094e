//! Tasks that compute for their WCET and report how long they took
//!
//! Each task of the component has a thread. Each job computes for the task's WCET; the longest response is reported
//! with the computed bound. If the component has a doorbell or a function, its interrupts request the jobs of its task
//! on an I/O VCPU, at arbitrary times. The first thread has the component's priority, reports once a second, and if the
//! component owns the trace, records the jobs, so that the verdict of the run judges them.
//! An argument word with the name of a component states the task that it executes at its priority ([`at_priority`]).
//!
//! Argument words:
//! - `compute=TASK,TASK`: these compute without end and count pieces of equal work;
//! - `longer=TASK,TASK`: their jobs compute for eight times the WCET;
//! - `turns=CORES`: so many emulated cores take turns, and computations are calibrated for the worst case of all of
//!   them, else for the load at the start;
//! - `request_c_us=C request_t_us=T`: requests another VCPU while everything runs, once, and prints the answer.
#![no_std]
#![no_main]

mod at_priority;
mod unrecorded;

use bulkhead_abi::component::threads;
use bulkhead_abi::name_text;
use bulkhead_abi::timing::{MAX_TASKS, VcpuKind};
use bulkhead_component::clock::ticks;
use bulkhead_component::first::Timing;
use bulkhead_component::load::{Load, endless, nanoseconds};
use bulkhead_component::{Environment, First, Task, clock, println};
use bulkhead_guest::Home;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use unrecorded::Unrecorded;

bulkhead_component::component!(run, work);

/// Results of a task.
struct Job {
    jobs: AtomicU64,
    /// Longest response, ticks.
    longest: AtomicU64,
    interrupts: AtomicU64,
    pieces: AtomicU64,
    unrecorded: Unrecorded,
}

/// By number of the task in the partition.
static JOBS: [Job; MAX_TASKS] = [const {
    Job {
        jobs: AtomicU64::new(0),
        longest: AtomicU64::new(0),
        interrupts: AtomicU64::new(0),
        pieces: AtomicU64::new(0),
        unrecorded: Unrecorded::new(),
    }
}; MAX_TASKS];
/// Recordings in a second.
const RECORDINGS: u64 = 50;
static LOAD: Load = Load::new();
/// First release of all tasks, ticks: the critical instant.
static START: AtomicU64 = AtomicU64::new(0);

fn run(_: First) -> ! {
    let env = Environment::open();
    let timing = env.timing();
    match env.number("turns", 0) {
        0 => LOAD.calibrate(),
        cores => LOAD.calibrate_among(cores),
    }
    if let Some(times) = at_priority::times(&env, env.name()) {
        at_priority::run(&env, env.name(), times);
    }
    // By then the budget with which threads begin is replenished.
    let periods = timing.vcpus.iter().map(|vcpu| vcpu.period_ns);
    let longest = periods.max().unwrap_or(0).saturating_add(1_000_000);
    let start = clock::now() + ticks(longest);
    START.store(start, Relaxed);
    if let Err(status) = env.ready() {
        panic!("{}: tasks do not begin: {status:?}", env.name());
    }
    let request = ["request_c_us", "request_t_us"].map(|key| env.number(key, 0));
    for recording in 1.. {
        env.sleep_until(start + recording * clock::frequency() / RECORDINGS);
        for task in env.tasks() {
            job(&timing, task).unrecorded.record(&task.name);
        }
        if recording == RECORDINGS && request[1] != 0 {
            request_vcpu(&env, &timing, request);
        }
        if recording % RECORDINGS == 0 {
            report(&env, &timing);
        }
    }
    unreachable!("time does not end")
}

/// Returns whether the argument word `key=` names the task.
fn is_named(env: &Environment, key: &str, task: &Task) -> bool {
    let list = env.argument(key);
    list.is_some_and(|list| list.split(',').any(|one| one == name_text(&task.name)))
}

/// Returns whether the task computes without end.
fn is_endless(env: &Environment, task: &Task) -> bool {
    is_named(env, "compute", task)
}

/// Returns whether interrupts request the jobs of the task.
fn is_interrupted(env: &Environment, timing: &Timing, task: &Task) -> bool {
    let vcpu = timing.vcpus.get(task.vcpu as usize);
    let is_io = vcpu.is_some_and(|vcpu| vcpu.kind == VcpuKind::Io as u32);
    is_io && (env.channels().iter().next().is_some() || env.function().is_some())
}

fn job(timing: &Timing, task: &Task) -> &'static Job {
    let number = timing.tasks.iter().position(|one| one.name == task.name);
    match number.and_then(|number| JOBS.get(number)) {
        Some(job) => job,
        None => panic!("no task {}", name_text(&task.name)),
    }
}

/// A task.
fn work(task: &'static Task) -> ! {
    let env = Environment::of_thread();
    let timing = env.timing();
    let job = job(&timing, task);
    if is_endless(&env, task) {
        endless(&job.pieces);
    }
    if is_interrupted(&env, &timing, task) {
        serve(&env, task, job);
    }
    let period = ticks(task.period_ns);
    let wcet_ns = task.wcet_ns << (3 * u32::from(is_named(&env, "longer", task)));
    let is_traced = env.info().guest.trace[0] != 0;
    let mut release = START.load(Relaxed);
    for number in 0.. {
        env.sleep_until(release);
        let start = clock::now();
        LOAD.compute(wcet_ns);
        let end = clock::now();
        job.longest.fetch_max(end - release, Relaxed);
        job.jobs.fetch_add(1, Relaxed);
        if is_traced {
            job.unrecorded.add(number, [release, start, end]);
        }
        release += period;
    }
    unreachable!("there is always another job")
}

/// The bottom half of interrupts.
fn serve(env: &Environment, task: &Task, job: &Job) -> ! {
    loop {
        match env.served() {
            Ok(count) => job.interrupts.fetch_add(count, Relaxed),
            Err(status) => panic!("{}: no interrupts: {status:?}", env.name()),
        };
        LOAD.compute(task.wcet_ns);
        job.jobs.fetch_add(1, Relaxed);
    }
}

/// Requests another VCPU, of C in T microseconds.
fn request_vcpu(env: &Environment, timing: &Timing, [capacity_us, period_us]: [u64; 2]) {
    let answer = env.request_vcpu(capacity_us * 1000, period_us * 1000);
    match answer {
        0 => println!("a VCPU of {capacity_us} us in {period_us} us: created"),
        threads::NO_BUDGET => {
            println!("a VCPU of {capacity_us} us in {period_us} us: no budget");
        }
        threads::REFUSED => println!("a VCPU of {capacity_us} us in {period_us} us: refused"),
        answer => {
            let [number, lacks_us] = threads::of_misfit(answer);
            let vcpu = timing.vcpus.get(number as usize);
            let name = vcpu.map_or("the new one", |vcpu| name_text(&vcpu.name));
            println!(
                "a VCPU of {capacity_us} us in {period_us} us: refused, `{name}` would lack {lacks_us} us of its C"
            );
        }
    }
}

/// Prints the results of all tasks of the component.
fn report(env: &Environment, timing: &Timing) {
    for task in env.tasks() {
        let (name, job) = (name_text(&task.name), job(timing, task));
        let jobs = job.jobs.load(Relaxed);
        if is_endless(env, task) {
            println!("task {name} computed pieces={}", job.pieces.load(Relaxed));
            continue;
        }
        if is_interrupted(env, timing, task) {
            let interrupts = job.interrupts.load(Relaxed);
            println!("task {name} jobs={jobs} for {interrupts} interrupts");
            continue;
        }
        let longest = nanoseconds(job.longest.load(Relaxed));
        let verdict = match longest <= task.bound_ns {
            true => "ok",
            false => "LATE",
        };
        println!(
            "task {name} jobs={jobs} longest_ns={longest} bound_ns={} {verdict}",
            task.bound_ns
        );
    }
}
