//! Rules about devices and consoles

pub(crate) mod console_conflict;
pub(crate) mod console_not_owned;
pub(crate) mod console_not_uart;
pub(crate) mod console_unseen;
pub(crate) mod device_forward;
pub(crate) mod device_given_twice;
pub(crate) mod device_kind;
pub(crate) mod device_lines;
pub(crate) mod device_reach;
pub(crate) mod device_unowned;
pub(crate) mod dma_device;
pub(crate) mod dma_restart;
pub(crate) mod dma_unconfined;
pub(crate) mod interrupt_line_split;
pub(crate) mod unknown_console;
pub(crate) mod unknown_device;

use crate::rules::declaration::Rule;

/// In the order of the reference.
pub(super) const RULES: &[&Rule] = &[
    &unknown_device::RULE,
    &device_given_twice::RULE,
    &device_kind::RULE,
    &device_forward::RULE,
    &device_unowned::RULE,
    &device_lines::RULE,
    &device_reach::RULE,
    &interrupt_line_split::RULE,
    &dma_device::RULE,
    &dma_restart::RULE,
    &dma_unconfined::RULE,
    &unknown_console::RULE,
    &console_not_owned::RULE,
    &console_not_uart::RULE,
    &console_conflict::RULE,
    &console_unseen::RULE,
];
