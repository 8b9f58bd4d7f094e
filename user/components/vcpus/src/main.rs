//! The VCPUs of the description, with tasks that compute for their WCET
//!
//! This program is the only component of a partition, or the scheduler of several components. A
//! component with a task runs on the task's VCPU. Each job of the other tasks computes for its
//! WCET; the longest response is reported with the computed bound. If there is a doorbell, it is
//! the device of the tasks on I/O VCPUs: each interrupt requests a job, at arbitrary times. So do
//! the interrupts of a UART that always has something to send ([`storm`]). VCPUs of the argument
//! word `compute=NAME,NAME` compute without end and count pieces of 10 us; those of
//! `unlimited=NAME,NAME` have no limit and are not admitted. With `turns=CORES`, so many emulated
//! cores take turns, and computations are calibrated for the worst case of all of them, else for
//! the load at the start. A VCPU of its own, created at run time with the lowest priority, reports
//! once a second, so that reporting delays no task; if it is not admitted, reports use the
//! remaining time of the core.
#![no_std]
#![no_main]

mod storm;

use bulkhead_abi::component::SCHEDULER_FREE;
use bulkhead_abi::guest::{GuestInfo, NONE};
use bulkhead_abi::kernel::{Operation, Status, first};
use bulkhead_abi::name_text;
use bulkhead_abi::timing::{
    MAX_CHUNKS, MAX_SLOTS, MAX_TIME_PARTITIONS, Order, Task, Vcpu, VcpuKind,
};
use bulkhead_analysis::admission;
use bulkhead_component::call::call;
use bulkhead_component::clock::ticks;
use bulkhead_component::first::{Timing, argument, argument_text};
use bulkhead_component::load::{Load, nanoseconds};
use bulkhead_component::{Environment, First, clock, console, println};
use bulkhead_formats::archive::Component;
use bulkhead_sched::NEVER;
use bulkhead_sched::budget::Capacity;
use bulkhead_sched::policy::{Binding, Place, Priority, ServerId, Vcpus};
use bulkhead_slite::{Jobs, Mutex, Refused, VcpuThreads, capacity, jobs_on};
use bulkhead_supervisor::Supervisor;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

bulkhead_component::component!(run);
bulkhead_component::serve!(answer, threads: 17, stack: 2048);

/// Maximum numbers of threads and VCPUs.
const TASKS: usize = bulkhead_abi::timing::MAX_TASKS;
const VCPUS: usize = bulkhead_abi::timing::MAX_VCPUS;
/// The reporter's budget, nanoseconds.
const REPORTER: [u64; 2] = [2_000_000, 1_000_000_000];

/// Below all priorities of a description.
const LEAST: Priority = Priority(61);

static CORE: VcpuThreads<TASKS, VCPUS, MAX_CHUNKS, MAX_TIME_PARTITIONS, MAX_SLOTS> =
    VcpuThreads::new(false);
type Policy = Vcpus<TASKS, VCPUS, MAX_CHUNKS, MAX_TIME_PARTITIONS, MAX_SLOTS>;
static SUPERVISOR: Supervisor<Policy, TASKS> = Supervisor::new(&CORE.threads, || {});

/// Parameters and results of a task, by number.
struct Job {
    thread: AtomicU64,
    wcet_ns: AtomicU64,
    period_ns: AtomicU64,
    jobs: AtomicU64,
    worst: AtomicU64,
    /// Receive end for interrupts, or 0, and number of interrupts.
    receive: AtomicU64,
    interrupts: AtomicU64,
}

static JOBS: [Job; TASKS] = [const {
    Job {
        thread: AtomicU64::new(0),
        wcet_ns: AtomicU64::new(0),
        period_ns: AtomicU64::new(0),
        jobs: AtomicU64::new(0),
        worst: AtomicU64::new(0),
        receive: AtomicU64::new(0),
        interrupts: AtomicU64::new(0),
    }
}; TASKS];
/// Results of a computing VCPU, by number, and its thread.
struct Computed {
    thread: AtomicU64,
    pieces: AtomicU64,
}

