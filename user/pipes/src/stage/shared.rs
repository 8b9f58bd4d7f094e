//! What of stages others see: who feeds them, who schedules them, who stops them, who says what they did

use super::Plan;
use crate::CORE;
use crate::shared_state::{self as common, Word};
use crate::table::{self, Entry};
use bulkhead_abi::NAME_LEN;
use bulkhead_abi::pipe::Stage;
use bulkhead_abi::repository::{MAX_STAGES, RECORDER_NS};
use bulkhead_component::clock::{self, ticks};
use bulkhead_slite::Mutex;
use bulkhead_stages::together::{self, Count};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU64};

/// Stages of all pipes.
pub(crate) const STAGES: usize = MAX_STAGES;
/// Time from the last stage's being built to the first release, beside a period of each: what starting took of a
/// budget is back.
const HEAD_START_NS: u64 = 2_000_000;

/// A stage, as others see it.
pub(crate) struct Shared {
    stage: Mutex<Option<Stage>>,
    /// Index of its thread; 0 = none yet.
    pub(super) thread: AtomicU64,
    /// Tick of the first arrival that no job has taken; 0 = none.
    pub(super) arrived: AtomicU64,
    /// The job that runs has used up its budget.
    pub(super) expired: AtomicBool,
    /// Tick from which on a job under way that uses up a budget is an overrun; 0 without such a job, or once it was counted.
    pub(super) due: AtomicU64,
    /// Times at which one had.
    pub(crate) expiries: Word,
    pub(crate) jobs: Word,
    pub(crate) overruns: Word,
    /// Messages that found no room in time.
    pub(crate) dropped: Word,
    /// Jobs in which its fallback took its place, and the greatest age of what it read then, ticks.
    pub(crate) fallbacks: Word,
    pub(crate) oldest: Word,
    /// The tick at which the end of a task was put in that it passed on last; 0: it did not yet.
    pub(crate) ended: Word,
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
        }
    }

    /// What it is, if it is one.
    pub(crate) fn stage(&self) -> Option<Stage> {
        let stage = self.stage.with(&CORE.threads, |stage| *stage);
        stage.ok().flatten()
    }

    /// Its function's name.
    pub(crate) fn name(&self) -> [u8; NAME_LEN] {
        self.stage().map_or([0; NAME_LEN], |stage| stage.function)
    }

    /// Makes it another stage, which did nothing yet.
    pub(crate) fn become_stage(&self, stage: Stage) {
        let _kept = self.stage.with(&CORE.threads, |place| *place = Some(stage));
        self.arrived.store(0, Relaxed);
        // On whichever core it will be, it does not run yet, and is not told of it: nobody else writes these.
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
        ] {
            count.store(0, Relaxed);
        }
    }

    /// Its budget is used up.
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

    /// Something came for it at `tick`.
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
/// What each stage's thread takes with it.
static PLANS: [Mutex<Option<Plan>>; STAGES] = [const { Mutex::new(None) }; STAGES];
/// Pipes that were stopped, by bit of their number.
const STOPPED: Word = Word::at(together::STOPPED);
/// Those of them that stopped themselves: what is under way in them is dropped.
const HALTED: Word = Word::at(together::HALTED);
/// Those of them whose stages are to forget their pipe once they rest.
const RETIRED: Word = Word::at(together::RETIRED);
/// Those of them whose end will not come any more: their stages end each by itself.
const DISMISSED: Word = Word::at(together::DISMISSED);
/// Stages that rest, by bit of their number.
const RESTING: Word = Word::at(together::RESTING);
/// Stages whose threads have no pipe.
const VACANT: Word = Word::at(together::VACANT);

/// First release of a pipe's stages; 0 until everything is built.
const fn start_word(pipe: usize) -> Word {
    Word::at(together::start(pipe))
}

/// What a stage of a running system is, by its thread.
pub(crate) fn of_thread(index: u64) -> Option<&'static Shared> {
    SHARED.iter().find(|one| one.thread.load(Relaxed) == index)
}

/// The number of the stage whose thread that is.
pub(super) fn number_of(thread: u64) -> Option<usize> {
    SHARED
        .iter()
        .position(|one| one.thread.load(Relaxed) == thread)
}

/// A stage by its number among all.
pub(crate) fn shared(number: usize) -> &'static Shared {
    &SHARED[number % STAGES]
}

/// Whether nobody has a use for a pipe any more, neither here nor where others asked for it, or had it forgotten: what is under way in
/// it is nobody's, and its stages here end each by itself.
pub(super) fn is_dismissed(pipe: usize) -> bool {
    is_retired(pipe) && DISMISSED.load(Relaxed) >> pipe & 1 != 0
}

