//! The VCPUs on which stages run, and whether others would fit
//!
//! Each stage that is here, and each that may be typed, has a thread on a VCPU from the start; one that may be typed on each core, since nobody knows
//! yet on which it will be. That of a stage which nobody typed yet is less important than all others. It is given C and T while the planner runs, or who
//! does on another core what that says, who is less important than all: then everybody else has no work, or no
//! budget, and no busy period has both what the VCPU had before and what it has from then on. Whether all of it fits the planner asks for all cores.

use crate::stage::{self, STAGES, is_vacant};
use crate::table::{self, Entry};
use crate::{CORE, Failure, VCPUS, ends, io_periods, together, watch};
use bulkhead_abi::pipe::{NONE, Stage};
use bulkhead_abi::timing::{MAX_CHUNKS, Vcpu, VcpuKind};
use bulkhead_analysis::Reservation;
use bulkhead_analysis::admission::{self, Admission};
use bulkhead_analysis::utilisation::Fraction;
use bulkhead_component::First;
use bulkhead_component::clock::{ticks, ticks_up};
use bulkhead_component::cores;
use bulkhead_component::first::Timing;
use bulkhead_component::stack::Stack;
use bulkhead_sched::budget::Capacity;
use bulkhead_sched::policy::ServerId;
use bulkhead_slite::{Jobs, Mutex, Refused, VcpuThreads, jobs_on};
use core::ops::Range;

/// Pages of the stack of a stage: 10.2 KiB were used at most, the functions' own aside, which `pipe functions` tells.
const STACK_PAGES: u64 = 4;

/// In admission a VCPU is known by its number in the description; that of a stage started at run time by the stage's, from here on.
const RUNTIMES: usize = 1 << 12;

/// A place for a stage.
#[derive(Clone, Copy)]
pub(crate) struct Seat {
    pub(crate) server: ServerId,
    stack: Stack,
}

static SEATS: [Mutex<Option<Seat>>; STAGES] = [const { Mutex::new(None) }; STAGES];

/// Stages with their budgets, by number.
pub(crate) type Budgets = [Option<Stage>; STAGES];

/// Makes the threads of all stages of the description that are here.
pub(crate) fn open(first: &mut First, servers: &[Option<ServerId>]) -> Result<(), Failure> {
    first.set_stack_pages(Some(STACK_PAGES));
    for (_, entry) in table::all() {
        for (number, stage) in entry.here() {
            let server = servers.get(stage.vcpu as usize).copied().flatten();
            let server = server.ok_or(bulkhead_abi::kernel::Status::BadArgument)?;
            add(first, number, server)?;
        }
    }
    first.set_stack_pages(None);
    Ok(())
}

/// Makes the threads of stages that may be typed.
pub(crate) fn open_spare(first: &mut First, timing: &Timing) -> Result<(), Failure> {
    first.set_stack_pages(Some(STACK_PAGES));
    for number in spare(timing) {
        let server = CORE.create_least(first);
        let server = server.map_err(|refused| Failure::Vcpu("spare", refused))?;
        // The first core may have taken one up before another is built.
        if together::is_first() {
            stage::set_vacant(number);
        }
        add(first, number, server)?;
    }
    first.set_stack_pages(None);
    Ok(())
}

/// Numbers of stages that may be typed, whichever core they will be on: behind those of the description.
fn spare(timing: &Timing) -> Range<usize> {
    let described = timing.stages.len().min(STAGES);
    let count = timing.repository.map_or(0, |all| all.head.spare_stages);
    described..(described + count as usize).min(STAGES)
}

fn add(first: &mut First, number: usize, server: ServerId) -> Result<(), Failure> {
    stage::spawn(first, number, server)?;
    let seat = Seat {
        server,
        stack: first.last_stack(),
    };
    if let Some(place) = SEATS.get(number) {
        let _kept = place.with(&CORE.threads, |place| *place = Some(seat));
    }
    Ok(())
}

/// The seat of a stage.
pub(crate) fn get(number: usize) -> Option<Seat> {
    let place = SEATS.get(number)?;
    place.with(&CORE.threads, |seat| *seat).ok().flatten()
}

/// Numbers of stages that a new pipe may have: those that nobody has, and those of a pipe that it replaces.
pub(crate) fn free(replaced: Option<&Entry>) -> impl Iterator<Item = usize> + '_ {
    let of_replaced = move |number: usize| {
        replaced.is_some_and(|entry| entry.numbers().any(|other| other == number))
    };
    // Its thread rests where another partition runs it.
    (0..STAGES).filter(move |&number| {
        get(number).is_some() && (is_vacant(number) && !is_taken(number) || of_replaced(number))
    })
}