static COMPUTED: [Computed; VCPUS] = [const {
    Computed {
        thread: AtomicU64::new(0),
        pieces: AtomicU64::new(0),
    }
}; VCPUS];
static TIMING: Mutex<Timing> = Mutex::new(Timing::NOTHING);
static LOAD: Load = Load::new();
/// First release of all tasks, ticks: the critical instant.
static START: AtomicU64 = AtomicU64::new(0);

/// Resources of the component, once it runs, and C and T of a VCPU to be requested then,
/// microseconds.
static MEANS: Mutex<Option<First>> = Mutex::new(None);
static ASKED: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Reason for which nothing runs.
enum Failure {
    Kernel(Status),
    Vcpu(Refused),
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self::Kernel(status)
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        Self::Vcpu(refused)
    }
}

fn run(mut first: First) -> ! {
    // Only the boot component has the address of the guest page.
    let is_boot = first.guest_page() != 0;
    let started = match is_boot {
        true => start_alone(&mut first),
        false => {
            first = first.with_slots_from(SCHEDULER_FREE);
            start_among_components(&mut first)
        }
    };
    let _kept = MEANS.with(&CORE.threads, |means| *means = Some(first));
    if let Err(failure) = started {
        match failure {
            Failure::Kernel(status) => println!("stopped: {status:?}"),
            Failure::Vcpu(refused) => println!("stopped: {refused:?}"),
        }
        let _gone = call(first::MONITOR, Operation::Fail, [1]);
    }
    if !is_boot {
        SUPERVISOR.run()
    }
    loop {
        CORE.threads.run(NEVER);
    }
}

/// Starts as the only component.
fn start_alone(first: &mut First) -> Result<(), Failure> {
    let info = &first.guest()?.info;
    let output = first.window(info.console_out)?;
    console::open(output, info.console_out[1]);
    let archive = first.archive()?;
    let timing = first.timing(archive)?;
    let ends = info.channels.iter().take(info.channel_count as usize);
    let mut doorbells = ends
        .map(|end| end.doorbell_in)
        .filter(|&intid| intid != NONE);
    let doorbell = doorbells.next().map(u64::from);
    let doorbell = doorbell.or(storm::open(first, info)?);
    let servers = create_all(first, info, timing)?;
    let rest = Rest {
        doorbell,
        elsewhere: 0,
    };
    start_tasks(first, info, timing, (&servers, rest))?;
    call(first::MONITOR, Operation::Up, [])?;
    Ok(())
}

/// Starts as the scheduler of components, which report themselves when they work.
fn start_among_components(first: &mut First) -> Result<(), Failure> {
    let env = Environment::open();
    let info = &env.info().guest;
    let timing = env.timing();
    let servers = create_all(first, info, timing)?;
    let place = |_: &mut First, component: &Component<'_>| {
        let number = (component.wiring.task as usize).checked_sub(1);
        let task = number.and_then(|number| timing.tasks.get(number));
        // A task with a priority belongs to another scheduler.
        let binding = task.and_then(|task| binding(task, &servers));
        let vcpu = task.and_then(|task| timing.vcpus.get(task.cause as usize));
        let (Some(binding), Some(vcpu)) = (binding, vcpu) else {
            return Err(Status::BadArgument);
        };
        let importance = match placed(timing) {
            true => (vcpu.place & 0xff).into(),
            false => vcpu.period_ns,
        };
        Ok((binding, importance))
    };
    SUPERVISOR.adopt(first, place, restart_components)?;
    let threads = bulkhead_supervisor::archive().threads();
    let tasks = threads.map(|(_, component)| 1 << (component.wiring.task - 1));
    let rest = Rest {
        doorbell: None,
        elsewhere: tasks.fold(0, |bits: u64, bit: u64| bits | bit),
    };
    start_tasks(first, info, timing, (&servers, rest))
}

