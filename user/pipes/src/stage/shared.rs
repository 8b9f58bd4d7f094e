//! State of stages that other threads use: producers, the scheduler, the planner and the recorder

use super::Plan;
use crate::component_functions;
use crate::runtime::CORE;
use crate::shared_state::{self as common, Word};
use crate::table::{self, Entry};
use bulkhead_abi::NAME_LEN;
use bulkhead_abi::pipe::Stage;
use bulkhead_abi::repository::{MAX_STAGES, RECORDER_NS};
use bulkhead_component::clock::{self, ticks};
use bulkhead_slite::Mutex;
use bulkhead_stages::shared_state::{self as layout, Count};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU64};

/// Maximum number of stages, of all pipes.
pub(crate) const STAGES: usize = MAX_STAGES;
/// Time from the last stage's creation to the first release, in addition to one period of each
/// stage. By then the budget that starting used is replenished.
const HEAD_START_NS: u64 = 2_000_000;

/// The shared state of a stage.
pub(crate) struct Shared {
    stage: Mutex<Option<Stage>>,
    /// Index of its thread; 0 = none yet.
    pub(super) thread: AtomicU64,
    /// Tick of the first arrival that no job has taken; 0 = none.
    pub(super) arrived: AtomicU64,
    /// True if the running job has used up its budget.
    pub(super) expired: AtomicBool,
    /// Tick from which on the running job overruns if it uses up a budget; 0 without a job, or once
    /// the overrun is counted.
    pub(super) due: AtomicU64,
    /// Number of overruns.
    pub(crate) expiries: Word,
    pub(crate) jobs: Word,
    pub(crate) overruns: Word,
    /// Messages that found no room in time.
    pub(crate) dropped: Word,
    /// Jobs that ran the fallback, and the greatest age of the input that the last one of them
    /// read, ticks.
    pub(crate) fallbacks: Word,
    pub(crate) oldest: Word,
    /// Tick at which the end of a task entered the pipe that the stage passed on last; 0: none yet.
    pub(crate) ended: Word,
    /// Jobs without output, because the component of their function did not work.
    pub(crate) failed: Word,
}

impl Shared {
    const fn of_stage(number: usize) -> Self {
        Self {
            stage: Mutex::new(None),
            thread: AtomicU64::new(0),
            arrived: AtomicU64::new(0),
            expired: AtomicBool::new(false),
            due: AtomicU64::new(0),
            expiries: Word::of_stage(number, Count::Expiries),
            jobs: Word::of_stage(number, Count::Jobs),
            overruns: Word::of_stage(number, Count::Overruns),
            dropped: Word::of_stage(number, Count::Dropped),
            fallbacks: Word::of_stage(number, Count::Fallbacks),
            oldest: Word::of_stage(number, Count::Oldest),
            ended: Word::of_stage(number, Count::Ended),
            failed: Word::of_stage(number, Count::Failed),
        }
    }

    /// The stage, if this entry is one.
    pub(crate) fn stage(&self) -> Option<Stage> {
        let stage = self.stage.with(&CORE.threads, |stage| *stage);
        stage.ok().flatten()
    }

    /// Name of its function.
    pub(crate) fn name(&self) -> [u8; NAME_LEN] {
        self.stage().map_or([0; NAME_LEN], |stage| stage.function)
    }

    /// Makes the entry another stage, with all counters reset.
    pub(crate) fn become_stage(&self, stage: Stage) {
        let _kept = self.stage.with(&CORE.threads, |place| *place = Some(stage));
        self.arrived.store(0, Relaxed);
        // The stage does not run yet on any core, so no other thread writes these words.
        if !common::is_first() {
            return;
        }
        for count in [
            &self.expiries,
            &self.jobs,
            &self.overruns,
            &self.dropped,
            &self.fallbacks,
            &self.oldest,
            &self.ended,
            &self.failed,
        ] {
            count.store(0, Relaxed);
        }
    }

    /// Called when its budget is used up.
    pub(crate) fn expired(&self) {
        self.expired.store(true, Relaxed);
        self.expiries.fetch_add(1, Relaxed);
        // A job that never returns is counted here, once.
        let due = self.due.load(Relaxed);
        if due != 0 && clock::now() >= due {
            self.due.store(0, Relaxed);
            self.overruns.fetch_add(1, Relaxed);
        }
    }

