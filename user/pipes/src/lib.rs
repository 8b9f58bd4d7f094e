//! Runs the tuned pipes of its partition (paper 003; spec 40-channels-and-pipes)
//!
//! Schedules the partition: each stage of a pipe is a thread on a VCPU with the C and T that were solved, and is
//! released by data, paced as `doc/design/pipes-language.md` says. It copies its inputs when a job begins. Interrupts of the device that
//! the component owns are served on an I/O VCPU. Only pipes that were solved and admitted as a whole are in the
//! archive; they start together, once all of them are built, or the partition fails. A job that uses up its budget is cut
//! there by the kernel; it is counted, and dealt with as its function says. The least important VCPU records what left the pipes, says
//! so once a second, and beats the heart.
//!
//! Where stages are on several cores of the partition, each core has such a component of its own, in an address space of its own, and they share
//! memory (`together`, `doc/design/pipes-deployment.md`). That of the first core has the console, the trace, the devices and the recorder, and tells the others
//! what is typed (`orders`, `doc/design/pipes-deployment.md`).
//!
//! A program names its functions ([`functions!`]); those of `lib/stages` are there in any case.
//!
//! Argument words: `profile=JOBS`: functions and stages are measured (`profile`); `load=PERCENT` of its WCET that each job computes (default 50); `rounds=COUNT` of a loop
//! for each microsecond of its WCET instead, as many in any system; `overrun=FUNCTION`: every
//! hundredth job of that function computes for twice its WCET; `jitter=PERCENT`: each release by the timer is later than its
//! interval by up to so much.
#![no_std]

mod can;
mod card;
mod control;
mod crossing;
mod device;
mod ends;
mod memory;
mod notes;
mod orders;
mod planner;
mod profile;
mod seats;
mod serving;
mod share;
mod stage;
mod table;
mod through;
mod together;
mod watch;

use bulkhead_abi::component::SCHEDULER_FREE;
use bulkhead_abi::dispatch::EventKind;
use bulkhead_abi::kernel::{Operation, Status, first};
use bulkhead_abi::timing::{MAX_CHUNKS, Vcpu, VcpuKind};
use bulkhead_abi::{NAME_LEN, name_field, name_text};
use bulkhead_component::call::call;
use bulkhead_component::clock::ticks;
use bulkhead_component::first::Timing;
use bulkhead_component::load::Load;
use bulkhead_component::{Own, clock, console, cores, own, println};
use bulkhead_sched::budget::Capacity;
use bulkhead_sched::policy::ServerId;
use bulkhead_slite::{Mutex, Refused, VcpuThreads, jobs_on};
use core::fmt;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

/// Names the functions of a program that runs pipes: a constant list of names and functions, each a
/// `fn(&mut Job<'_>) -> Option<[u64; 2]>` (`bulkhead_stages::functions`).
#[macro_export]
macro_rules! functions {
    ($($functions:tt)*) => {
        ::bulkhead_component::component!(bulkhead_pipes_program);

        const FUNCTIONS: &[(&str, $crate::Function)] = &$($functions)*;

        fn bulkhead_pipes_program(first: $crate::First) -> ! {
            $crate::run(first, |index| FUNCTIONS.get(index).copied())
        }
    };
}

pub use bulkhead_component::First;
pub use bulkhead_stages::functions::{Function, Functions, Job};

/// Threads: stages, the device's, the recorder's, the planner's.
const THREADS: usize = 40;
const VCPUS: usize = bulkhead_abi::pipe::MAX_VCPUS;

static CORE: VcpuThreads<THREADS, VCPUS, MAX_CHUNKS> = VcpuThreads::new(false);
static LOAD: Load = Load::new();
/// The stages were let begin.
static BEGUN: AtomicBool = AtomicBool::new(false);
/// Who prints: recorder and planner have one line between them.
static SAYS: Mutex<()> = Mutex::new(());

/// Prints lines of a thread.
macro_rules! say {
    ($($argument:tt)*) => {
        $crate::say_all(format_args!($($argument)*))
    };
}
pub(crate) use say;

fn say_all(text: fmt::Arguments<'_>) {
    let _said = SAYS.with(&CORE.threads, |()| console::print(text));
}

