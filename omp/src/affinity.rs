//! Places (sets of cores), and which thread of a team is bound to which.
//!
//! Policies as the specification defines them: `master` puts all threads on the leader's place,
//! `close` on consecutive places from the leader's, `spread` on places far apart, each thread with
//! its part of the list for regions of its own.

#![expect(unsafe_code, reason = "a list that is written once")]

mod parse;

pub use parse::Binding;

use crate::backend::{Backend, CoreSet, System};
use crate::memory;
use crate::team::Team;
use crate::worker::Worker;
use core::cell::Cell;
use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// A team's part of the place list: `first .. first + count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// First place.
    pub first: u32,
    /// Number of places; 0 for all.
    pub count: u32,
}

impl Partition {
    /// The whole list.
    pub const ALL: Self = Self { first: 0, count: 0 };

    /// The list's length where the partition is the whole.
    pub fn resolved(self) -> Self {
        if self.count == 0 {
            Self {
                first: 0,
                count: places().len() as u32,
            }
        } else {
            self
        }
    }
}

static BINDING: AtomicU32 = AtomicU32::new(Binding::No as u32);
static DISPLAY: AtomicBool = AtomicBool::new(false);

/// Most places of a list.
const MAX_PLACES: usize = 256;

struct Places(Cell<&'static [CoreSet]>);

// SAFETY: written while the environment is read, before any region and any other thread.
unsafe impl Sync for Places {}

static PLACES: Places = Places(Cell::new(&[]));

/// The place list; empty if none was requested.
pub fn places() -> &'static [CoreSet] {
    PLACES.0.get()
}

fn binding_from(number: u32) -> Option<Binding> {
    use Binding::{Close, Master, No, Spread, Yes};
    [No, Yes, Master, Close, Spread]
        .into_iter()
        .find(|binding| *binding as u32 == number)
}

/// proc-bind-var.
pub fn binding() -> Binding {
    binding_from(BINDING.load(Ordering::Relaxed)).unwrap_or(Binding::No)
}

/// proc-bind-var as `OMP_PROC_BIND` spells it.
pub fn binding_name() -> &'static str {
    match binding() {
        Binding::No => "FALSE",
        Binding::Yes => "TRUE",
        Binding::Master => "MASTER",
        Binding::Close => "CLOSE",
        Binding::Spread => "SPREAD",
    }
}

/// `OMP_DISPLAY_AFFINITY`.
pub fn is_displayed() -> bool {
    DISPLAY.load(Ordering::Relaxed)
}

/// `OMP_DISPLAY_AFFINITY`: whether the value makes sense.
pub(crate) fn set_display(text: &str) -> bool {
    let on = parse::boolean(text);
    DISPLAY.store(on == Some(true), Ordering::Relaxed);
    on.is_some()
}

/// `OMP_PROC_BIND`: whether the value makes sense. Of a list the first level counts.
pub(crate) fn set_binding(text: &str) -> bool {
    let Some(binding) = parse::binding(text) else {
        return false;
    };
    BINDING.store(binding as u32, Ordering::Relaxed);
    true
}

/// `OMP_PLACES`: whether the value makes sense.
pub(crate) fn set_places(text: &str) -> bool {
    let mut list = [CoreSet::EMPTY; MAX_PLACES];
    let Some(count) = parse::places(text, &System::core_set(), &mut list) else {
        return false;
    };
    let Some(stored) = memory::place(list) else {
        return false;
    };
    PLACES.0.set(stored.get(..count).unwrap_or_default());
    true
}

/// After the environment was read: binding without places gets one place per core, places without
/// a policy mean `true`.
pub(crate) fn settle() {
    let is_set = System::environment(c"OMP_PROC_BIND").is_some();
    if binding() != Binding::No && places().is_empty() {
        set_places("cores");
    } else if !places().is_empty() && !is_set {
        BINDING.store(Binding::Yes as u32, Ordering::Relaxed);
    }
}

/// The place and the part of the list for thread `index` of `size`, led from place `lead`.
fn assign(policy: Binding, part: Partition, lead: u32, index: u32, size: u32) -> (u32, Partition) {
    let wrap = |place: u32| part.first + (place - part.first) % part.count;
    match policy {
        Binding::No | Binding::Master => (lead, part),
        Binding::Yes | Binding::Close if size <= part.count => (wrap(lead + index), part),
        Binding::Yes | Binding::Close => (wrap(lead + index * part.count / size), part),
        Binding::Spread if size <= part.count => {
            let start = |i: u32| part.first + i * part.count / size;
            let subpartition = Partition {
                first: start(index),
                count: start(index + 1) - start(index),
            };
            (subpartition.first, subpartition)
        }
        Binding::Spread => {
            let place = part.first + index * part.count / size;
            (
                place,
                Partition {
                    first: place,
                    count: 1,
                },
            )
        }
    }
}

/// Binds the team's threads as `bind` (0: as the environment) asks.
pub(crate) fn place_team(outer: &'static Worker, team: &'static Team, bind: u32) {
    if places().is_empty() || binding() == Binding::No {
        return;
    }
    let policy = binding_from(bind)
        .filter(|policy| *policy != Binding::No)
        .unwrap_or(binding());
    let part = outer.partition.get().resolved();
    let lead = outer.place.get().unwrap_or(part.first);
    for (index, worker) in (0..team.size()).zip(team.workers()) {
        let (place, part) = assign(policy, part, lead, index, team.size());
        worker.partition.set(part);
        worker.place.set(Some(place));
    }
}

/// Moves the calling thread to its worker's place, if it is not there.
pub(crate) fn settle_here(worker: &'static Worker) {
    let place = worker.place.get();
    if place != worker.settled.get() {
        worker.settled.set(place);
        if let Some(cores) = place.and_then(|place| places().get(place as usize)) {
            System::run_on(cores);
        }
        if is_displayed() {
            crate::omp::affinity::omp_display_affinity(core::ptr::null());
        }
    }
}

/// The place list as `OMP_PLACES` spells it.
#[derive(Clone, Copy, Debug)]
pub struct PlaceList;

impl fmt::Display for PlaceList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, place) in places().iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{{{place}}}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Binding, Partition, assign};
    use proptest::prelude::{prop_assert, proptest};

    proptest! {
        #[test]
        fn places_stay_in_the_partition(
            first in 0u32..10, count in 1u32..20, lead in 0u32..20, size in 1u32..50,
        ) {
            let part = Partition { first, count };
            let lead = first + lead % count;
            for policy in [Binding::Master, Binding::Close, Binding::Spread] {
                for index in 0..size {
                    let (place, own) = assign(policy, part, lead, index, size);
                    prop_assert!((first..first + count).contains(&place));
                    prop_assert!(own.first >= first && own.first + own.count <= first + count);
                }
            }
        }
    }
}
