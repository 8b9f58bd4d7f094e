//! State shared by the components that run stages on several cores of the partition
//!
//! Each core has its own scheduler and address space. Shared memory (`bulkhead_stages::shared_state`)
//! holds the state that all need: which pipes run and since when, the counters of stages, records
//! of messages that left, and the buffers between cores. The first core's component handles
//! console, recording and planning for all of them. No notification crosses cores: a thread that
//! waits for a word polls it once per period. A component that runs all stages has these words in
//! its own memory.

use crate::runtime::{CORE, Failure};
use bulkhead_abi::pipe::{NONE, Pipes, Stage, TOGETHER};
use bulkhead_buffers::Region;
use bulkhead_component::environment::shared_words;
use bulkhead_component::first::Timing;
use bulkhead_component::{Environment, clock, cores};
use bulkhead_sched::NEVER;
use bulkhead_stages::shared_state::{self as layout, BUFFERS, Count, READY, WORDS};
use core::ops::Deref;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// Words and bytes of a cache line.
const LINE: usize = 8;
const LINE_BYTES: usize = 64;

/// The words of a component that runs all stages.
static ALONE: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];
/// Index of the shared memory, counted from 1; 0: this component runs all stages.
static SHARED: AtomicU64 = AtomicU64::new(0);
/// Cores with stages of the partition, or with spare ones for run-time pipes, and the first core,
/// by bit.
static CORES: AtomicU64 = AtomicU64::new(1);
/// Cache lines of the buffers in the shared memory.
static LINES: AtomicU64 = AtomicU64::new(0);
/// Stands in for a word outside the shared memory.
static NOBODYS: AtomicU64 = AtomicU64::new(0);

/// A word of the shared state.
#[derive(Clone, Copy)]
pub(crate) struct Word(usize);

impl Word {
    /// The word of that index.
    pub(crate) const fn at(number: usize) -> Self {
        Self(number)
    }

    /// A counter of a stage.
    pub(crate) const fn of_stage(stage: usize, what: Count) -> Self {
        Self(layout::count(stage, what))
    }
}

impl Deref for Word {
    type Target = AtomicU64;

    fn deref(&self) -> &AtomicU64 {
        let words = match SHARED.load(Relaxed).checked_sub(1) {
            None => &ALONE[..],
            Some(number) => shared_words(number),
        };
        words.get(self.0).unwrap_or(&NOBODYS)
    }
}

/// Maps the shared memory. Called before any of its words is used.
pub(crate) fn open(env: &Environment, timing: &Timing) -> Result<(), Failure> {
    let here = timing.stages.iter().filter(|stage| stage.is_here());
    let here = here.map(|stage| stage.core).chain(run_time_cores(timing));
    CORES.store(here.fold(1, |cores, core| cores | 1 << core), Relaxed);
    if !is_among_several() {
        return Ok(());
    }
    let missing = Failure::named("stages", "nothing is shared with those of other cores");
    let (number, words) = env.shared(TOGETHER).ok_or(missing)?;
    let kinds = layout::within(pipes(timing)).map(|(_, kind)| kind);
    let end = layout::buffers(kinds).last();
    let end = end.map_or(BUFFERS, |(line, bytes)| line + bytes.div_ceil(LINE_BYTES));
    let spare = timing
        .repository
        .map_or(0, |all| all.head.spare_bytes as usize);
    let end = end + spare.div_ceil(LINE_BYTES);
    if words.len() < end * LINE {
        return Err(Failure::named(
            "stages",
            "what is shared with those of other cores is too small",
        ));
    }
    SHARED.store(number + 1, Relaxed);
    LINES.store((end - BUFFERS) as u64, Relaxed);
    Ok(())
}

/// Cores of the partition on which run-time stages may be placed.
fn run_time_cores(timing: &Timing) -> impl Iterator<Item = u32> {
    let all = timing.repository;
    let functions = all.map_or(&[][..], |all| all.functions);
    let cores = functions.iter().filter_map(move |function| {
        let all = all?;
        let first = all.cores.get(all.head.core as usize)?.first;
        let core = all.cores.get(function.core as usize)?;
        (core.first == first && core.number != NONE).then_some(core.number)
    });
    cores.filter(|core| *core < u64::BITS)
}

/// Returns whether this is the first core, which handles console, recording and planning.
pub(crate) fn is_first() -> bool {
    cores::rank() == 0
}

/// Returns whether the stages of the partition are on several cores, including this one.
pub(crate) fn is_among_several() -> bool {
    let cores = CORES.load(Relaxed);
    cores != 1 && cores >> cores::rank() & 1 != 0
}

/// Returns whether a stage runs on this core.
pub(crate) fn is_here(stage: &Stage) -> bool {
    u64::from(stage.core) == cores::rank()
}

/// Cores other than the first with stages of the partition, or with spare ones, by bit.
pub(crate) fn others() -> u64 {
    CORES.load(Relaxed) & !1
}

/// Returns whether a core has stages of the partition or spare ones.
pub(crate) fn has(core: u32) -> bool {
    CORES.load(Relaxed).checked_shr(core).unwrap_or(0) & 1 != 0
}

/// Marks this core's stages as built: all components with their functions work.
pub(crate) fn components_work() {
    Word::at(READY).fetch_or(1 << cores::rank(), AcqRel);
}

/// Returns whether the stages of all cores are built.
pub(crate) fn are_built() -> bool {
    Word::at(READY).load(Acquire) == CORES.load(Relaxed)
}

/// Blocks a stage's thread until it is woken, but at most for one period if a thread of another
/// core may have to wake it.
pub(crate) fn wait(period: u64) {
    let until = match is_among_several() {
        true => clock::now() + period,
        false => NEVER,
    };
    CORE.threads.block(until);
}

/// The pipes of the partition.
const fn pipes(timing: &Timing) -> Pipes<'static> {
    Pipes {
        pipes: timing.pipes,
        stages: timing.stages,
        crossings: timing.crossings,
        functions: timing.functions,
    }
}

/// Buffers of static edges between cores: index of the edge, first line of the buffer, and bytes.
fn placed(timing: &Timing) -> impl Iterator<Item = (usize, (usize, usize))> {
    let within = || layout::within(pipes(timing));
    let placed = layout::buffers(within().map(|(_, kind)| kind));
    within().map(|(number, _)| number).zip(placed)
}

/// The buffer of the edge of that index, if the edge crosses cores.
pub(crate) fn buffer(timing: &Timing, number: usize) -> Option<Region<'static>> {
    let mut placed = placed(timing);
    let (_, (line, bytes)) = placed.find(|(place, _)| *place == number)?;
    region(line, bytes)
}

/// A region of so many bytes from a line on.
pub(crate) fn region(line: usize, bytes: usize) -> Option<Region<'static>> {
    let words = shared_words(SHARED.load(Relaxed).checked_sub(1)?);
    Region::from_words(words).part(line, bytes)
}

/// Number of buffer lines.
pub(crate) fn lines() -> usize {
    LINES.load(Relaxed) as usize
}

/// Lines of static buffers: number of the owning pipe, first line, and count.
pub(crate) fn static_buffers(timing: &Timing) -> impl Iterator<Item = (usize, usize, usize)> {
    placed(timing).filter_map(|(number, (line, bytes))| {
        let to = timing.crossings.get(number)?.to as usize;
        let mut each = pipes(timing).each();
        let pipe = each.position(|(_, stages)| stages.contains(&to))?;
        Some((pipe, line - BUFFERS, bytes.div_ceil(LINE_BYTES)))
    })
}
