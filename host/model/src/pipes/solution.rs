//! A description with what the solver finds for its pipes
//!
//! Each result is computed at its first use, once, and all rules and the resolved system use the same.

use super::catalogue::Catalogue;
use super::crossing;
use super::pipe::Pipe;
use super::settlement::Failed;
use super::shared_state::SharedState;
use crate::draft::{Draft, PartitionDraft};
use crate::ids::PartitionId;
use crate::system::{Channel, End};
use std::cell::OnceCell;

/// A draft and the solution of its pipes.
pub(crate) struct Solution<'d> {
    pub(crate) draft: &'d Draft,
    /// Functions, endpoints and VCPUs are valid one by one.
    is_sound: bool,
    catalogue: OnceCell<Option<Catalogue<'d>>>,
    outcome: OnceCell<Option<Result<Vec<Pipe>, Failed<'d>>>>,
    crossings: OnceCell<Vec<Channel>>,
}

impl<'d> Solution<'d> {
    /// Of a draft of which the functions, endpoints and VCPUs may be sound.
    pub(crate) const fn new(draft: &'d Draft, is_sound: bool) -> Self {
        Self {
            draft,
            is_sound,
            catalogue: OnceCell::new(),
            outcome: OnceCell::new(),
            crossings: OnceCell::new(),
        }
    }

    /// The pipes and functions in the solver's terms; none where these are not sound.
    pub(crate) fn catalogue(&self) -> Option<&Catalogue<'d>> {
        let make = || self.is_sound.then(|| Catalogue::of(self.draft)).flatten();
        self.catalogue.get_or_init(make).as_ref()
    }

    /// The answer of the solver; none where there are no pipes, or one that is not sound.
    pub(crate) fn outcome(&self) -> Option<Result<&[Pipe], &Failed<'d>>> {
        let outcome = self.outcome.get_or_init(|| {
            let catalogue = self.catalogue().filter(|_| !self.draft.pipes.is_empty());
            catalogue?.solve()
        });
        let outcome = outcome.as_ref()?.as_ref();
        Some(outcome.map(Vec::as_slice))
    }

    /// All pipes; none where the solver fails, which other rules report.
    pub(crate) fn pipes(&self) -> &[Pipe] {
        self.outcome().and_then(Result::ok).unwrap_or_default()
    }

    /// Channels that pipes need between partitions, those for run-time pipes among them.
    pub(crate) fn crossings(&self) -> &[Channel] {
        self.crossings.get_or_init(|| {
            crossing::channels(self.pipes())
                .chain(self.draft.remote_channels())
                .collect()
        })
    }

    /// Crossings with an end in a partition, or in the one that it is a standby of.
    pub(crate) fn crossings_of<'s>(
        &'s self,
        partition: &'s PartitionDraft,
    ) -> impl Iterator<Item = &'s Channel> {
        let concerned = [Some(partition), self.draft.primary_of(partition)];
        let names = concerned.map(|one| one.map(|one| &one.name.value));
        let is_here = move |end: &End| match end {
            End::Partition(id) => names.contains(&Some(&self.draft.partitions[id.0].name.value)),
            End::Host => false,
        };
        let all = self.crossings().iter();
        all.filter(move |channel| is_here(&channel.from) || channel.to.iter().any(&is_here))
    }

    /// Components and memory for stages on several cores of a partition, if it has such stages.
    pub(crate) fn shared_state(&self, partition: usize) -> Option<SharedState> {
        let draft = self.draft.partitions.get(partition)?;
        SharedState::of(self.pipes(), PartitionId(partition), draft)
    }
}
