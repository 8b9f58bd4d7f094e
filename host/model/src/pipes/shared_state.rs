//! Stages on several cores of an rtos partition: the components, and the state that they share
//!
//! The scheduler of the first core runs its stages. On every other core with stages the same
//! program runs in an address space of its own; if the description has no scheduler there, the tool
//! adds one (`doc/design/pipes-deployment.md`). With run-time pipes, every core with functions has
//! one.

use super::pipe::Pipe;
use crate::draft::PartitionDraft;
use crate::resolve::spare;
use crate::system::{Component, Image, Kind, Partition, PartitionId, SharedMemory};
use bulkhead_abi::component::{ANY_CORE, COMPONENT_CORES, Part, Role};
use bulkhead_abi::pipe::TOGETHER;
use bulkhead_abi::{NAME_LEN, PAGE_SIZE};
use bulkhead_stages::shared_state;
use std::collections::BTreeSet;

/// Components and memory for stages on several cores of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedState {
    /// The first core and all others with stages, or with functions of which stages can be typed.
    pub(crate) cores: Vec<usize>,
    /// Bytes that their components share.
    pub(crate) bytes: u64,
}

impl SharedState {
    /// Of a partition that has, or may have, stages on several cores.
    pub(crate) fn of(
        pipes: &[Pipe],
        partition: PartitionId,
        draft: &PartitionDraft,
    ) -> Option<Self> {
        let pipes = || pipes.iter().filter(|pipe| pipe.runs_in(partition));
        let places = pipes().flat_map(|pipe| &pipe.places);
        let here = places.filter(|place| place.partition == partition && !place.linux);
        let here = here.map(|place| place.core).chain([0]);
        let cores: BTreeSet<usize> = here.chain(draft.remote_cores()).collect();
        if cores.len() == 1 {
            return None;
        }
        let shapes = pipes().flat_map(|pipe| {
            let within = pipe.crossings.iter().filter(move |one| {
                one.channel.is_none() && pipe.places[one.from].partition == partition
            });
            within.map(|one| pipe.shape(one.to))
        });
        let spare = spare(draft).map_or(0, |spare| spare.buffer_bytes as usize);
        let bytes = shared_state::bytes(&shapes.collect::<Vec<_>>(), spare).unwrap_or(u64::MAX / 2);
        Some(Self {
            cores: cores.into_iter().collect(),
            bytes: bytes.next_multiple_of(PAGE_SIZE),
        })
    }

    /// Cores for which the tool adds a component.
    pub(crate) fn added<'t>(
        &'t self,
        partition: &'t PartitionDraft,
    ) -> impl Iterator<Item = usize> + 't {
        let cores = self.cores.iter().copied();
        cores.filter(|&core| partition.scheduler(Some(core as u64)).is_none())
    }

    /// Adds the components that the description has not, and what all of them share.
    pub(crate) fn arrange(&self, partition: &mut Partition) {
        let Image::Components(components) = &mut partition.image else {
            return;
        };
        let schedules = |one: &&Component, core: usize| {
            one.role == Role::Scheduler && one.core as usize == core
        };
        let Some(first) = components.iter().find(|one| schedules(one, 0)).cloned() else {
            return;
        };
        for &core in &self.cores {
            if !components.iter().any(|one| schedules(&one, core)) {
                let everywhere = |need: &&String| {
                    let mut providers = components.iter().filter(|one| one.provides.contains(need));
                    providers.any(|one| one.core == ANY_CORE)
                };
                let added = added(&first, core, first.needs.iter().filter(everywhere));
                components.push(added);
            }
        }
        let shares = |core: &usize| components.iter().find(|one| schedules(one, *core));
        let sharing = self.cores.iter().filter_map(shares);
        partition.shared.push(SharedMemory {
            name: TOGETHER.to_owned(),
            size: self.bytes,
            components: sharing.map(|one| one.name.clone()).collect(),
        });
    }
}

/// Returns the component with the scheduler's program on another core. No name of the description
/// has a dot, but this one does.
fn added<'n>(first: &Component, core: usize, needs: impl Iterator<Item = &'n String>) -> Component {
    let number = format!(".{core}");
    let room = NAME_LEN - 1 - number.len();
    let name = first.name.get(..room).unwrap_or(&first.name);
    Component {
        name: format!("{name}{number}"),
        core: core as u32,
        provides: Vec::new(),
        needs: needs.cloned().collect(),
        channels: Vec::new(),
        doorbells: Vec::new(),
        owns: vec![Part::Monitor],
        function: None,
        ..first.clone()
    }
}

impl PartitionDraft {
    /// Cores on which stages can be started at run time.
    pub(crate) fn remote_cores(&self) -> BTreeSet<usize> {
        match (self.kind.value(), spare(self)) {
            (Some(Kind::Rtos), Some(_)) => self.runtime_cores(),
            _ => BTreeSet::new(),
        }
    }

    /// Cores that the runtime of pipes schedules, where there are functions.
    pub(crate) fn stage_cores(&self) -> BTreeSet<usize> {
        match self.kind.value() {
            Some(Kind::Rtos) if !self.functions.is_empty() => self.runtime_cores(),
            _ => BTreeSet::new(),
        }
    }

    /// The first core, and each that has functions and runs stages.
    fn runtime_cores(&self) -> BTreeSet<usize> {
        let functions = self.functions.iter();
        let cores = functions.filter_map(|one| one.core.or(0));
        let others = cores.filter(|&core| core != 0 && self.runs_stages(core));
        others.map(|core| core as usize).chain([0]).collect()
    }

    /// Returns whether a thread of the runtime without a budget polls on each core: for pipes that are started at run time.
    pub(crate) fn polls(&self) -> bool {
        spare(self).is_some()
    }

    /// Returns whether a core has a program that runs stages. The first core's scheduler does; on
    /// another core the same program does, unless the core has another scheduler.
    pub(crate) fn runs_stages(&self, core: u64) -> bool {
        let Some(first) = self.scheduler(Some(0)).filter(|_| core != 0) else {
            return core == 0;
        };
        let other = self.scheduler(Some(core));
        core < COMPONENT_CORES as u64 && other.is_none_or(|other| other.is_alike(first))
    }
}
