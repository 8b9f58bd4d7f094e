//! Rules about endpoints beyond the machine

pub(crate) mod bridge_channel;
pub(crate) mod bridge_direction;
pub(crate) mod bridge_fallback;
pub(crate) mod bridge_from;
pub(crate) mod bridge_host;
pub(crate) mod bridge_partition;
pub(crate) mod bridge_place;
pub(crate) mod bridge_stage;
pub(crate) mod bridge_topic;
pub(crate) mod bridge_twice;

use crate::document::At;
use crate::draft::{BridgeDraft, ChannelDraft, Draft, items};
use crate::rules::declaration::Rule;

/// In the order of the reference.
pub(super) const RULES: &[&Rule] = &[
    &bridge_partition::RULE,
    &bridge_host::RULE,
    &bridge_place::RULE,
    &bridge_channel::RULE,
    &bridge_direction::RULE,
    &bridge_twice::RULE,
    &bridge_from::RULE,
    &bridge_fallback::RULE,
    &bridge_stage::RULE,
    &bridge_topic::RULE,
];

/// Channels that a bridge names, exported ones first, with whether they are.
fn named(bridge: &BridgeDraft) -> impl Iterator<Item = (&At<String>, bool)> {
    let exported = items(&bridge.export).map(|name| (name, true));
    exported.chain(bridge.imports.iter().map(|import| (&import.name, false)))
}

/// Existing imports, and channels or pipes that are published as topics.
fn bridged_channels<'d>(
    draft: &'d Draft,
    bridge: &'d BridgeDraft,
) -> impl Iterator<Item = (&'d At<String>, bool, &'d ChannelDraft)> {
    let topics = bridge.publish.iter().map(|publish| (&publish.name, true));
    let all = named(bridge).chain(topics);
    all.filter_map(|(name, goes_out)| Some((name, goes_out, draft.channel(&name.value)?)))
}
