//! Rules about standby partitions

pub(crate) mod standby_chain;
pub(crate) mod standby_criticality;
pub(crate) mod standby_devices;
pub(crate) mod standby_dma;
pub(crate) mod standby_itself;
pub(crate) mod standby_memory;
pub(crate) mod standby_shared;
pub(crate) mod standby_unused;
pub(crate) mod unknown_standby;

use crate::document::At;
use crate::draft::{Draft, PartitionDraft};
use crate::rules::declaration::Rule;

/// In the order of the reference.
pub(super) const RULES: &[&Rule] = &[
    &unknown_standby::RULE,
    &standby_itself::RULE,
    &standby_chain::RULE,
    &standby_shared::RULE,
    &standby_criticality::RULE,
    &standby_devices::RULE,
    &standby_dma::RULE,
    &standby_memory::RULE,
    &standby_unused::RULE,
];

/// Partitions that name a standby, the place, and the standby.
fn pairs(draft: &Draft) -> impl Iterator<Item = (&PartitionDraft, &At<String>, &PartitionDraft)> {
    draft.partitions.iter().filter_map(|primary| {
        let name = primary.standby.given()?;
        let standby = draft.partition(&name.value)?;
        (standby.name.value != primary.name.value).then_some((primary, name, standby))
    })
}