    /// Marks that a message arrived at `tick`, and wakes the stage.
    pub(crate) fn feed(&self, tick: u64) {
        let _is_first = self.arrived.compare_exchange(0, tick, Relaxed, Relaxed);
        CORE.threads.wakeup(self.thread.load(Relaxed));
    }
}

static SHARED: [Shared; STAGES] = {
    let mut all = [const { Shared::of_stage(0) }; STAGES];
    let mut number = 0;
    while number < STAGES {
        all[number] = Shared::of_stage(number);
        number += 1;
    }
    all
};
/// Plans that wait for the stages' threads.
static PLANS: [Mutex<Option<Plan>>; STAGES] = [const { Mutex::new(None) }; STAGES];
/// Stopped pipes, by bit of their number.
const STOPPED: Word = Word::at(layout::STOPPED);
/// Stopped pipes that an overrun halted: messages in them are dropped.
const HALTED: Word = Word::at(layout::HALTED);
/// Stopped pipes to be released once their stages rest.
const RETIRED: Word = Word::at(layout::RETIRED);
/// Stopped pipes with a lost end of task: each stage ends on its own.
const DISMISSED: Word = Word::at(layout::DISMISSED);
/// Stages that rest, by bit of their number.
const RESTING: Word = Word::at(layout::RESTING);
/// Stages with threads that have no pipe, by bit.
const VACANT: Word = Word::at(layout::VACANT);

/// First release of a pipe's stages; 0 until all of them are created.
const fn start_word(pipe: usize) -> Word {
    Word::at(layout::start(pipe))
}

/// The stage of a thread.
pub(crate) fn of_thread(index: u64) -> Option<&'static Shared> {
    SHARED.iter().find(|one| one.thread.load(Relaxed) == index)
}

/// The number of a thread's stage.
pub(super) fn number_of(thread: u64) -> Option<usize> {
    SHARED
        .iter()
        .position(|one| one.thread.load(Relaxed) == thread)
}

/// A stage by its number among all.
pub(crate) fn shared(number: usize) -> &'static Shared {
    &SHARED[number % STAGES]
}

/// Returns whether a pipe was removed here, or by the client that requested it. Messages in it are
/// dropped, and each of its stages here ends on its own.
pub(super) fn is_dismissed(pipe: usize) -> bool {
    is_retired(pipe) && DISMISSED.load(Relaxed) >> pipe & 1 != 0
}

/// Resets the state of a pipe that is about to begin, so that its stages are not taken for those of
/// a former pipe.
pub(super) fn renew(pipe: usize) {
    for bits in [RETIRED, DISMISSED] {
        bits.fetch_and(!(1 << pipe), Relaxed);
    }
}

/// Hands a plan to a stage's thread.
pub(super) fn leave(number: usize, plan: Plan) {
    VACANT.fetch_and(!(1 << number), Relaxed);
    RESTING.fetch_and(!(1 << number), Relaxed);
    if let Some(place) = PLANS.get(number) {
        let _kept = place.with(&CORE.threads, |place| *place = Some(plan));
    }
}

/// Takes the plan.
pub(super) fn take(number: usize) -> Option<Plan> {
    let plan = PLANS.get(number)?.with(&CORE.threads, Option::take);
    plan.ok().flatten()
}

/// Marks whether a stage's thread has a pipe.
pub(crate) fn set_vacant(number: usize) {
    component_functions::release(number);
    VACANT.fetch_or(1 << number, Release);
}

/// Returns whether a stage's thread waits for a plan, or is about to.
pub(crate) fn is_vacant(number: usize) -> bool {
    VACANT.load(Acquire) >> number & 1 != 0
}

/// Returns whether a pipe has begun since its plans were made.
pub(crate) fn has_begun(pipe: usize) -> bool {
    start_of(pipe) != 0
}

/// Tick of the first release of a pipe's stages; 0: not set yet.
pub(super) fn start_of(pipe: usize) -> u64 {
    start_word(pipe).load(Acquire)
}

