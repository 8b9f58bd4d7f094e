//! Resources of the component, and its threads

use crate::THREAD_COUNT;
use crate::threads::Places;
use bulkhead_component::First;
use bulkhead_slite::{Mutex, TaskTrace};

pub(crate) struct Means {
    /// There once the program begins.
    pub(crate) first: Option<First>,
    pub(crate) places: Places,
}

pub(crate) static MEANS: Mutex<Means> = Mutex::new(Means {
    first: None,
    places: Places::new(),
});

/// Jobs of periodic tasks; threads have the indices from 1 on.
pub(crate) static TASKS: TaskTrace<{ THREAD_COUNT + 1 }> = TaskTrace::new();
