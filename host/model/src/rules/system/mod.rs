//! Rules about the system as a whole, and the board

pub(crate) mod board_cores;
pub(crate) mod board_devices;
pub(crate) mod board_dma;
pub(crate) mod board_emulator;
pub(crate) mod board_figures;
pub(crate) mod board_firmware;
pub(crate) mod board_guest;
pub(crate) mod board_inconsistent;
pub(crate) mod board_kinds;
pub(crate) mod board_memory;
pub(crate) mod board_pcie;
pub(crate) mod board_streams;
pub(crate) mod no_partition;
mod occupied;
pub(crate) mod run_length;
pub(crate) mod unknown_board;
pub(crate) mod waive_unknown;

use crate::rules::declaration::Rule;

/// In the order of the reference.
pub(super) const RULES: &[&Rule] = &[
    &unknown_board::RULE,
    &board_inconsistent::RULE,
    &board_figures::RULE,
    &board_cores::RULE,
    &board_kinds::RULE,
    &board_memory::RULE,
    &board_firmware::RULE,
    &board_devices::RULE,
    &board_dma::RULE,
    &board_emulator::RULE,
    &board_pcie::RULE,
    &board_streams::RULE,
    &board_guest::RULE,
    &no_partition::RULE,
    &run_length::RULE,
    &waive_unknown::RULE,
];