extern "C" fn restart_components(index: u64) -> ! {
    SUPERVISOR.restart_components(index)
}

fn answer(token: u64, words: [u64; 5]) -> u64 {
    SUPERVISOR.answer(token, words)
}

fn binding(task: &Task, servers: &[ServerId; VCPUS]) -> Option<Binding> {
    let server = |number: u32| servers.get(number as usize).copied();
    Some(Binding {
        vcpu: server(task.vcpu)?,
        cause: server(task.cause)?,
    })
}

/// Settings of the tasks, besides the timing data.
struct Rest {
    /// The interrupt that is the device of tasks on I/O VCPUs.
    doorbell: Option<u64>,
    /// Tasks that are components' threads, by bit of their number.
    elsewhere: u64,
}

/// Creates the threads of tasks without a component, and those that compute without end.
fn start_tasks(
    first: &mut First,
    info: &GuestInfo,
    timing: Timing,
    (servers, rest): (&[ServerId; VCPUS], Rest),
) -> Result<(), Failure> {
    for (place, key) in ASKED.iter().zip(["ask_c_us", "ask_t_us"]) {
        place.store(argument(info, key).unwrap_or(0), Relaxed);
    }
    compute_all(first, info, timing, servers)?;
    let tasks = timing.tasks.iter().zip(&JOBS).enumerate();
    for (_, (task, job)) in tasks.filter(|(number, _)| rest.elsewhere >> number & 1 == 0) {
        job.wcet_ns.store(task.wcet_ns, Relaxed);
        job.period_ns.store(task.period_ns, Relaxed);
        let binding = binding(task, servers).ok_or(Status::BadArgument)?;
        let (line, entry): (_, extern "C" fn(u64) -> !) = match rest.doorbell {
            Some(doorbell) if task.vcpu != task.cause => (Some(doorbell), serve),
            _ => (None, work),
        };
        let index = CORE.threads.spawn(first, entry, binding)?;
        job.thread.store(index, Relaxed);
        if let Some(line) = line {
            let [receive, send] = CORE.threads.receive_end(first, index)?;
            job.receive.store(receive, Relaxed);
            call(first::INTERRUPT, Operation::Listen, [line, send])?;
        }
    }
    storm::raise();
    let reporter = reporter(first, timing)?;
    let _kept = TIMING.with(&CORE.threads, |kept| *kept = timing);
    CORE.threads.spawn(first, report, Binding::main(reporter))?;
    // By then the budget that threads used to start is replenished.
    let periods = timing.vcpus.iter().map(|vcpu| vcpu.period_ns);
    let longest = periods.max().unwrap_or(0).saturating_add(1_000_000);
    START.store(clock::now() + ticks(longest), Relaxed);
    Ok(())
}

/// Returns whether the argument word `key=NAME,NAME` contains `name`.
fn named(info: &GuestInfo, key: &str, name: &str) -> bool {
    argument_text(info, key).is_some_and(|list| list.split(',').any(|one| one == name))
}

/// Creates the VCPU of the report.
fn reporter(first: &mut First, timing: Timing) -> Result<ServerId, Refused> {
    // The admission test decides whether a VCPU fits that is not in the description.
    let limits = capacity(REPORTER);
    let jobs = [Jobs::each(clock::frequency())];
    let created = match placed(timing) {
        true => CORE.create_placed(first, limits, Place::Partition(0, LEAST), jobs),
        false => CORE.create_main(first, limits, jobs),
    };
    match created {
        // It reports with what all others leave.
        Err(Refused::Admission(admission::Refused::Misfit(_))) => match placed(timing) {
            true => CORE.create_unlimited(first, limits.period, Place::Partition(0, LEAST)),
            false => CORE.create_least(first),
        },
        answer => answer,
    }
}

