//! Questions that concern several parts of a description: channels of a partition, programs of components
//!
//! Only methods stand here: no part of the draft depends on this file.

use super::Draft;
use super::{ChannelDraft, ComponentDraft, Field, PartitionDraft, items};
use crate::kinds::{Criticality, Folder, Program};
use bulkhead_abi::component::Role;

impl ChannelDraft {
    /// Returns whether a partition is an end of it.
    pub(crate) fn concerns(&self, partition: &PartitionDraft) -> bool {
        self.ends().any(|end| end.value == partition.name.value)
    }
}

impl Draft {
    /// The channels of which a partition is an end, by itself or as a standby.
    pub(crate) fn channels_of(
        &self,
        partition: &PartitionDraft,
    ) -> impl Iterator<Item = &ChannelDraft> {
        let primary = self.primary_of(partition);
        let concerns = |channel: &ChannelDraft, one: Option<&PartitionDraft>| {
            one.is_some_and(|one| channel.concerns(one))
        };
        self.channels
            .iter()
            .filter(move |channel| concerns(channel, Some(partition)) || concerns(channel, primary))
    }
}

impl ComponentDraft {
    /// Its program; nothing where none is named.
    pub(crate) fn program(&self, draft: &Draft) -> Option<Program> {
        Some(match (self.image.built.value(), self.image.file.given()) {
            (Some(name), _) => Program::Crate(name),
            (None, Some(file)) => Program::File(draft.path(file)),
            (None, None) => Program::Folder(Folder {
                path: draft.path(self.image.folder.given()?),
                sources: items(&self.image.sources)
                    .map(|one| draft.path(one))
                    .collect(),
                include: items(&self.image.include)
                    .map(|one| draft.path(one))
                    .collect(),
                define: items(&self.image.define)
                    .map(|one| one.value.clone())
                    .collect(),
            }),
        })
    }

    /// Its name as people address it: `control.driver`.
    pub(crate) fn path(&self, partition: &PartitionDraft) -> String {
        format!("{}.{}", partition.name.value, self.name.value)
    }
}

impl PartitionDraft {
    /// The component of that name.
    pub(crate) fn component(&self, name: &str) -> Option<&ComponentDraft> {
        let mut components = self.components.iter();
        components.find(|one| one.name.value == name)
    }

    /// The component that provides an interface to another one: that of its core, if any does.
    pub(crate) fn provider(
        &self,
        client: &ComponentDraft,
        interface: &str,
    ) -> Option<&ComponentDraft> {
        let provides =
            |one: &&ComponentDraft| items(&one.provides).any(|name| name.value == interface);
        let mut providers = self.components.iter().filter(provides);
        let other = providers.clone().next();
        providers.find(|one| one.serves(client.core())).or(other)
    }

    /// Its scheduler of a core.
    pub(crate) fn scheduler(&self, core: Option<u64>) -> Option<&ComponentDraft> {
        let mut schedulers = self.components.iter().filter(|one| one.is(Role::Scheduler));
        schedulers.find(|one| one.serves(core))
    }

    /// Criticality of one of its components; its own where that says nothing.
    pub(crate) fn criticality_of(&self, component: &ComponentDraft) -> Option<Criticality> {
        match component.criticality {
            Field::Absent => self.criticality.value(),
            _ => component.criticality.value(),
        }
    }
}
