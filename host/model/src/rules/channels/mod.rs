//! Rules about channels

pub(crate) mod access_for_kind;
pub(crate) mod channel_one_end;
pub(crate) mod channel_to_itself;
pub(crate) mod doorbell_rate;
pub(crate) mod doorbell_to_host;
pub(crate) mod doorbell_to_many;
pub(crate) mod host_reads;
pub(crate) mod host_writes;
pub(crate) mod key_twice;
pub(crate) mod key_zero;
pub(crate) mod many_readers;
pub(crate) mod message_size;
pub(crate) mod messages_count;
pub(crate) mod reader_twice;
pub(crate) mod too_many_channels;
pub(crate) mod too_many_doorbells;
pub(crate) mod unknown_partition;
pub(crate) mod window_overflow;

use crate::rules::declaration::Rule;

/// In the order of the reference.
pub(super) const RULES: &[&Rule] = &[
    &channel_one_end::RULE,
    &unknown_partition::RULE,
    &channel_to_itself::RULE,
    &reader_twice::RULE,
    &many_readers::RULE,
    &host_writes::RULE,
    &host_reads::RULE,
    &message_size::RULE,
    &messages_count::RULE,
    &access_for_kind::RULE,
    &window_overflow::RULE,
    &too_many_channels::RULE,
    &too_many_doorbells::RULE,
    &doorbell_rate::RULE,
    &doorbell_to_host::RULE,
    &doorbell_to_many::RULE,
    &key_zero::RULE,
    &key_twice::RULE,
];
