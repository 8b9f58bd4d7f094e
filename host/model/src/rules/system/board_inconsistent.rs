//! A board's facts fit together

use super::occupied::occupied;
use crate::board::Board;
use crate::diagnostic::Report;
use crate::document::Table;
use crate::draft::Section;
use crate::source::Span;
use bulkhead_formats::address::physical_range;

crate::rules::declaration::rule! {
    Error, "board-inconsistent",
    "the facts of a board file fit together",
    "Registers overlap nothing, private interrupts are distinct, names are words. Everything the tool derives rests on this file."
}

/// Looks at a board that has the right shape.
pub(crate) fn check(board: &Board, table: &Table, report: &mut Report) {
    let mut tell = |path: &str, message: String| {
        report.add(RULE.at(&place(table, path), message).here("does not fit"));
    };
    for (wrong, path, message) in facts(board) {
        if wrong {
            tell(path, message.to_owned());
        }
    }
    for (path, message) in names(board) {
        tell(path, message);
    }
    let all = occupied(board, table);
    for (index, part) in all.iter().enumerate() {
        let overlapped = all[..index]
            .iter()
            .filter(|other| other.range.overlaps(part.range));
        let overlaps = overlapped.map(|other| format!("overlaps {}", other.name));
        let bits = board.cpu.physical_bits;
        let end = is_unreachable(board, part.range.end.saturating_sub(1))
            .then(|| format!("lies beyond {bits} bits of address"));
        for fault in overlaps.chain(end) {
            let message = format!("{} {fault}", part.name);
            report.add(RULE.at(&part.span, message).here("does not fit"));
        }
    }
}

/// Looks at the lists of fixed length before a board is made of them.
pub(crate) fn check_lists(table: &Table, report: &mut Report) {
    for (section, key, length) in [
        ("interrupts", "doorbells", 2),
        ("timer", "ppis", 5),
        ("pcie", "ports", 2),
        ("pcie", "memory", 2),
        ("pcie", "lines", 4),
    ] {
        let list = Section::of(table, section).numbers(key);
        if let Some(list) = list.given().filter(|list| list.value.len() != length) {
            let message = format!("`{section}.{key}` has {length} numbers");
            report.add(
                RULE.at(&list.span, message)
                    .here(format!("{} here", list.value.len())),
            );
        }
    }
}

/// Simple facts: whether it is wrong, the key, and the message.
fn facts(board: &Board) -> [(bool, &'static str, &'static str); 8] {
    let (first, last) = board.interrupts.doorbells;
    [
        (
            board.default_cores > board.cores.len(),
            "default_cores",
            "more cores than the board has",
        ),
        (
            first > last || last >= board.interrupts.spis,
            "interrupts.doorbells",
            "not a range of SPIs",
        ),
        (
            physical_range(board.cpu.physical_bits).is_none(),
            "cpu.physical_bits",
            "physical addresses have 32, 36, 40, 42, 44, 48 or 52 bits",
        ),
        (
            !timers_differ(board),
            "timer.ppis",
            "each timer has a private interrupt of its own, 16 to 31; only the last one may be 0",
        ),
        (
            board.smmu.is_some_and(|at| !at.is_multiple_of(1 << 16)),
            "smmu.address",
            "the SMMU is not aligned to its pages (64 KiB)",
        ),
        (
            !is_uart(board),
            "console",
            "the console is no device of this board, or not a UART of a kind that the boot part has a driver for",
        ),
        (
            board.emulator.as_ref().is_some_and(|machine| {
                machine.cores.is_some_and(|cores| cores < board.cores.len())
            }),
            "emulator.cores",
            "fewer cores than the board has",
        ),
        (
            !board.interrupts.distributor.is_multiple_of(1 << 16),
            "interrupts.distributor",
            "not a frame of 64 KiB",
        ),
    ]
}

/// Names that become words of device trees and of files.
fn names(board: &Board) -> Vec<(&'static str, String)> {
    let all = [("name", &board.name), ("cpu.name", &board.cpu.name)];
    let wrong = all.into_iter().filter(|(_, name)| !is_node_name(name));
    wrong
        .map(|(key, name)| {
            (
                key,
                format!("`{name}` is no name: letters, digits, `-`, `_`, `.`"),
            )
        })
        .collect()
}

/// Returns `true` for a name of device nodes and files.
pub(super) fn is_node_name(name: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    !name.is_empty() && !name.starts_with(['-', '.']) && name.chars().all(is_part)
}

/// Returns `true` if no physical address of the board is that large.
pub(super) fn is_unreachable(board: &Board, address: u64) -> bool {
    board.cpu.physical_bits < u64::BITS && address >> board.cpu.physical_bits != 0
}

/// Returns `true` if the private interrupts of EL2 and the timers are distinct.
fn timers_differ(board: &Board) -> bool {
    let [secure, physical, virtual_timer] = board.timer.of_el1();
    let optional = Some(board.timer.hypervisor_virtual).filter(|&intid| intid != 0);
    let mut all = vec![secure, physical, virtual_timer, board.timer.hypervisor];
    all.extend(optional);
    all.push(board.interrupts.maintenance);
    let count = all.len();
    let are_private = all.iter().all(|intid| (16..32).contains(intid));
    all.sort_unstable();
    all.dedup();
    are_private && all.len() == count
}

/// Returns `true` if the boot part can report on the console, or there is none to report on.
fn is_uart(board: &Board) -> bool {
    match board.boot_console() {
        Some(device) => device.known_kind().is_some_and(|kind| kind.code != 0),
        None => board.console.is_none(),
    }
}

/// Place of a key, or of the deepest table on the way to it.
pub(super) fn place(table: &Table, path: &str) -> Span {
    let mut span = 0..0;
    let mut table = Some(table);
    for part in path.split('.') {
        let Some(entry) = table.and_then(|table| table.get(part)) else {
            break;
        };
        span = entry.key.span.clone();
        table = table.and_then(|table| table.table(part));
    }
    span
}