/// Returns whether a pipe was stopped. A thread that reads `false` after a stop also sees the tick
/// at which the pipe begins again.
pub(crate) fn is_stopped(pipe: usize) -> bool {
    STOPPED.load(Acquire) >> pipe & 1 != 0
}

/// Returns whether an overrun halted the pipe.
pub(crate) fn is_halted(pipe: usize) -> bool {
    HALTED.load(Relaxed) >> pipe & 1 != 0
}

/// Returns whether a pipe's stages are to be released.
pub(crate) fn is_retired(pipe: usize) -> bool {
    RETIRED.load(Relaxed) >> pipe & 1 != 0
}

/// Halts a pipe, and drops the messages in it.
pub(super) fn halt(pipe: usize) {
    HALTED.fetch_or(1 << pipe, Relaxed);
    STOPPED.fetch_or(1 << pipe, Release);
}

/// Marks whether a stage rests.
pub(super) fn set_resting(number: usize, rests: bool) {
    let bit = 1 << number;
    match rests {
        true => RESTING.fetch_or(bit, Release),
        false => RESTING.fetch_and(!bit, Relaxed),
    };
}

/// Returns whether all stages of a pipe rest, on all cores.
pub(crate) fn rests(entry: &Entry) -> bool {
    let resting = RESTING.load(Acquire);
    entry.within().all(|(number, _)| resting >> number & 1 != 0)
}

/// Stops a pipe: its first stages send an end of task and no further messages.
pub(crate) fn stop(pipe: usize, entry: &Entry) {
    STOPPED.fetch_or(1 << pipe, Release);
    wake(entry);
}

/// Releases the stages of a stopped pipe.
pub(crate) fn retire(pipe: usize, entry: &Entry) {
    start_word(pipe).store(0, Relaxed);
    RETIRED.fetch_or(1 << pipe, Release);
    wake(entry);
}

/// Lets the stages of a pipe end without waiting for its end of task, which was lost in another
/// partition or on the way.
pub(crate) fn dismiss(pipe: usize, entry: &Entry) {
    DISMISSED.fetch_or(1 << pipe, Relaxed);
    wake(entry);
}

/// Starts a pipe after its stages rest or were just planned. Returns the tick of the first release.
pub(crate) fn begin(pipe: usize, entry: &Entry) -> u64 {
    begin_at(pipe, entry, 0)
}

/// Starts a pipe, not before tick `at`. Returns the tick of the first release.
pub(crate) fn begin_at(pipe: usize, entry: &Entry, at: u64) -> u64 {
    let first = first_release(entry.within(), entry.is_spread()).max(at);
    start_word(pipe).store(first, Relaxed);
    for bits in [RETIRED, HALTED, STOPPED] {
        bits.fetch_and(!(1 << pipe), Release);
    }
    wake(entry);
    first
}

pub(super) fn wake(entry: &Entry) {
    for (number, _) in entry.here() {
        let thread = shared(number).thread.load(Relaxed);
        if thread != 0 {
            CORE.threads.wakeup(thread);
        }
    }
}

/// Lets all stages begin at one tick: all of them are created.
pub(crate) fn go() {
    let all = || table::all().map(|(_, entry)| entry);
    let is_spread = all().any(|entry| entry.is_spread());
    let stages = all().flat_map(|entry| longest(&entry));
    let first = first_release(stages, is_spread);
    table::there().for_each(|pipe| start_word(pipe).store(first, Release));
    all().for_each(|entry| wake(&entry));
}

/// The stage of a pipe with the longest period.
fn longest(entry: &Entry) -> Option<(usize, Stage)> {
    entry.within().max_by_key(|(_, stage)| stage.period_ns)
}

/// Tick of the first release of stages that are started now. A stage on another core polls once in
/// each of its periods, so it is ready within the next one. A stage on this core is woken, for
/// which the recorder may have to wait for its next budget.
fn first_release(stages: impl Iterator<Item = (usize, Stage)>, is_spread: bool) -> u64 {
    let longest = stages.map(|(_, stage)| ticks(stage.period_ns)).max();
    let longest = longest.unwrap_or(0);
    let spread = match is_spread {
        true => longest + ticks(RECORDER_NS[1]),
        false => 0,
    };
    clock::now() + longest + spread + ticks(HEAD_START_NS)
}
