//! Rules about what is done when something fails

pub(crate) mod alternate_missing;
pub(crate) mod alternate_unused;
pub(crate) mod bad_escalation;
pub(crate) mod hang_unwatched;
pub(crate) mod heartbeat_for_image;
pub(crate) mod heartbeat_too_short;
pub(crate) mod heartbeat_unwatched;
pub(crate) mod inject_impossible;
pub(crate) mod progress_place;
pub(crate) mod restart_budget;
pub(crate) mod standby_missing;
pub(crate) mod startup_range;

use crate::rules::Rule;

/// In the order of the reference.
pub(super) const RULES: &[&Rule] = &[
    &inject_impossible::RULE,
    &alternate_missing::RULE,
    &standby_missing::RULE,
    &bad_escalation::RULE,
    &restart_budget::RULE,
    &heartbeat_too_short::RULE,
    &heartbeat_for_image::RULE,
    &progress_place::RULE,
    &heartbeat_unwatched::RULE,
    &startup_range::RULE,
    &hang_unwatched::RULE,
    &alternate_unused::RULE,
];
