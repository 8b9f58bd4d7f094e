//! What the components have in common that run stages on several cores of the partition
//!
//! Each is scheduled on its core and has an address space of its own; what all must know lies in memory that they share
//! (`bulkhead_stages::together`): which pipes run and since when, what stages say of themselves, what left, and the buffers between cores. The first
//! core's component types, records and tells for all of them. Nobody rings across: who waits for a word looks at each of its periods. A component
//! that runs all stages has these words to itself.

use crate::{CORE, Failure};
use bulkhead_abi::pipe::{NONE, Pipes, Stage, TOGETHER};
use bulkhead_buffers::Region;
use bulkhead_component::first::Timing;
use bulkhead_component::own::shared_words;
use bulkhead_component::{Own, clock, cores};
use bulkhead_sched::NEVER;
use bulkhead_stages::together::{self, BUFFERS, Count, READY, WORDS};
use core::ops::Deref;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// Words and bytes of a cache line.
const LINE: usize = 8;
const LINE_BYTES: usize = 64;

/// Of a component that runs all stages.
static ALONE: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];
/// The number of the memory that several share, counted from 1; 0: this one runs all stages.
static SHARED: AtomicU64 = AtomicU64::new(0);
/// Cores that have stages of the partition, or may have typed ones, and the first one, by bit.
static CORES: AtomicU64 = AtomicU64::new(1);
/// Cache lines of the buffers in that memory.
static LINES: AtomicU64 = AtomicU64::new(0);
/// In place of a word that is not there.
static NOBODYS: AtomicU64 = AtomicU64::new(0);

/// A word that all of them have.
#[derive(Clone, Copy)]
pub(crate) struct Word(usize);

impl Word {
    /// That of this number.
    pub(crate) const fn at(number: usize) -> Self {
        Self(number)
    }

    /// What is counted of a stage.
    pub(crate) const fn of_stage(stage: usize, what: Count) -> Self {
        Self(together::count(stage, what))
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

/// Finds the memory, before any of its words is used.
pub(crate) fn open(own: &Own, timing: &Timing) -> Result<(), Failure> {
    let here = timing.stages.iter().filter(|stage| stage.is_here());
    let here = here.map(|stage| stage.core).chain(typed(timing));
    CORES.store(here.fold(1, |cores, core| cores | 1 << core), Relaxed);
    if !is_among_several() {
        return Ok(());
    }
    let missing = Failure::named("stages", "nothing is shared with those of other cores");
    let (number, words) = own.shared(TOGETHER).ok_or(missing)?;
    let kinds = together::within(pipes(timing)).map(|(_, kind)| kind);
    let end = together::buffers(kinds).last();
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

/// Cores of the partition on which stages can be typed.
fn typed(timing: &Timing) -> impl Iterator<Item = u32> {
    let all = timing.repository;
    let functions = all.map_or(&[][..], |all| all.functions);
    let cores = functions.iter().filter_map(move |function| {
        let all = all?;
        let own = all.cores.get(all.head.core as usize)?.first;
        let core = all.cores.get(function.core as usize)?;
        (core.first == own && core.number != NONE).then_some(core.number)
    });
    cores.filter(|core| *core < u64::BITS)
}

/// Whether this is the first core, whose component types, records and tells.
pub(crate) fn is_first() -> bool {
    cores::rank() == 0
}

/// Whether the stages of the partition are on several cores, this one among them.
pub(crate) fn is_among_several() -> bool {
    let cores = CORES.load(Relaxed);
    cores != 1 && cores >> cores::rank() & 1 != 0
}

/// Whether a stage runs on this core.
pub(crate) fn is_here(stage: &Stage) -> bool {
    u64::from(stage.core) == cores::rank()
}

/// Cores with stages of the partition, or with such as may be typed, but the first, by bit.
pub(crate) fn others() -> u64 {
    CORES.load(Relaxed) & !1
}

/// Whether such stages may be on a core.
pub(crate) fn has(core: u32) -> bool {
    CORES.load(Relaxed).checked_shr(core).unwrap_or(0) & 1 != 0
}

/// All of this core's is built.
pub(crate) fn is_built() {
    Word::at(READY).fetch_or(1 << cores::rank(), AcqRel);
}

/// Whether all of every core's is.
pub(crate) fn are_built() -> bool {
    Word::at(READY).load(Acquire) == CORES.load(Relaxed)
}

/// A thread of a stage of that period waits to be woken; where another core may have had to, for no longer than that.
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
    }
}

/// Buffers of edges between cores that are described: the places of those among all, the first lines of the buffers, and their bytes.
fn placed(timing: &Timing) -> impl Iterator<Item = (usize, (usize, usize))> {
    let within = || together::within(pipes(timing));
    let placed = together::buffers(within().map(|(_, kind)| kind));
    within().map(|(number, _)| number).zip(placed)
}

/// The buffer of the edge at that place among all, if it is one between cores.
pub(crate) fn buffer(timing: &Timing, number: usize) -> Option<Region<'static>> {
    let mut placed = placed(timing);
    let (_, (line, bytes)) = placed.find(|(place, _)| *place == number)?;
    region(line, bytes)
}

/// So many bytes of the memory from a line on.
pub(crate) fn region(line: usize, bytes: usize) -> Option<Region<'static>> {
    let words = shared_words(SHARED.load(Relaxed).checked_sub(1)?);
    Region::from_words(words).part(line, bytes)
}

/// How many lines of buffers there are.
pub(crate) fn lines() -> usize {
    LINES.load(Relaxed) as usize
}

/// Those of the description: the number of the pipe that has them, the first and how many.
pub(crate) fn described(timing: &Timing) -> impl Iterator<Item = (usize, usize, usize)> {
    placed(timing).filter_map(|(number, (line, bytes))| {
        let to = timing.crossings.get(number)?.to as usize;
        let mut each = pipes(timing).each();
        let pipe = each.position(|(_, stages)| stages.contains(&to))?;
        Some((pipe, line - BUFFERS, bytes.div_ceil(LINE_BYTES)))
    })
}