/// The same on any core of the partition.
pub(crate) fn free_anywhere<'t>(
    timing: &'t Timing,
    replaced: Option<&'t Entry>,
) -> impl Iterator<Item = usize> + 't {
    let of_replaced = move |number: usize| {
        replaced.is_some_and(|entry| entry.numbers().any(|other| other == number))
    };
    (0..STAGES).filter(move |&number| {
        let there = spare(timing).contains(&number) || described_on(timing, number).is_some();
        there && (is_vacant(number) && !is_taken(number) || of_replaced(number))
    })
}

/// Those of them that may be on that core.
pub(crate) fn free_on<'t>(
    timing: &'t Timing,
    replaced: Option<&'t Entry>,
    core: u32,
) -> impl Iterator<Item = usize> + 't {
    let free = free_anywhere(timing, replaced);
    free.filter(move |&number| described_on(timing, number).is_none_or(|own| own == core))
}

/// The core of a stage of the description that is in this partition: that of its thread.
fn described_on(timing: &Timing, number: usize) -> Option<u32> {
    let stage = timing.stages.get(number)?;
    stage.is_here().then_some(stage.core)
}

/// More stages on a core than are free there.
pub(crate) struct Missing {
    pub(crate) core: u32,
    pub(crate) wanted: usize,
    pub(crate) free: usize,
}

/// Numbers for stages on these cores, [`NONE`] where another partition runs them. Those that only one core has are its own first, and what is
/// elsewhere takes what is left.
pub(crate) fn choose(
    timing: &Timing,
    replaced: Option<&Entry>,
    cores: &[u32],
) -> Result<[usize; STAGES], Missing> {
    let (mut seats, mut taken) = ([0; STAGES], 0u64);
    for elsewhere in [false, true] {
        let places = cores.iter().zip(&mut seats);
        for (&core, seat) in places.filter(|(core, _)| (**core == NONE) == elsewhere) {
            let free = || {
                let all = free_anywhere(timing, replaced);
                all.filter(|number| taken >> number & 1 == 0)
            };
            let own = |number: &usize| described_on(timing, *number) == Some(core);
            let any = |number: &usize| elsewhere || described_on(timing, *number).is_none();
            let found = free().find(own).or_else(|| free().find(any));
            *seat = found.ok_or(Missing {
                core,
                wanted: cores.iter().filter(|other| **other == core).count(),
                free: free_on(timing, replaced, core).count(),
            })?;
            taken |= 1 << *seat;
        }
    }
    Ok(seats)
}

/// Numbers of stages that no thread runs and no pipe has: enough for stages elsewhere.
pub(crate) fn without_thread() -> impl Iterator<Item = usize> {
    (0..STAGES).filter(|&number| get(number).is_none() && !is_taken(number))
}

/// Whether a pipe has the stage of that number.
fn is_taken(number: usize) -> bool {
    let mut all = table::all();
    all.any(|(_, entry)| entry.numbers().any(|other| other == number))
}

/// Most that a stage used of its stack, and what the stacks of typed ones have, bytes.
pub(crate) fn stacks() -> [u64; 2] {
    let seats = || (0..STAGES).filter_map(get).map(|seat| seat.stack);
    let used = seats().map(|stack| stack.used()).max();
    let given = seats().map(|stack| stack.bytes()).max();
    [used.unwrap_or(0), given.unwrap_or(0)]
}

/// C and T of a stage, ticks.
fn limits(stage: &Stage) -> Capacity {
    Capacity {
        capacity: ticks(stage.capacity_ns),
        period: ticks(stage.period_ns),
    }
}

/// Budgets of all stages that are in this partition, but those of a pipe.
pub(crate) fn budgets(but: Option<usize>) -> Budgets {
    let mut budgets = [None; STAGES];
    for (_, entry) in table::all().filter(|(pipe, _)| Some(*pipe) != but) {
        for (number, stage) in entry.within() {
            if let Some(place) = budgets.get_mut(number) {
                *place = Some(stage);
            }
        }
    }
    budgets
}

/// Adds a stage to the budgets.
pub(crate) fn seat(budgets: &mut Budgets, number: usize, stage: &Stage) {
    if let Some(place) = budgets.get_mut(number) {
        *place = Some(*stage);
    }
}

/// Gives the VCPU of a stage, whose thread waits for a plan, its budget; whether it could be.
pub(crate) fn give(number: usize, stage: &Stage) -> bool {
    let Some(seat) = get(number) else {
        return false;
    };
    let set = CORE
        .threads
        .with_policy(|policy, now| policy.set_limits(seat.server, limits(stage), now));
    set.is_ok()
}

/// Whether all that is described on the first core, the recorder among it, and stages there with these budgets fit, scheduling
/// overhead included.
pub(crate) fn admit(timing: &Timing, budgets: &Budgets) -> Result<(), Refused> {
    admit_on(timing, budgets, 0)
}

