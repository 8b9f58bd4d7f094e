//! The machine that emulates a board

use super::board_inconsistent::place;
use crate::board::{Board, Emulator};
use crate::diagnostic::Report;
use crate::document::Table;

crate::rules::declaration::rule! {
    Error, "board-emulator",
    "the emulator's table names a program, its version and a machine, and leaves cores and memory to the tool",
    "The tool adds the number of cores, the size of memory, images and consoles. An option that names them again would make \
     another machine than the plan is for."
}

/// Options that the tool sets by itself.
const OF_THE_TOOL: [&str; 9] = [
    "M", "machine", "cpu", "smp", "m", "kernel", "dtb", "icount", "accel",
];

/// Looks at a board that has the right shape.
pub(crate) fn check(board: &Board, table: &Table, report: &mut Report) {
    let Some(emulator) = &board.emulator else {
        return;
    };
    for (key, message) in faults(emulator) {
        let at = place(table, &format!("emulator.{key}"));
        report.add(RULE.at(&at, message).here("does not fit"));
    }
}

fn faults(emulator: &Emulator) -> Vec<(&'static str, String)> {
    let mut faults = Vec::new();
    let words = [
        ("program", Some(&emulator.program)),
        ("machine", Some(&emulator.machine)),
        ("cpu", emulator.cpu.as_ref()),
    ];
    for (key, word) in words {
        let is_word = |word: &&String| word.is_empty() || word.contains(char::is_whitespace);
        if word.filter(is_word).is_some() {
            faults.push((key, "not one word".into()));
        }
    }
    let parts = emulator.minimum_version.split('.');
    if parts.clone().count() > 3 || parts.into_iter().any(|part| part.parse::<u32>().is_err()) {
        let message = format!(
            "`{}` is no version: numbers with points between",
            emulator.minimum_version
        );
        faults.push(("minimum_version", message));
    }
    let twice = |option: &&String| {
        let name = option
            .strip_prefix('-')
            .map(|name| name.trim_start_matches('-'));
        name.is_some_and(|name| OF_THE_TOOL.contains(&name))
    };
    if let Some(option) = emulator.options.iter().find(twice) {
        faults.push(("options", format!("the tool itself sets `{option}`")));
    }
    faults
}
