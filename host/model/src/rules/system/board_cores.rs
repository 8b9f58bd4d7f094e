//! The cores of a board and their redistributors

use super::board_inconsistent::place;
use crate::board::{Board, Core};
use crate::diagnostic::Report;
use crate::document::Table;
use crate::draft::Section;
use crate::source::Span;
use bulkhead_abi::status::MAX_CORES;

crate::rules::declaration::rule! {
    Error, "board-cores",
    "each core of a board has an affinity of its own and a redistributor",
    "Firmware and interrupt controller name a core by its affinity, and a core's private interrupts are those of \
     its redistributor: two frames of 64 KiB."
}

/// Looks at a board that has the right shape.
pub(crate) fn check(board: &Board, table: &Table, report: &mut Report) {
    let spans: Vec<Span> = Section::whole(table)
        .listed("cores")
        .map(|section| section.name.span)
        .collect();
    let count = board.cores.len();
    if !(1..=MAX_CORES).contains(&count) {
        let message = format!("{count} cores are listed, 1 to {MAX_CORES} are supported");
        report.add(RULE.at(&place(table, "cores"), message).here("here"));
    }
    for (number, core) in board.cores.iter().enumerate() {
        let span = spans.get(number).cloned().unwrap_or_default();
        for message in faults(board, number, core) {
            report.add(
                RULE.at(&span, message)
                    .here(format!("core {number}"))
                    .help("the device tree of the board has `reg` of each core and of the interrupt controller"),
            );
        }
    }
}

fn faults(board: &Board, number: usize, core: &Core) -> Vec<String> {
    let mut faults = Vec::new();
    let start = core.redistributor;
    if !start.is_multiple_of(1 << 16) {
        faults.push(format!(
            "redistributor {start:#x} is not two frames of 64 KiB"
        ));
    }
    for (earlier, other) in board.cores[..number].iter().enumerate() {
        if core.mpidr == other.mpidr {
            faults.push(format!(
                "affinity {:#x} is that of core {earlier}",
                core.mpidr
            ));
        }
    }
    if core.mpidr & !0xFF_00FF_FFFF != 0 || core.mpidr & 0xFF >= 16 {
        faults.push(format!(
            "affinity {:#x} cannot be interrupted: level 0 is below 16, and bits 31 to 24 are zero",
            core.mpidr
        ));
    }
    faults
}
