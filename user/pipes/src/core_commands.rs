//! Commands to the components of the other cores: take up or release the stages of a run-time pipe
//!
//! The planner writes a command into the memory that all cores share (`bulkhead_stages::core_command`),
//! one pipe at a time, and sends no notification. On each other core a thread with the lowest
//! priority polls the command, takes the pipe up or releases it, and acknowledges. That thread also
//! assigns the stages on its core their budgets: since every other thread is idle or out of budget
//! while it runs, no busy period contains both the old and the new budget of a VCPU.

use crate::remote_partition::{self, PeerChannels};
use crate::runtime::{CORE, Failure};
use crate::shared_state::{self, Word};
use crate::stage::{self, Common};
use crate::table::{self, Entry};
use crate::{crossing, memory, planner, recorder, vcpu_pool};
use bulkhead_abi::pipe::Stage;
use bulkhead_component::clock::{self, ticks};
use bulkhead_component::first::Timing;
use bulkhead_component::stack::Stack;
use bulkhead_component::{Environment, First, cores};
use bulkhead_sched::policy::Binding;
use bulkhead_slite::Mutex;
use bulkhead_stages::core_command::{self, CoreCommand, Edge};
use bulkhead_stages::shared_state::{COMMANDS, DONE, FAILED, STACK};
use bulkhead_stages::stacks;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A thread without a stage comes to rest long before this.
const REST_NS: u64 = 500_000_000;

/// Parameters from which plans are made.
static MEANS: Mutex<Option<Means>> = Mutex::new(None);

#[derive(Clone, Copy)]
struct Means {
    common: Common,
    stack: Stack,
    /// Channels to the partitions that run stages for this one.
    places: PeerChannels,
}

const fn word(number: usize) -> Word {
    Word::at(number)
}

fn read(number: usize) -> u64 {
    word(number).load(Relaxed)
}

fn write(number: usize, value: u64) {
    word(number).store(value, Relaxed);
}

/// Starts the thread that executes the commands on another core than the first, if there are
/// run-time pipes.
pub(crate) fn start(
    first: &mut First,
    env: &Environment,
    timing: &Timing,
    common: Common,
) -> Result<(), Failure> {
    let Some(repository) = &timing.repository else {
        return Ok(());
    };
    let vcpu = planner::least().ok_or(Failure::named("commands", "they have no VCPU"))?;
    first.set_stack_pages(Some(stacks::COMMANDS));
    CORE.threads.spawn(first, obey, Binding::main(vcpu))?;
    first.set_stack_pages(None);
    let means = Means {
        common,
        stack: first.last_stack(),
        places: remote_partition::open_channels(env, repository),
    };
    let _kept = MEANS.with(&CORE.threads, |place| *place = Some(means));
    Ok(())
}

extern "C" fn obey(_: u64) -> ! {
    let means = MEANS.with(&CORE.threads, |means| *means).ok().flatten();
    let mut done = 0;
    loop {
        let issued = word(COMMANDS).load(Acquire);
        if let (true, Some(means)) = (issued != done, &means) {
            done = issued;
            let bit = 1 << cores::rank();
            if !follow(means) {
                word(FAILED).fetch_or(bit, Relaxed);
            }
            word(STACK).fetch_max(means.stack.used(), Relaxed);
            word(DONE).fetch_or(bit, Release);
        }
        CORE.threads
            .sleep_until(clock::now() + ticks(recorder::PAUSE_NS));
    }
}

/// Executes the command. Returns whether it succeeded.
#[inline(never)]
fn follow(means: &Means) -> bool {
    let order = CoreCommand::read(read);
    if order.stages == 0 {
        table::set(order.pipe, None);
        memory::release(order.pipe);
        return true;
    }
    let all = || (0..order.stages).map(|place| order.stage(place, read));
    for (number, stage) in all() {
        stage::shared(number).become_stage(stage);
        if shared_state::is_here(&stage) && !rests(number, &stage) {
            return false;
        }
    }
    let heads = all().enumerate();
    let heads = heads.filter(|(_, (_, stage))| stage.from == 0);
    let heads = heads.map(|(place, _)| place);
    let numbers = all().map(|(number, _)| number);
    let entry = Entry::new(order.pipe(read), numbers, heads, 0);
    table::set(order.pipe, Some(entry));
    let edges = || order.edges(read);
    let run_time = edges().filter_map(|edge| remote_partition::remote_edge(&means.places, edge));
    let static_edges = order.is_static.then(|| crossing::of_pipe(order.pipe));
    let remote_edges = run_time.chain(static_edges.into_iter().flatten());
    stage::take_up(&means.common, (order.pipe, &entry), remote_edges, edges).is_ok()
}

/// Assigns a stage its budget once its thread has released the former one. Returns whether it did
/// in time.
fn rests(number: usize, stage: &Stage) -> bool {
    let until = clock::now() + ticks(REST_NS);
    while !vcpu_pool::give(number, stage) {
        if clock::now() > until {
            return false;
        }
        CORE.threads
            .sleep_until(clock::now() + ticks(recorder::PAUSE_NS));
    }
    true
}

/// Returns whether all other cores have executed the last command.
pub(crate) fn are_done() -> bool {
    let waits = read(COMMANDS) != 0;
    !waits || word(DONE).load(Acquire) == shared_state::others()
}

/// Returns whether a core failed to execute the last command.
pub(crate) fn is_failed() -> bool {
    read(FAILED) != 0
}

/// Stack bytes used by a command thread (the most on any core), and bytes that it has.
pub(crate) fn stacks() -> [u64; 2] {
    [read(STACK), stacks::COMMANDS * bulkhead_abi::PAGE_SIZE]
}

/// Commands the other cores to take up their stages of a pipe, with these edges and, if the pipe is
/// static, with those of the description. Called after all cores have executed the last command.
pub(crate) fn run(number: usize, entry: &Entry, edges: (&[Edge], bool)) {
    core_command::run(number, &entry.pipe, entry.stages(), edges, write);
    tell();
}

/// Commands the other cores to release their stages of a pipe.
pub(crate) fn forget(number: usize) {
    core_command::forget(number, write);
    tell();
}

fn tell() {
    write(DONE, 0);
    write(FAILED, 0);
    word(COMMANDS).fetch_add(1, Release);
}
