//! The firmware of a board lets the monitor work

use super::board_inconsistent::{is_unreachable, place};
use super::occupied::{Occupied, occupied};
use crate::board::{Board, MemoryRange};
use crate::diagnostic::Report;
use crate::document::Table;
use crate::draft::Section;
use bulkhead_formats::region::Range;

crate::rules::declaration::rule! {
    Error, "board-firmware",
    "firmware can be reached from EL2, starts every core, and leaves open what the monitor uses",
    "The monitor runs at EL2: an HVC would arrive at itself, so firmware is called by SMC, or cores wait in a spin \
     table. An access that EL3 traps never comes back and cannot be found out at boot; the board file says that \
     none is."
}

/// Openings that the monitor relies on.
const NEEDED: [&str; 5] = [
    "gic-interface",
    "counter-frequency",
    "performance-monitor",
    "debug",
    "hypervisor-call",
];

/// Looks at the text of a board file that has the right shape.
pub(crate) fn check(board: &Board, table: &Table, report: &mut Report) {
    let firmware = Section::of(table, "firmware");
    let mut tell = |key: &str, message: String, help: &str| {
        let found = RULE.at(&place(table, key), message).here("here");
        report.add(found.help(help.to_owned()));
    };
    if firmware.number("start").value() == Some(1) {
        tell(
            "firmware.start",
            "firmware that is called by HVC runs at EL2, where the monitor has to run".into(),
            "use firmware at EL3 (\"psci-smc\"), or a boot loader with a spin table",
        );
    }
    let leaves = firmware.texts("leaves").value().unwrap_or_default();
    let open = |what: &&str| leaves.iter().any(|word| word.value == **what);
    for missing in NEEDED.iter().filter(|what| !open(what)) {
        let message = format!("firmware does not leave `{missing}` open to EL2");
        let help = "configure the firmware so that it does, and add the word";
        tell("firmware.leaves", message, help);
    }
    check_release(board, &occupied(board, table), &mut tell);
    for word in leaves
        .iter()
        .filter(|word| !NEEDED.contains(&word.value.as_str()))
    {
        let message = format!("`{}` is nothing that firmware leaves open", word.value);
        report.add(RULE.at(&word.span, message).here("unknown"));
    }
}

fn check_release(board: &Board, hardware: &[Occupied], tell: &mut impl FnMut(&str, String, &str)) {
    let help = "`cpu-release-addr` of each `cpu` node in the board's device tree";
    let spin = board.has_spin_table();
    for (number, core) in board.cores.iter().enumerate() {
        let Some(word) = core.release else {
            if spin && number > 0 {
                let message = format!("core {number} has no `release` word to start it by");
                tell("cores", message, help);
            }
            continue;
        };
        if !spin {
            tell(
                "cores",
                format!("core {number} has a `release` word, but is started by PSCI"),
                "leave it out, or write `firmware.start = \"spin-table\"`",
            );
            continue;
        }
        for fault in release_faults(board, hardware, number, word) {
            let message = format!("the `release` word {word:#x} of core {number} {fault}");
            tell("cores", message, help);
        }
    }
}

/// Bytes of the word that releases a core.
const WORD: u64 = 8;

fn release_faults(board: &Board, hardware: &[Occupied], number: usize, word: u64) -> Vec<String> {
    let mut faults = Vec::new();
    if !word.is_multiple_of(WORD) {
        faults.push("is not at a multiple of 8".into());
    }
    if is_unreachable(board, word) {
        let bits = board.cpu.physical_bits;
        faults.push(format!("lies beyond {bits} bits of address"));
    }
    let mut earlier = board.cores[..number].iter();
    if let Some(other) = earlier.position(|other| other.release == Some(word)) {
        faults.push(format!("is that of core {other}"));
    }
    let range = Range {
        start: word,
        end: word.saturating_add(WORD),
    };
    let registers = hardware.iter().filter(|part| part.range.overlaps(range));
    faults.extend(registers.map(|part| format!("lies in {}", part.name)));
    // RAM below the boot image stays the firmware's.
    let is_handed_out = |ram: &MemoryRange| (ram.base.max(board.load)..ram.end()).contains(&word);
    if board.memory.iter().any(is_handed_out) {
        faults.push("lies in RAM that monitor and partitions get".into());
    }
    faults
}
