//! The table of pipes: static ones and run-time ones
//!
//! Written before the stages run, and by the planner. The recorder reads it, too.

use crate::runtime::CORE;
use crate::shared_state;
use crate::stage::{self, STAGES};
use bulkhead_abi::name_text;
use bulkhead_abi::pipe::{Pipe, Stage};
use bulkhead_abi::repository::MAX_PIPES;
use bulkhead_slite::Mutex;
use bulkhead_stages::message::HEADS;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Maximum number of pipes.
pub(crate) const PIPES: usize = MAX_PIPES;

/// A pipe.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// Name and guarantees.
    pub(crate) pipe: Pipe,
    /// Numbers of its stages, in the order of the flow.
    numbers: [u8; STAGES],
    /// Indices of its first stages.
    heads: [u8; HEADS],
    head_count: u8,
    /// Counts the pipes that were ever added, so that each has another value.
    pub(crate) generation: u32,
}

/// Used entries, by bit.
static THERE: AtomicU64 = AtomicU64::new(0);
static TABLE: [Mutex<Option<Entry>>; PIPES] = [const { Mutex::new(None) }; PIPES];

impl Entry {
    /// A pipe with stages of these numbers; `heads` are the indices of the first stages.
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

    /// Numbers of its stages, in the order of the flow.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = usize> + '_ {
        let count = self.pipe.stages as usize;
        self.numbers.iter().take(count).map(|&number| number.into())
    }

    /// Its stages with their numbers.
    pub(crate) fn stages(&self) -> impl Iterator<Item = (usize, Stage)> + '_ {
        let all = self.numbers();
        all.filter_map(|number| Some((number, stage::shared(number).stage()?)))
    }

    /// Its stages on this core.
    pub(crate) fn here(&self) -> impl Iterator<Item = (usize, Stage)> + '_ {
        self.stages()
            .filter(|(_, stage)| shared_state::is_here(stage))
    }

    /// Its stages in this partition, on all cores.
    pub(crate) fn within(&self) -> impl Iterator<Item = (usize, Stage)> + '_ {
        self.stages().filter(|(_, stage)| stage.is_here())
    }

    /// Returns whether stages of it are in other partitions.
    pub(crate) fn crosses(&self) -> bool {
        self.within().count() != self.stages().count()
    }

    /// Returns whether stages of it in this partition are on another core.
    pub(crate) fn is_spread(&self) -> bool {
        self.within().count() != self.here().count()
    }

    /// Returns whether another partition runs a last stage of it, and records the messages that
    /// leave there.
    pub(crate) fn ends_elsewhere(&self) -> bool {
        let is_read = |to: u32| self.stages().any(|(_, stage)| stage.from == to);
        let mut stages = self.stages();
        stages.any(|(_, stage)| !stage.is_here() && !is_read(stage.to))
    }

    /// Indices of its first stages.
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

/// Sets or clears the entry of that number.
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

/// Sets the guaranteed bound of a pipe.
pub(crate) fn set_bound(number: usize, bound_ns: u64) {
    if let Some(mut entry) = get(number) {
        entry.pipe.bound_ns = bound_ns;
        set(number, Some(entry));
    }
}

/// Numbers of the used entries.
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