/// A pipe of that number is to begin: its stages are not those of one that ended.
pub(super) fn renew(pipe: usize) {
    for bits in [RETIRED, DISMISSED] {
        bits.fetch_and(!(1 << pipe), Relaxed);
    }
}

/// Leaves a plan to a stage's thread.
pub(super) fn leave(number: usize, plan: Plan) {
    VACANT.fetch_and(!(1 << number), Relaxed);
    RESTING.fetch_and(!(1 << number), Relaxed);
    if let Some(place) = PLANS.get(number) {
        let _kept = place.with(&CORE.threads, |place| *place = Some(plan));
    }
}

/// Takes what was left.
pub(super) fn take(number: usize) -> Option<Plan> {
    let plan = PLANS.get(number)?.with(&CORE.threads, Option::take);
    plan.ok().flatten()
}

/// A stage's thread has no pipe, or none any more.
pub(crate) fn set_vacant(number: usize) {
    VACANT.fetch_or(1 << number, Release);
}

/// Whether a stage's thread waits for a plan, or is about to.
pub(crate) fn is_vacant(number: usize) -> bool {
    VACANT.load(Acquire) >> number & 1 != 0
}

/// Whether a pipe has begun, since it was planned.
pub(crate) fn has_begun(pipe: usize) -> bool {
    start_of(pipe) != 0
}

/// When stages of a pipe are released first; 0: not yet.
pub(super) fn start_of(pipe: usize) -> u64 {
    start_word(pipe).load(Acquire)
}

/// Whether a pipe was stopped. Who finds that it goes on finds the tick at which it begins.
pub(crate) fn is_stopped(pipe: usize) -> bool {
    STOPPED.load(Acquire) >> pipe & 1 != 0
}

/// Whether a pipe stopped itself.
pub(crate) fn is_halted(pipe: usize) -> bool {
    HALTED.load(Relaxed) >> pipe & 1 != 0
}

/// Whether a pipe's stages are to forget it.
pub(crate) fn is_retired(pipe: usize) -> bool {
    RETIRED.load(Relaxed) >> pipe & 1 != 0
}

/// A pipe ends here, and what is under way in it is dropped.
pub(super) fn halt(pipe: usize) {
    HALTED.fetch_or(1 << pipe, Relaxed);
    STOPPED.fetch_or(1 << pipe, Release);
}

/// A stage rests, or does not any more.
pub(super) fn set_resting(number: usize, rests: bool) {
    let bit = 1 << number;
    match rests {
        true => RESTING.fetch_or(bit, Release),
        false => RESTING.fetch_and(!bit, Relaxed),
    };
}

/// Whether all stages of a pipe rest, on whichever core.
pub(crate) fn rests(entry: &Entry) -> bool {
    let resting = RESTING.load(Acquire);
    entry.within().all(|(number, _)| resting >> number & 1 != 0)
}

/// Has a pipe end: its first stages send no more.
pub(crate) fn stop(pipe: usize, entry: &Entry) {
    STOPPED.fetch_or(1 << pipe, Release);
    wake(entry);
}

/// Has the stages of a pipe that was stopped forget it.
pub(crate) fn retire(pipe: usize, entry: &Entry) {
    start_word(pipe).store(0, Relaxed);
    RETIRED.fetch_or(1 << pipe, Release);
    wake(entry);
}

/// Has the stages of a pipe that forget it wait no longer for its end, which was lost elsewhere, or came where somebody waited for it.
pub(crate) fn dismiss(pipe: usize, entry: &Entry) {
    DISMISSED.fetch_or(1 << pipe, Relaxed);
    wake(entry);
}

/// Has a pipe begin, whose stages rest or were just planned; when.
pub(crate) fn begin(pipe: usize, entry: &Entry) -> u64 {
    begin_at(pipe, entry, 0)
}

/// The same, not before a tick.
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

/// Everything is built: lets the stages begin, all at one tick.
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

/// When such stages that are started now are released first. One on another core looks whether it is once in each of its periods, and
/// is there within the next at the latest; on this one it is there once it was woken, before which the recorder may have to wait for its next budget.
fn first_release(stages: impl Iterator<Item = (usize, Stage)>, is_spread: bool) -> u64 {
    let longest = stages.map(|(_, stage)| ticks(stage.period_ns)).max();
    let longest = longest.unwrap_or(0);
    let spread = match is_spread {
        true => longest + ticks(RECORDER_NS[1]),
        false => 0,
    };
    clock::now() + longest + spread + ticks(HEAD_START_NS)
}
