//! A console is one of those there are

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::suggestion::nearest;

crate::rules::declaration::rule! {
    Error, "unknown-console",
    "a console is `\"memory\"`, `\"emulated\"` or a device of the board",
    "`bulkhead explain console` describes each of them.",
    check
}

/// Consoles that are no devices.
pub(super) const BUILT_IN: &[&str] = &["memory", "emulated"];

fn check(draft: &Draft, report: &mut Report) {
    let Some(board) = &draft.board else { return };
    let devices = board.devices.iter().map(|device| device.name.as_str());
    let names: Vec<_> = BUILT_IN.iter().copied().chain(devices).collect();
    for console in draft
        .partitions
        .iter()
        .filter_map(|partition| partition.console.given())
    {
        if names.contains(&console.value.as_str()) {
            continue;
        }
        let message = format!("there is no console `{}`", console.value);
        let found = RULE.at(&console.span, message).here("unknown console");
        report.add(match nearest(&console.value, names.iter().copied()) {
            Some(name) => found.help(format!("did you mean \"{name}\"?")),
            None => found.help("one of \"memory\", \"emulated\", or a UART it owns"),
        });
    }
}
