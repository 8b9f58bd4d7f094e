//! The pipes that there are: those of the description, and those that were typed
//!
//! Written before the stages run and by the planner; read by the recorder, too.

use crate::stage::{self, STAGES};
use crate::{CORE, shared_state};
use bulkhead_abi::name_text;
use bulkhead_abi::pipe::{Pipe, Stage};
use bulkhead_abi::repository::MAX_PIPES;
use bulkhead_slite::Mutex;
use bulkhead_stages::message::HEADS;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Most pipes.
pub(crate) const PIPES: usize = MAX_PIPES;

/// A pipe.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// What it is called and what is promised of it.
    pub(crate) pipe: Pipe,
    /// Numbers of its stages, by their places.
    numbers: [u8; STAGES],
    /// Places of its first stages.
    heads: [u8; HEADS],
    head_count: u8,
    /// Another one for each pipe that there ever was.
    pub(crate) generation: u32,
}

/// Those that there are, by bit.
static THERE: AtomicU64 = AtomicU64::new(0);
static TABLE: [Mutex<Option<Entry>>; PIPES] = [const { Mutex::new(None) }; PIPES];

impl Entry {
    /// Of a pipe whose stages have these numbers, those that are first these places.
    pub(crate) fn new(
        pipe: Pipe,
        numbers: impl IntoIterator<Item = usize>,
        heads: impl IntoIterator<Item = usize>,
        generation: u32,
    ) -> Self {
        let mut entry = Self {
            pipe,
            numbers: [0; STAGES],
            heads: [0; HEADS],
            head_count: 0,
            generation,
        };
        for (place, number) in entry.numbers.iter_mut().zip(numbers) {
            *place = number as u8;
        }
        for (place, head) in entry.heads.iter_mut().zip(heads) {
            *place = head as u8;
            entry.head_count += 1;
        }
        entry
    }

    pub(crate) fn name(&self) -> &str {
        name_text(&self.pipe.name)
    }

    /// Numbers of its stages among all, in their order.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = usize> + '_ {
        let count = self.pipe.stages as usize;
        self.numbers.iter().take(count).map(|&number| number.into())
    }

    /// Its stages with their numbers.
    pub(crate) fn stages(&self) -> impl Iterator<Item = (usize, Stage)> + '_ {
        let all = self.numbers();
        all.filter_map(|number| Some((number, stage::shared(number).stage()?)))
    }

    /// Those of them that this component runs.
    pub(crate) fn here(&self) -> impl Iterator<Item = (usize, Stage)> + '_ {
        self.stages()
            .filter(|(_, stage)| shared_state::is_here(stage))
    }

    /// Those of them that are in this partition, on whichever of its cores.
    pub(crate) fn within(&self) -> impl Iterator<Item = (usize, Stage)> + '_ {
        self.stages().filter(|(_, stage)| stage.is_here())
    }

    /// Whether other partitions have some of its stages.
    pub(crate) fn crosses(&self) -> bool {
        self.within().count() != self.stages().count()
    }

    /// Whether some of those here are on another core.
    pub(crate) fn is_spread(&self) -> bool {
        self.within().count() != self.here().count()
    }

    /// Whether another partition runs its last stage, or one of them, and says what leaves it.
    pub(crate) fn ends_elsewhere(&self) -> bool {
        let is_read = |to: u32| self.stages().any(|(_, stage)| stage.from == to);
        let mut stages = self.stages();
        stages.any(|(_, stage)| !stage.is_here() && !is_read(stage.to))
    }

    /// Places of its first stages.
    pub(crate) fn heads(&self) -> impl Iterator<Item = usize> + '_ {
        let count = usize::from(self.head_count);
        self.heads.iter().take(count).map(|&head| head.into())
    }
}

/// The pipe of that number.
pub(crate) fn get(number: usize) -> Option<Entry> {
    let place = TABLE.get(number)?;
    place.with(&CORE.threads, |entry| *entry).ok().flatten()
}

/// Puts a pipe there, or takes it away.
pub(crate) fn set(number: usize, entry: Option<Entry>) {
    let Some(place) = TABLE.get(number) else {
        return;
    };
    let _kept = place.with(&CORE.threads, |place| *place = entry);
    match entry {
        Some(_) => THERE.fetch_or(1 << number, Relaxed),
        None => THERE.fetch_and(!(1 << number), Relaxed),
    };
}

/// Says what is promised of a pipe from now on.
pub(crate) fn promise(number: usize, bound_ns: u64) {
    if let Some(mut entry) = get(number) {
        entry.pipe.bound_ns = bound_ns;
        set(number, Some(entry));
    }
}

/// Numbers of the pipes that there are.
pub(crate) fn there() -> impl Iterator<Item = usize> {
    let there = THERE.load(Relaxed);
    (0..PIPES).filter(move |number| there >> number & 1 != 0)
}

/// All pipes, with their numbers.
pub(crate) fn all() -> impl Iterator<Item = (usize, Entry)> {
    there().filter_map(|number| Some((number, get(number)?)))
}

/// The pipe of that name.
pub(crate) fn find(name: &str) -> Option<(usize, Entry)> {
    all().find(|(_, entry)| entry.name() == name)
}
