//! The VCPUs on which stages run, and their admission
//!
//! Each static stage here, and each spare stage for run-time pipes, has a thread on a VCPU from the
//! start. A spare stage has one on each core, because its core is not known yet. The VCPU of an
//! unused spare stage has the lowest priority. It gets C and T while the planner runs, or on
//! another core the thread that executes the planner's commands. Both have the lowest priority of
//! their core: when they run, every other thread is idle or out of budget, and no busy period
//! contains both the old and the new budget of a VCPU. The planner checks the admission of all
//! cores.

use crate::runtime::{CORE, Failure, SERVERS};
use crate::stage::{self, STAGES, is_vacant};
use crate::table::{self, Entry};
use crate::{endpoints, io_periods, recorder, shared_state};
use bulkhead_abi::pipe::{NONE, Stage};
use bulkhead_abi::timing::{Vcpu, VcpuKind};
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
use bulkhead_slite::{Jobs, Mutex, Refused, capacity, jobs_on};
use bulkhead_stages::stacks;
use core::ops::Range;

/// In the admission test, identities below this are numbers of static VCPUs; those of stages that are
/// started at run time start here.
const RUNTIMES: usize = 1 << 12;

/// The thread and VCPU of a stage.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) server: ServerId,
    stack: Stack,
}

static SLOTS: [Mutex<Option<Slot>>; STAGES] = [const { Mutex::new(None) }; STAGES];

/// Stages with their budgets, by number.
pub(crate) type Budgets = [Option<Stage>; STAGES];

/// Creates the threads of all static stages that are here.
pub(crate) fn open(first: &mut First, servers: &[Option<ServerId>]) -> Result<(), Failure> {
    first.set_stack_pages(Some(stacks::STAGE));
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

/// Creates the threads of spare stages.
pub(crate) fn open_spare(first: &mut First, timing: &Timing) -> Result<(), Failure> {
    first.set_stack_pages(Some(stacks::STAGE));
    for number in spare(timing) {
        let server = CORE.create_least(first);
        let server = server.map_err(|refused| Failure::Vcpu("spare", refused))?;
        // On other cores, the first core may have used a spare stage before this runs.
        if shared_state::is_first() {
            stage::set_vacant(number);
        }
        add(first, number, server)?;
    }
    first.set_stack_pages(None);
    Ok(())
}

/// Numbers of spare stages, the same on every core: behind the static ones.
fn spare(timing: &Timing) -> Range<usize> {
    let static_count = timing.stages.len().min(STAGES);
    let count = timing.repository.map_or(0, |all| all.head.spare_stages);
    static_count..(static_count + count as usize).min(STAGES)
}

fn add(first: &mut First, number: usize, server: ServerId) -> Result<(), Failure> {
    stage::spawn(first, number, server)?;
    let slot = Slot {
        server,
        stack: first.last_stack(),
    };
    if let Some(place) = SLOTS.get(number) {
        let _kept = place.with(&CORE.threads, |place| *place = Some(slot));
    }
    Ok(())
}

/// Thread and VCPU of a stage.
pub(crate) fn get(number: usize) -> Option<Slot> {
    let place = SLOTS.get(number)?;
    place.with(&CORE.threads, |slot| *slot).ok().flatten()
}

/// Numbers of stages that a new pipe may have: free ones, and those of a pipe that it replaces.
pub(crate) fn free(replaced: Option<&Entry>) -> impl Iterator<Item = usize> + '_ {
    let of_replaced = move |number: usize| {
        replaced.is_some_and(|entry| entry.numbers().any(|other| other == number))
    };
    // The thread of a stage that another partition runs is idle here.
    (0..STAGES).filter(move |&number| {
        get(number).is_some() && (is_vacant(number) && !is_taken(number) || of_replaced(number))
    })
}

/// Numbers of free stages on any core of the partition.
pub(crate) fn free_anywhere<'t>(
    timing: &'t Timing,
    replaced: Option<&'t Entry>,
) -> impl Iterator<Item = usize> + 't {
    let of_replaced = move |number: usize| {
        replaced.is_some_and(|entry| entry.numbers().any(|other| other == number))
    };
    (0..STAGES).filter(move |&number| {
        let there = spare(timing).contains(&number) || static_core(timing, number).is_some();
        there && (is_vacant(number) && !is_taken(number) || of_replaced(number))
    })
}

