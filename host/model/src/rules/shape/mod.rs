//! Rules about the text: syntax, keys, types, single values

pub(crate) mod bad_name;
pub(crate) mod bad_override;
pub(crate) mod bad_size;
pub(crate) mod bad_time;
pub(crate) mod description_unreadable;
pub(crate) mod duplicate_name;
pub(crate) mod missing_key;
pub(crate) mod name_too_long;
pub(crate) mod number_out_of_range;
pub(crate) mod reserved_name;
pub(crate) mod syntax;
pub(crate) mod unknown_key;
pub(crate) mod unknown_value;
pub(crate) mod wrong_type;

use crate::rules::declaration::Rule;

/// In the order of the reference.
pub(super) const RULES: &[&Rule] = &[
    &description_unreadable::RULE,
    &syntax::RULE,
    &duplicate_name::RULE,
    &unknown_key::RULE,
    &missing_key::RULE,
    &wrong_type::RULE,
    &bad_size::RULE,
    &bad_time::RULE,
    &number_out_of_range::RULE,
    &unknown_value::RULE,
    &bad_name::RULE,
    &name_too_long::RULE,
    &reserved_name::RULE,
    &bad_override::RULE,
];
