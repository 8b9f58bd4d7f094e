//! What the first core's component tells those of other cores of pipes that are typed
//!
//! The planner writes it down in the memory that all share (`bulkhead_stages::order`), one pipe at a time, and rings for nobody. On each other core a
//! thread that has what all others there leave looks for it, takes the pipe up or forgets it, and says so. It is that thread which gives stages on
//! its core their budgets, so that no busy period there has both what a VCPU had before and what it has from then on; it beats the core's heart, too.

use crate::remote_partition::{self, PeerChannels};
use crate::shared_state::{self, Word};
use crate::stage::{self, Common};
use crate::table::{self, Entry};
use crate::{CORE, Failure, crossing, memory, vcpu_pool, watch};
use bulkhead_abi::pipe::Stage;
use bulkhead_component::clock::{self, ticks};
use bulkhead_component::first::Timing;
use bulkhead_component::stack::Stack;
use bulkhead_component::{First, Own, cores};
use bulkhead_sched::policy::Binding;
use bulkhead_slite::Mutex;
use bulkhead_stages::order::{self, Edge, Order};
use bulkhead_stages::together::{DONE, FAILED, STACK, TOLD};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Pages of its stack, of which 47 KiB were used at most: plans of all stages of a pipe lie there.
const STACK_PAGES: u64 = 20;
/// A thread that has no stage rests long before this.
const REST_NS: u64 = 500_000_000;

/// What plans are made with.
static MEANS: Mutex<Option<Means>> = Mutex::new(None);

#[derive(Clone, Copy)]
struct Means {
    common: Common,
    stack: Stack,
    /// Partitions that run stages for this one.
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

/// Starts who does here what the first core says, where flows can be typed or a heartbeat is watched; on another core.
pub(crate) fn start(
    first: &mut First,
    own: &Own,
    timing: &Timing,
    common: Common,
) -> Result<(), Failure> {
    let types = timing.repository.is_some();
    if !watch::find_heart(own) && !types {
        return Ok(());
    }
    let vcpu = CORE.create_least(first);
    let vcpu = vcpu.map_err(|refused| Failure::Vcpu("orders", refused))?;
    first.set_stack_pages(types.then_some(STACK_PAGES));
    CORE.threads.spawn(first, obey, Binding::main(vcpu))?;
    first.set_stack_pages(None);
    let means = Means {
        common,
        stack: first.last_stack(),
        places: timing.repository.map_or(Default::default(), |all| {
            remote_partition::open_channels(own, &all)
        }),
    };
    let _kept = MEANS.with(&CORE.threads, |place| *place = Some(means));
    Ok(())
}

extern "C" fn obey(_: u64) -> ! {
    let means = MEANS.with(&CORE.threads, |means| *means).ok().flatten();
    let mut done = 0;
    loop {
        watch::beat();
        let issued = word(TOLD).load(Acquire);
        if let (true, Some(means)) = (issued != done, &means) {
            done = issued;
            let own = 1 << cores::rank();
            if !follow(means) {
                word(FAILED).fetch_or(own, Relaxed);
            }
            word(STACK).fetch_max(means.stack.used(), Relaxed);
            word(DONE).fetch_or(own, Release);
        }
        CORE.threads
            .sleep_until(clock::now() + ticks(watch::PAUSE_NS));
    }
}

/// Does what is said; whether it could be done.
#[inline(never)]
fn follow(means: &Means) -> bool {
    let order = Order::read(read);
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
    let typed = edges().filter_map(|edge| remote_partition::remote_edge(&means.places, edge));
    let described = order.described.then(|| crossing::of_pipe(order.pipe));
    let remote_edges = typed.chain(described.into_iter().flatten());
    stage::take_up(&means.common, (order.pipe, &entry), remote_edges, edges).is_ok()
}

/// Gives a stage its budget once its thread has no other; whether it could be.
fn rests(number: usize, stage: &Stage) -> bool {
    let until = clock::now() + ticks(REST_NS);
    while !vcpu_pool::give(number, stage) {
        if clock::now() > until {
            return false;
        }
        watch::beat();
        CORE.threads
            .sleep_until(clock::now() + ticks(watch::PAUSE_NS));
    }
    true
}

/// Whether all other cores have done what they were told last.
pub(crate) fn are_done() -> bool {
    let waits = read(TOLD) != 0;
    !waits || word(DONE).load(Acquire) == shared_state::others()
}

/// Whether one of them could not.
pub(crate) fn is_failed() -> bool {
    read(FAILED) != 0
}

/// Most that one of them used of the stack of who does it, and what that has, bytes.
pub(crate) fn stacks() -> [u64; 2] {
    [read(STACK), STACK_PAGES * bulkhead_abi::PAGE_SIZE]
}

/// Has other cores take up their stages of a pipe, with these edges, and those of its description if it runs again by that; once all have done what
/// they were told before.
pub(crate) fn run(number: usize, entry: &Entry, edges: (&[Edge], bool)) {
    order::run(number, &entry.pipe, entry.stages(), edges, write);
    tell();
}

/// Has them forget it.
pub(crate) fn forget(number: usize) {
    order::forget(number, write);
    tell();
}

fn tell() {
    write(DONE, 0);
    write(FAILED, 0);
    word(TOLD).fetch_add(1, Release);
}