/// Numbers of free stages on that core.
pub(crate) fn free_on<'t>(
    timing: &'t Timing,
    replaced: Option<&'t Entry>,
    core: u32,
) -> impl Iterator<Item = usize> + 't {
    let free = free_anywhere(timing, replaced);
    free.filter(move |&number| {
        static_core(timing, number).is_none_or(|static_number| static_number == core)
    })
}

/// The core of a static stage of this partition, on which its thread is.
fn static_core(timing: &Timing, number: usize) -> Option<u32> {
    let stage = timing.stages.get(number)?;
    stage.is_here().then_some(stage.core)
}

/// A core that lacks free stages.
pub(crate) struct Missing {
    pub(crate) core: u32,
    pub(crate) needed: usize,
    pub(crate) free: usize,
}

/// Chooses numbers for stages on these cores, [`NONE`] for stages that another partition runs.
/// Stages that exist on one core only are chosen first; stages of other partitions take the
/// remaining numbers.
pub(crate) fn choose(
    timing: &Timing,
    replaced: Option<&Entry>,
    cores: &[u32],
) -> Result<[usize; STAGES], Missing> {
    let (mut slots, mut taken) = ([0; STAGES], 0u64);
    for elsewhere in [false, true] {
        let places = cores.iter().zip(&mut slots);
        for (&core, slot) in places.filter(|(core, _)| (**core == NONE) == elsewhere) {
            let free = || {
                let all = free_anywhere(timing, replaced);
                all.filter(|number| taken >> number & 1 == 0)
            };
            let is_static_here = |number: &usize| static_core(timing, *number) == Some(core);
            let any = |number: &usize| elsewhere || static_core(timing, *number).is_none();
            let found = free().find(is_static_here).or_else(|| free().find(any));
            *slot = found.ok_or(Missing {
                core,
                needed: cores.iter().filter(|other| **other == core).count(),
                free: free_on(timing, replaced, core).count(),
            })?;
            taken |= 1 << *slot;
        }
    }
    Ok(slots)
}

/// Free numbers of stages without a thread here, for stages that another partition runs.
pub(crate) fn without_thread() -> impl Iterator<Item = usize> {
    (0..STAGES).filter(|&number| get(number).is_none() && !is_taken(number))
}

/// Returns whether a pipe has the stage of that number.
fn is_taken(number: usize) -> bool {
    let mut all = table::all();
    all.any(|(_, entry)| entry.numbers().any(|other| other == number))
}

/// Stack bytes that a stage used at most, and that spare stages have.
pub(crate) fn stacks() -> [u64; 2] {
    let slots = || (0..STAGES).filter_map(get).map(|slot| slot.stack);
    let used = slots().map(|stack| stack.used()).max();
    let given = slots().map(|stack| stack.bytes()).max();
    [used.unwrap_or(0), given.unwrap_or(0)]
}

/// Budget and period of a stage, ticks.
fn limits(stage: &Stage) -> Capacity {
    capacity([stage.capacity_ns, stage.period_ns])
}

/// Budgets of all stages in this partition, except those of a pipe.
pub(crate) fn budgets(except: Option<usize>) -> Budgets {
    let mut budgets = [None; STAGES];
    for (_, entry) in table::all().filter(|(pipe, _)| Some(*pipe) != except) {
        for (number, stage) in entry.within() {
            if let Some(place) = budgets.get_mut(number) {
                *place = Some(stage);
            }
        }
    }
    budgets
}

/// Adds a stage to the budgets.
pub(crate) fn add_budget(budgets: &mut Budgets, number: usize, stage: &Stage) {
    if let Some(place) = budgets.get_mut(number) {
        *place = Some(*stage);
    }
}

/// Assigns a budget to the VCPU of a stage. The stage's thread waits for a plan. Returns whether it
/// could.
pub(crate) fn give(number: usize, stage: &Stage) -> bool {
    let Some(slot) = get(number) else {
        return false;
    };
    let set = CORE
        .threads
        .with_policy(|policy, now| policy.set_limits(slot.server, limits(stage), now));
    set.is_ok()
}

/// Admission test of the first core: the description, the recorder, and stages with these budgets,
/// scheduling overhead included.
pub(crate) fn admit(timing: &Timing, budgets: &Budgets) -> Result<(), Refused> {
    admit_on(timing, budgets, 0)
}

