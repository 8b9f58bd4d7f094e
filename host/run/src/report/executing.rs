//! Components that the cores executed at the end of a run
//!
//! A thread that never gives way leaves no record: its code is what its core executes when the machine is frozen.

use bulkhead_abi::dispatch::MAX_THREADS;
use bulkhead_plan::manifest::{ComponentManifest, Manifest};
use serde::{Deserialize, Serialize};

use super::place::{Place, Program};
use crate::machine::ComponentCode;

/// The thread of a scheduler that runs when no other does.
const IDLE: u64 = MAX_THREADS as u64 - 1;

/// A core that executed a component.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutingReport {
    /// The core.
    pub core: usize,
    /// Partition of the core.
    pub partition: String,
    /// The component; several names if their code is alike at that place.
    pub components: Vec<String>,
    /// The thread, if the component has threads of its own.
    pub thread: Option<u64>,
    /// Place in the source.
    pub place: Option<Place>,
}

impl ExecutingReport {
    /// The place in words.
    fn sentence(&self) -> String {
        let components = self.components.join("` or `");
        let thread = self
            .thread
            .map_or_else(String::new, |thread| format!(", thread {thread}"));
        let place = self
            .place
            .as_ref()
            .map_or_else(String::new, |place| format!(" in {place}"));
        format!(
            "core {} executed component `{components}`{thread}{place}",
            self.core
        )
    }
}

/// Words for the components of a partition that the cores executed at the end of the run, as the end of a sentence; empty if there
/// are none.
pub(super) fn at_the_end(all: &[ExecutingReport], partition: &str) -> String {
    let of_partition = all.iter().filter(|one| one.partition == partition);
    let sentences: Vec<_> = of_partition.map(ExecutingReport::sentence).collect();
    match sentences.is_empty() {
        true => String::new(),
        false => format!("; at the end of the run {}", sentences.join(", ")),
    }
}

/// Components of the code that a core executes; `None` if it is of none.
pub(crate) fn executing(manifest: &Manifest, found: &ComponentCode) -> Option<ExecutingReport> {
    let mut partitions = manifest.partitions.iter();
    let partition = partitions.find(|one| one.cores.contains(&found.core))?;
    let alike: Vec<(&ComponentManifest, Program)> = partition
        .components
        .iter()
        .filter_map(|component| Some((component, Program::read(component.program.as_deref()?)?)))
        .filter(|(_, program)| program.has_code(found.pc, &found.code))
        .collect();
    let (first, program) = alike.first()?;
    let thread = found.thread.filter(|_| first.has_threads).map(u64::from);
    if thread == Some(IDLE) {
        return None;
    }
    Some(ExecutingReport {
        core: found.core,
        partition: partition.name.clone(),
        components: alike.iter().map(|(one, _)| one.name.clone()).collect(),
        thread,
        place: program.place(found.pc),
    })
}
