//! The RAM of a board

use super::board_inconsistent::{is_unreachable, place};
use super::occupied::{Occupied, occupied};
use crate::board::{Board, MemoryRange};
use crate::diagnostic::Report;
use crate::document::Table;
use crate::draft::Section;
use crate::quantity::size_text;
use crate::source::Span;
use bulkhead_abi::PAGE_SIZE;
use bulkhead_formats::region::Range;

crate::rules::declaration::rule! {
    Error, "board-memory",
    "the RAM of a board is whole pages that physical addresses reach, and no device lies in it",
    "Monitor and partitions get their memory from these ranges, and tables are built for the addresses that the \
     processor has. The boot image lies in the first of them that holds its load address."
}

/// Looks at a board that has the right shape.
pub(crate) fn check(board: &Board, table: &Table, report: &mut Report) {
    let spans: Vec<Span> = Section::of(table, "memory")
        .listed("ranges")
        .map(|section| section.name.span)
        .collect();
    let hardware = occupied(board, table);
    for (number, range) in board.memory.iter().enumerate() {
        let span = spans.get(number).cloned().unwrap_or_default();
        for message in faults(board, &hardware, number, range) {
            report.add(RULE.at(&span, message).here("this range"));
        }
    }
    let mut tell = |key: &str, message: String| {
        report.add(RULE.at(&place(table, key), message).here("does not fit"));
    };
    let holds = |range: &MemoryRange| (range.base..range.end()).contains(&board.load);
    if !board.memory.iter().any(holds) {
        tell("memory.load", "the image is not in RAM".into());
    }
    if board.emulator.is_some() && board.memory.iter().any(|range| range.base == board.load) {
        tell(
            "memory.load",
            "the emulator's boot loader lies at the start of RAM".into(),
        );
    }
    if !board.load.is_multiple_of(2 << 20) {
        tell(
            "memory.load",
            "an arm64 image lies at a multiple of 2 MiB".into(),
        );
    }
    if board.default_memory == 0 || !board.default_memory.is_multiple_of(PAGE_SIZE) {
        tell("memory.default_size", "RAM is made of whole pages".into());
    }
    if board.default_memory > board.max_memory() {
        let there = size_text(board.max_memory());
        tell(
            "memory.default_size",
            format!("more RAM than the ranges have: {there}"),
        );
    }
}

fn faults(board: &Board, hardware: &[Occupied], number: usize, range: &MemoryRange) -> Vec<String> {
    let mut faults = Vec::new();
    let (start, end) = (range.base, range.end());
    if !(start | range.size).is_multiple_of(PAGE_SIZE) || range.size == 0 {
        faults.push("RAM is made of whole pages".into());
    }
    if is_unreachable(board, end.saturating_sub(1)) || range.base.checked_add(range.size).is_none()
    {
        let bits = board.cpu.physical_bits;
        faults.push(format!(
            "RAM ends at {end:#x}, beyond {bits} bits of address"
        ));
    }
    let earlier = board.memory[..number].iter();
    if earlier.last().is_some_and(|last| last.end() > start) {
        faults.push("ranges are ascending and do not overlap".into());
    }
    let hardware = hardware
        .iter()
        .filter(|part| part.range.overlaps(Range { start, end }));
    faults.extend(hardware.map(|part| format!("{} lies in RAM", part.name)));
    faults
}
