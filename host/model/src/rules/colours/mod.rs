//! Rules about page colours

pub(crate) mod colour_given_twice;
pub(crate) mod colour_out_of_range;
pub(crate) mod colours_one_sided;
pub(crate) mod colours_overlap;
pub(crate) mod colours_too_few;

use crate::rules::declaration::Rule;

/// In the order of the reference.
pub(super) const RULES: &[&Rule] = &[
    &colour_out_of_range::RULE,
    &colour_given_twice::RULE,
    &colours_overlap::RULE,
    &colours_too_few::RULE,
    &colours_one_sided::RULE,
];