/// Returns whether priorities order VCPUs.
fn placed(timing: Timing) -> bool {
    let by_priority =
        |schedule: &bulkhead_abi::timing::Schedule| schedule.order == Order::FixedPriority as u32;
    timing.schedule.is_some_and(by_priority)
}

/// Priority and time partition of a VCPU.
fn place(vcpu: &Vcpu) -> Place {
    let priority = Priority(vcpu.place as u8);
    match vcpu.kind == VcpuKind::Reservation as u32 {
        true => Place::Band(priority),
        false => Place::Partition((vcpu.place >> 8) as u8, priority),
    }
}

/// Creates the VCPUs of the description, by number.
fn create_all(
    first: &mut First,
    info: &GuestInfo,
    timing: Timing,
) -> Result<[ServerId; VCPUS], Failure> {
    CORE.threads.prepare(first)?;
    CORE.configure(&timing, 0)?;
    match argument(info, "turns") {
        Some(cores) => LOAD.calibrate_among(cores.max(1)),
        None => LOAD.calibrate(),
    }
    let mut servers = [ServerId(0); VCPUS];
    for (number, (place, vcpu)) in (0..).zip(servers.iter_mut().zip(timing.vcpus)) {
        let unlimited = named(info, "unlimited", name_text(&vcpu.name));
        *place = create(first, number, (vcpu, unlimited), timing)?;
    }
    Ok(servers)
}

/// Creates the threads of the VCPUs that compute without end.
fn compute_all(
    first: &mut First,
    info: &GuestInfo,
    timing: Timing,
    servers: &[ServerId; VCPUS],
) -> Result<(), Failure> {
    let vcpus = timing.vcpus.iter().zip(servers).zip(&COMPUTED);
    let named = |vcpu: &Vcpu| named(info, "compute", name_text(&vcpu.name));
    for ((_, vcpu), count) in vcpus.filter(|((vcpu, _), _)| named(vcpu)) {
        let index = CORE.threads.spawn(first, compute, Binding::main(*vcpu))?;
        count.thread.store(index, Relaxed);
    }
    Ok(())
}

fn create(
    first: &mut First,
    number: u32,
    (vcpu, unlimited): (&Vcpu, bool),
    timing: Timing,
) -> Result<ServerId, Refused> {
    let answer = if vcpu.kind == VcpuKind::Io as u32 {
        let tasks = timing.tasks.iter().filter(|task| task.vcpu == number);
        let causes = tasks.filter_map(|task: &Task| timing.vcpus.get(task.cause as usize));
        let of = causes.clone().map(|vcpu| vcpu.period_ns);
        let [shortest, longest] = [of.clone().min(), of.max()];
        let periods = [shortest, longest].map(|period| ticks(period.unwrap_or(0)));
        let most = causes.map(|vcpu| Priority(vcpu.place as u8)).min();
        match unlimited {
            true => CORE.create_io_unlimited(first, periods),
            false => {
                let most = most.filter(|_| placed(timing));
                let halves = jobs_on(&timing, number);
                CORE.create_io(first, vcpu.percent, periods, most, halves)
            }
        }
    } else if unlimited {
        CORE.create_unlimited(first, ticks(vcpu.period_ns), place(vcpu))
    } else {
        let limits = capacity([vcpu.capacity_ns, vcpu.period_ns]);
        match placed(timing) {
            true => CORE.create_placed(first, limits, place(vcpu), jobs_on(&timing, number)),
            false => CORE.create_main(first, limits, jobs_on(&timing, number)),
        }
    };
    if let Err(refused) = answer {
        println!("VCPU {} is refused: {refused:?}", name_text(&vcpu.name));
    }
    answer
}

/// The task of the thread of that index.
fn job(index: u64) -> &'static Job {
    let is_it = |job: &&Job| job.thread.load(Relaxed) == index;
    match JOBS.iter().find(is_it) {
        Some(job) => job,
        None => panic!("no such task"),
    }
}

