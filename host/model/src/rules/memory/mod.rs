//! Rules about memory

pub(crate) mod command_line_text;
pub(crate) mod command_line_too_long;
pub(crate) mod memory_not_pages;
pub(crate) mod memory_too_large;
pub(crate) mod memory_too_small;
pub(crate) mod total_memory;
pub(crate) mod trace_size;

use crate::rules::declaration::Rule;

/// In the order of the reference.
pub(super) const RULES: &[&Rule] = &[
    &memory_not_pages::RULE,
    &memory_too_small::RULE,
    &memory_too_large::RULE,
    &total_memory::RULE,
    &trace_size::RULE,
    &command_line_too_long::RULE,
    &command_line_text::RULE,
];