/// The same on one of the cores; who does on others what the planner says has there what the planner has on the first.
pub(crate) fn admit_on(timing: &Timing, budgets: &Budgets, core: u32) -> Result<(), Refused> {
    type Core = VcpuThreads<{ crate::THREADS }, VCPUS, MAX_CHUNKS>;
    Core::would_admit(timing, |all| {
        let vcpus = (0..).zip(timing.vcpus);
        for (number, vcpu) in vcpus.filter(|(_, vcpu)| vcpu.core == core) {
            match of_vcpu(timing, number) {
                Some(stage) => admit_stage(all, number as usize, budgets, stage)?,
                None => admit_described(all, number, vcpu, timing, budgets)?,
            }
        }
        // Who solves, or does what was solved, looks as often, and has what is left.
        let least = Capacity {
            capacity: 1,
            period: u64::MAX >> 3,
        };
        let looks = [Jobs::each(ticks(watch::PAUSE_NS))];
        admit_main(all, usize::from(u16::MAX), least, looks)?;
        let on_core = |number: &usize| {
            let stage = budgets.get(*number).and_then(Option::as_ref);
            stage.is_some_and(|stage| stage.core == core)
        };
        let mut typed = spare(timing).filter(on_core);
        typed.try_for_each(|number| admit_stage(all, RUNTIMES + number, budgets, number))
    })
}

/// The stage on a VCPU of the description.
fn of_vcpu(timing: &Timing, vcpu: u32) -> Option<usize> {
    let mut stages = timing.stages.iter().take(STAGES);
    stages.position(|stage| stage.is_here() && stage.vcpu == vcpu)
}

fn admit_stage(
    all: &mut Admission<VCPUS>,
    identity: usize,
    budgets: &Budgets,
    number: usize,
) -> Result<(), admission::Refused> {
    let Some(stage) = budgets.get(number).and_then(Option::as_ref) else {
        return Ok(());
    };
    let limits = limits(stage);
    let jobs = Jobs::each(limits.period).in_bursts(stage.messages.into());
    admit_main(all, identity, limits, [jobs])
}

fn admit_main(
    all: &mut Admission<VCPUS>,
    identity: usize,
    Capacity { capacity, period }: Capacity,
    jobs: impl IntoIterator<Item = Jobs>,
) -> Result<(), admission::Refused> {
    let limits = Reservation { capacity, period };
    all.main(identity, limits, jobs)
}

fn admit_described(
    all: &mut Admission<VCPUS>,
    number: u32,
    vcpu: &Vcpu,
    timing: &Timing,
    budgets: &Budgets,
) -> Result<(), admission::Refused> {
    if vcpu.kind == VcpuKind::Io as u32 {
        let share = Fraction::ratio(vcpu.percent.into(), 100);
        let share = share.ok_or(admission::Refused::BadBudget)?;
        if ends::serves(timing, number) {
            let halves = || halves(timing, number, budgets);
            let periods = || halves().map(|(period, _)| period);
            return match (periods().min(), periods().max()) {
                (Some(shortest), Some(longest)) => {
                    let jobs = halves().map(|(_, jobs)| jobs);
                    all.io(share, [shortest, longest], jobs)
                }
                _ => Ok(()),
            };
        }
        return all.io(share, io_periods(timing, number), jobs_on(timing, number));
    }
    let [capacity, period] = [vcpu.capacity_ns, vcpu.period_ns].map(ticks);
    let limits = Capacity { capacity, period };
    let identity = number as usize;
    match ends::scatters(timing, number) {
        true => admit_main(all, identity, limits, [Jobs::each(period)]),
        false => admit_main(all, identity, limits, jobs_on(timing, number)),
    }
}

/// The server of a VCPU of this core: those of the description are created in its order, and first.
pub(crate) fn server_of(timing: &Timing, vcpu: u32) -> ServerId {
    let before = timing.vcpus.iter().take(vcpu as usize);
    let here = before.filter(|one| u64::from(one.core) == cores::rank());
    ServerId(here.count() as u16)
}

/// The bottom halves on an I/O VCPU that work for stages with these budgets, each with the period of whom it works for, ticks.
fn halves<'b>(
    timing: &'b Timing,
    vcpu: u32,
    budgets: &'b Budgets,
) -> impl Iterator<Item = (u64, Jobs)> + 'b {
    let repository = timing.repository.iter();
    repository.flat_map(move |all| {
        budgets.iter().flatten().flat_map(move |stage| {
            let ends = ends::of_stage(all, stage).into_iter().flatten();
            let here = ends.filter(move |end| end.vcpu == vcpu);
            here.filter_map(move |end| {
                let io = all.ios.get(end.io as usize)?;
                let own = ticks(stage.period_ns);
                let cause = match end.period_ns {
                    0 => own,
                    period => ticks(period),
                };
                let wcet = ticks_up(io.wcet_ns);
                let half = Jobs::of_bottom_half(own, wcet, io.percent, cause);
                Some((cause, half.in_bursts(stage.messages.into())))
            })
        })
    })
}