/// Computes without end.
extern "C" fn compute(index: u64) -> ! {
    let is_it = |count: &&Computed| count.thread.load(Relaxed) == index;
    match COMPUTED.iter().find(is_it) {
        Some(count) => LOAD.endless(&count.pieces),
        None => panic!("no such VCPU"),
    }
}

/// A task: each period a job that computes for its WCET.
extern "C" fn work(index: u64) -> ! {
    let job = job(index);
    let period = ticks(job.period_ns.load(Relaxed));
    let mut release = START.load(Relaxed);
    loop {
        CORE.threads.block(release);
        LOAD.compute(job.wcet_ns.load(Relaxed));
        let response = clock::now() - release;
        job.worst.fetch_max(response, Relaxed);
        job.jobs.fetch_add(1, Relaxed);
        release += period;
    }
}

/// A task of an I/O VCPU: the bottom half of its device's interrupts.
extern "C" fn serve(index: u64) -> ! {
    let job = job(index);
    loop {
        if let Ok(count) = CORE.threads.wait_notified(job.receive.load(Relaxed)) {
            job.interrupts.fetch_add(count, Relaxed);
            LOAD.compute(job.wcet_ns.load(Relaxed));
            job.jobs.fetch_add(1, Relaxed);
            storm::complete();
        }
    }
}

/// Requests another VCPU while everything runs, once, and prints the answer.
fn ask(timing: Timing) {
    let [capacity_us, period_us] = [0, 1].map(|place: usize| ASKED[place].swap(0, Relaxed));
    if period_us == 0 {
        return;
    }
    let [capacity, period] = [capacity_us, period_us].map(|us| ticks(us * 1000));
    let limits = Capacity { capacity, period };
    let answer = MEANS.with(&CORE.threads, |means| {
        let first = means.as_mut()?;
        Some(CORE.create_main(first, limits, []))
    });
    match answer.ok().flatten() {
        Some(Ok(_)) => println!("a VCPU of {capacity_us} us in {period_us} us: created"),
        Some(Err(Refused::Admission(admission::Refused::Misfit(misfit)))) => println!(
            "a VCPU of {capacity_us} us in {period_us} us: refused, `{}` would lack {} us of its C",
            timing
                .vcpus
                .get(misfit.vcpu)
                .map_or("the new one", |vcpu| name_text(&vcpu.name)),
            nanoseconds(misfit.lacks).div_ceil(1000)
        ),
        other => println!("a VCPU of {capacity_us} us in {period_us} us: {other:?}"),
    }
}

/// Prints the responses of the tasks once a second, on the least important VCPU.
extern "C" fn report(_: u64) -> ! {
    let timing = TIMING
        .with(&CORE.threads, |timing| *timing)
        .expect("nobody keeps it");
    let mut next = START.load(Relaxed);
    loop {
        next += clock::frequency();
        CORE.threads.block(next);
        ask(timing);
        for (task, job) in timing.tasks.iter().zip(&JOBS) {
            if job.thread.load(Relaxed) == 0 {
                // It belongs to a component, which reports itself.
                continue;
            }
            let jobs = job.jobs.load(Relaxed);
            if job.receive.load(Relaxed) != 0 {
                println!(
                    "task {} jobs={jobs} for {} interrupts",
                    name_text(&task.name),
                    job.interrupts.load(Relaxed)
                );
                continue;
            }
            let longest = nanoseconds(job.worst.load(Relaxed));
            println!(
                "task {} jobs={jobs} longest_ns={longest} bound_ns={} {}",
                name_text(&task.name),
                task.bound_ns,
                if longest <= task.bound_ns {
                    "ok"
                } else {
                    "LATE"
                }
            );
        }
        for (vcpu, count) in timing.vcpus.iter().zip(&COMPUTED) {
            if count.thread.load(Relaxed) != 0 {
                let pieces = count.pieces.load(Relaxed);
                println!("VCPU {} computed pieces={pieces}", name_text(&vcpu.name));
            }
        }
    }
}