/// Admission test of one core. The command thread of another core costs the same as the planner on
/// the first one.
pub(crate) fn admit_on(timing: &Timing, budgets: &Budgets, core: u32) -> Result<(), Refused> {
    crate::runtime::Core::would_admit(timing, |all| {
        let vcpus = (0..).zip(timing.vcpus);
        for (number, vcpu) in vcpus.filter(|(_, vcpu)| vcpu.core == core) {
            match of_vcpu(timing, number) {
                Some(stage) => admit_stage(all, number as usize, budgets, stage)?,
                None => admit_static(all, number, vcpu, timing, budgets)?,
            }
        }
        // The planner, or the command thread, polls as often, with the remaining time.
        let least = Capacity {
            capacity: 1,
            period: u64::MAX >> 3,
        };
        let looks = [Jobs::each(ticks(recorder::PAUSE_NS))];
        admit_main(all, usize::from(u16::MAX), least, looks)?;
        let on_core = |number: &usize| {
            let stage = budgets.get(*number).and_then(Option::as_ref);
            stage.is_some_and(|stage| stage.core == core)
        };
        let mut run_time = spare(timing).filter(on_core);
        run_time.try_for_each(|number| admit_stage(all, RUNTIMES + number, budgets, number))
    })
}

/// The stage on a static VCPU.
fn of_vcpu(timing: &Timing, vcpu: u32) -> Option<usize> {
    let mut stages = timing.stages.iter().take(STAGES);
    stages.position(|stage| stage.is_here() && stage.vcpu == vcpu)
}

fn admit_stage(
    all: &mut Admission<SERVERS>,
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
    all: &mut Admission<SERVERS>,
    identity: usize,
    Capacity { capacity, period }: Capacity,
    jobs: impl IntoIterator<Item = Jobs>,
) -> Result<(), admission::Refused> {
    let limits = Reservation { capacity, period };
    all.main(identity, limits, jobs)
}

fn admit_static(
    all: &mut Admission<SERVERS>,
    number: u32,
    vcpu: &Vcpu,
    timing: &Timing,
    budgets: &Budgets,
) -> Result<(), admission::Refused> {
    if vcpu.kind == VcpuKind::Io as u32 {
        let share = Fraction::ratio(vcpu.percent.into(), 100);
        let share = share.ok_or(admission::Refused::BadBudget)?;
        if endpoints::serves(timing, number) {
            let halves = || halves(timing, number, budgets);
            let periods = || halves().map(|(period, _)| period);
            return match (periods().min(), periods().max()) {
                (Some(shortest), Some(longest)) => {
                    let jobs = halves().map(|(_, jobs)| jobs(shortest));
                    all.io(share, [shortest, longest], jobs)
                }
                _ => Ok(()),
            };
        }
        return all.io(share, io_periods(timing, number), jobs_on(timing, number));
    }
    let limits = capacity([vcpu.capacity_ns, vcpu.period_ns]);
    let identity = number as usize;
    match endpoints::scatters(timing, number) {
        true => admit_main(all, identity, limits, [Jobs::each(limits.period)]),
        false => admit_main(all, identity, limits, jobs_on(timing, number)),
    }
}

/// The server of a VCPU of this core. Those of the description are created first, in its order.
pub(crate) fn server_of(timing: &Timing, vcpu: u32) -> ServerId {
    let before = timing.vcpus.iter().take(vcpu as usize);
    let here = before.filter(|one| u64::from(one.core) == cores::rank());
    ServerId(here.count() as u16)
}

/// Bottom halves on an I/O VCPU that work for stages with these budgets: the period of the VCPU that each works for, ticks, and
/// its jobs, given the shortest of these periods.
fn halves<'b>(
    timing: &'b Timing,
    vcpu: u32,
    budgets: &'b Budgets,
) -> impl Iterator<Item = (u64, impl Fn(u64) -> Jobs)> + 'b {
    let repository = timing.repository.iter();
    repository.flat_map(move |all| {
        budgets.iter().flatten().flat_map(move |stage| {
            let ends = endpoints::of_stage(all, stage).into_iter().flatten();
            let here = ends.filter(move |end| end.vcpu == vcpu);
            here.filter_map(move |end| {
                let io = all.ios.get(end.io as usize)?;
                let period = ticks(stage.period_ns);
                let cause = match end.period_ns {
                    0 => period,
                    period => ticks(period),
                };
                let (wcet, percent) = (ticks_up(io.wcet_ns), io.percent);
                let messages = stage.messages.into();
                let jobs = move |shortest| {
                    Jobs::of_bottom_half(period, wcet, percent, shortest).in_bursts(messages)
                };
                Some((cause, jobs))
            })
        })
    })
}
