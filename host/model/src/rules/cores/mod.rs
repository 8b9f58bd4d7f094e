//! Rules about cores

pub(crate) mod core_given_twice;
pub(crate) mod core_out_of_range;
pub(crate) mod no_core;
pub(crate) mod too_many_cores;

use crate::rules::declaration::Rule;

/// In the order of the reference.
pub(super) const RULES: &[&Rule] = &[
    &no_core::RULE,
    &core_given_twice::RULE,
    &core_out_of_range::RULE,
    &too_many_cores::RULE,
];
