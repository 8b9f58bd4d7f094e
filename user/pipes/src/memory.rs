//! Memory of the buffers between stages
//!
//! Buffers are allocated in whole cache lines, each of which belongs to at most one pipe. The
//! memory of a released pipe is cleared before another pipe gets it. Buffers between stages of a
//! component are in its own memory. Buffers between cores, and all buffers of run-time stages on
//! other cores than the first, are in memory that all cores share; the first core's component
//! allocates it.

use crate::runtime::CORE;
use crate::{contents, shared_state};
use bulkhead_abi::repository::MAX_BUFFERS;
use bulkhead_buffers::Region;
use bulkhead_component::first::Timing;
use bulkhead_slite::Mutex;
use bulkhead_stages::shared_state::BUFFERS;
use core::ops::Range;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Words of all buffers.
const WORDS: usize = MAX_BUFFERS as usize / 8;
/// Words and bytes of a cache line.
const LINE: usize = 8;
const LINE_BYTES: usize = 64;
const LINES: usize = WORDS / LINE;

/// Buffers begin with a cache line.
#[repr(align(64))]
struct Arena([AtomicU64; WORDS]);

static ARENA: Arena = Arena([const { AtomicU64::new(0) }; WORDS]);

/// Owner of each line: a pipe, counted from 1; 0: free.
#[derive(Clone, Copy)]
pub(crate) struct Lines([u8; LINES]);

static OWNERS: Mutex<Lines> = Mutex::new(Lines([0; LINES]));
/// Lines of the memory that all cores share; none is free before it is opened.
static COMMON: Mutex<Lines> = Mutex::new(Lines([u8::MAX; LINES]));
/// Bytes of that memory, more than any pipe can request: marks lines that do not exist.
pub(crate) const MOST: usize = LINES * LINE_BYTES;

/// Finds the free lines of the shared memory. Called on the first core.
pub(crate) fn open_common(timing: &Timing) {
    let _opened = COMMON.with(&CORE.threads, |all| {
        all.0
            .iter_mut()
            .take(shared_state::lines())
            .for_each(|line| *line = 0);
        for (pipe, first, count) in shared_state::static_buffers(timing) {
            let lines = all.0.iter_mut().skip(first).take(count);
            lines.for_each(|line| *line = pipe as u8 + 1);
        }
    });
}

impl Lines {
    /// A copy of the present state.
    pub(crate) fn now() -> Self {
        Self::of(&OWNERS)
    }

    /// A copy of the present state of the shared memory.
    pub(crate) fn common() -> Self {
        Self::of(&COMMON)
    }

    fn of(owners: &Mutex<Self>) -> Self {
        let lines = owners.with(&CORE.threads, |lines| *lines);
        lines.unwrap_or(Self([u8::MAX; LINES]))
    }

    /// The state without the lines of a pipe.
    pub(crate) fn without(mut self, pipe: usize) -> Self {
        self.release(pipe);
        self
    }

    /// Bytes of all pipes for which `counts` holds.
    pub(crate) fn taken(&self, counts: impl Fn(usize) -> bool) -> usize {
        let owners = self
            .0
            .iter()
            .filter_map(|&owner| usize::from(owner).checked_sub(1));
        owners.filter(|&pipe| counts(pipe)).count() * LINE_BYTES
    }

    /// Takes the first free run of so many bytes for a pipe.
    pub(crate) fn take(&mut self, pipe: usize, bytes: usize) -> Option<Range<usize>> {
        let needed = bytes.div_ceil(LINE_BYTES);
        let mut run = 0..0;
        for (line, &owner) in self.0.iter().enumerate() {
            match owner {
                0 => run.end = line + 1,
                _ => run = line + 1..line + 1,
            }
            if run.len() == needed {
                self.0.get_mut(run.clone())?.fill(pipe as u8 + 1);
                return Some(run);
            }
        }
        None
    }

    fn release(&mut self, pipe: usize) {
        let is_owner = |owner: &&mut u8| usize::from(**owner) == pipe + 1;
        self.0
            .iter_mut()
            .filter(is_owner)
            .for_each(|owner| *owner = 0);
    }
}

/// Returns whether a pipe has room for buffers of these sizes if all pipes together may have `most`
/// bytes. The error has the bytes needed and the bytes free.
pub(crate) fn fits<I: Iterator<Item = usize>>(
    mut lines: Lines,
    most: usize,
    pipe: usize,
    sizes: impl Fn() -> I,
) -> Result<(), [usize; 2]> {
    let free = most.saturating_sub(lines.taken(|_| true));
    let needed = sizes().fold(0, usize::saturating_add);
    match needed <= free && sizes().all(|bytes| lines.take(pipe, bytes).is_some()) {
        true => Ok(()),
        false => Err([needed, free]),
    }
}

/// Allocates so many bytes for a pipe, or returns nothing if there is no room.
pub(crate) fn take(pipe: usize, bytes: usize) -> Option<Region<'static>> {
    let lines = OWNERS.with(&CORE.threads, |lines| lines.take(pipe, bytes));
    let lines = lines.ok().flatten()?;
    let words = ARENA.0.get(lines.start * LINE..lines.end * LINE)?;
    words.iter().for_each(|word| word.store(0, Relaxed));
    Some(Region::from_words(words))
}

/// Allocates bytes of the shared memory for a pipe. Returns the first line.
pub(crate) fn take_common(pipe: usize, bytes: usize) -> Option<u16> {
    let lines = COMMON.with(&CORE.threads, |lines| lines.take(pipe, bytes));
    let line = lines.ok().flatten()?.start;
    shared_state::region(BUFFERS + line, bytes.next_multiple_of(LINE_BYTES))?.clear();
    u16::try_from(line).ok()
}

/// Frees the memory of a pipe after its stages have given up their buffers.
pub(crate) fn release(pipe: usize) {
    contents::release(pipe);
    for owners in [&OWNERS, &COMMON] {
        let _released = owners.with(&CORE.threads, |lines| lines.release(pipe));
    }
}