/// Why no pipe runs.
#[derive(Clone, Copy)]
enum Failure {
    Kernel(Status),
    Vcpu(&'static str, Refused),
    Pipe([u8; NAME_LEN], &'static str),
    /// A pipe, its function that this program has not, and those that it has.
    Function([u8; NAME_LEN], [u8; NAME_LEN], Functions),
}

impl Failure {
    const fn named(name: &'static str, why: &'static str) -> Self {
        Self::Pipe(name_field(name), why)
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self::Kernel(status)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(status) => write!(out, "the kernel refuses: {status:?}"),
            Self::Vcpu(name, refused) => write!(out, "VCPU {name} is refused: {refused:?}"),
            Self::Pipe(name, why) => write!(out, "{}: {why}", name_text(name)),
            Self::Function(pipe, function, known) => {
                let [pipe, function] = [pipe, function].map(name_text);
                write!(
                    out,
                    "pipe {pipe}: the program has no function {function}; it has"
                )?;
                bulkhead_stages::functions::all(*known)
                    .try_for_each(|(name, _)| write!(out, " {name}"))
            }
        }
    }
}

/// Runs the pipes of the partition for ever, whose stages find their functions among these.
pub fn run(first: First, functions: Functions) -> ! {
    let own = Own::open();
    if let Err(failure) = start(first.with_slots_from(SCHEDULER_FREE), &own, functions) {
        give_up(&failure);
    }
    CORE.threads
        .run_telling(|index, _, how| match (how, stage::of_thread(index)) {
            (EventKind::Expired, Some(stage)) => stage.expired(),
            (EventKind::Expired, None) => {}
            (_, stage) => {
                let name = stage.map_or(name_field("pipes"), stage::Shared::name);
                println!("{}: faulted", name_text(&name));
                let _does_not_return = own::fail(first::MONITOR, index);
            }
        })
}

/// No pipe runs, and so the partition has failed.
pub(crate) fn give_up(failure: &Failure) -> ! {
    println!("pipes are not started: {failure}");
    let _does_not_return = own::fail(first::MONITOR, 1);
    loop {
        clock::wait_for_interrupt();
    }
}

fn start(mut first: First, own: &Own, functions: Functions) -> Result<(), Failure> {
    let timing = own.timing();
    CORE.threads.prepare(&mut first)?;
    together::open(own, &timing)?;
    let configured = CORE.configure(&timing, cores::rank() as u32);
    configured.map_err(|refused| Failure::Vcpu("schedule", refused))?;
    LOAD.calibrate();
    if together::is_first() {
        profile::functions(own, functions);
    }
    let mut servers = [None; VCPUS];
    for (number, (place, vcpu)) in (0..).zip(servers.iter_mut().zip(timing.vcpus)) {
        if u64::from(vcpu.core) == cores::rank() {
            let created = create(&mut first, number, vcpu, &timing);
            let created = created.map_err(|refused| Failure::Vcpu(name_text(&vcpu.name), refused));
            *place = Some(created?);
        }
    }
    let common = stage::Common::new(own, functions);
    stage::build(&common, own, &timing)?;
    seats::open(&mut first, &servers)?;
    match together::is_first() {
        true => start_first(&mut first, own, &timing, &servers, common)?,
        false => start_other(&mut first, own, &timing, common)?,
    }
    together::is_built();
    if together::is_first() {
        begin()?;
    }
    Ok(())
}

/// What the first core has besides stages.
fn start_first(
    first: &mut First,
    own: &Own,
    timing: &Timing,
    servers: &[Option<ServerId>],
    common: stage::Common,
) -> Result<(), Failure> {
    planner::make_vcpu(first, timing)?;
    device::start(first, own, timing, servers)?;
    watch::start(first, own, timing, servers)?;
    // Before the spare stages: who serves the console serves the first threads of a component.
    planner::start(first, own, timing, common)?;
    seats::open_spare(first, timing)
}

/// What other cores have besides stages.
fn start_other(
    first: &mut First,
    own: &Own,
    timing: &Timing,
    common: stage::Common,
) -> Result<(), Failure> {
    orders::start(first, own, timing, common)?;
    seats::open_spare(first, timing)
}

/// Lets all stages begin where every core has built its own; whether they did. Who is woken may ask before this has returned.
pub(crate) fn begin() -> Result<bool, Failure> {
    let begins = together::are_built();
    if begins && !BEGUN.swap(true, Relaxed) {
        call(first::MONITOR, Operation::Up, [])?;
        stage::go();
    }
    Ok(begins)
}

/// A VCPU as the description or the solver made it.
fn create(
    first: &mut First,
    number: u32,
    vcpu: &Vcpu,
    timing: &Timing,
) -> Result<ServerId, Refused> {
    if vcpu.kind == VcpuKind::Io as u32 {
        let periods = io_periods(timing, number);
        let halves = jobs_on(timing, number);
        if ends::serves(timing, number) {
            let described = timing.tasks.iter().any(|task| task.vcpu == number);
            let periods = described.then_some(periods);
            return CORE.create_io_for_any(first, vcpu.percent, periods, halves);
        }
        return CORE.create_io(first, vcpu.percent, periods, None, halves);
    }
    let [capacity, period] = [vcpu.capacity_ns, vcpu.period_ns].map(ticks);
    CORE.create_main(
        first,
        Capacity { capacity, period },
        jobs_on(timing, number),
    )
}

/// The shortest and the longest period of those for whom an I/O VCPU works, ticks.
fn io_periods(timing: &Timing, number: u32) -> [u64; 2] {
    let tasks = timing.tasks.iter().filter(|task| task.vcpu == number);
    let causes = tasks.filter_map(|task| timing.vcpus.get(task.cause as usize));
    let periods = causes.map(|vcpu| vcpu.period_ns);
    let [shortest, longest] = [periods.clone().min(), periods.max()];
    [shortest, longest].map(|period| ticks(period.unwrap_or(0)))
}
