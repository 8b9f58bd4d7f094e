//! The devices named exist

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::suggestion::advice;

crate::rules::declaration::rule! {
    Error, "unknown-device",
    "the devices named are the board's or described",
    "Devices are named as in the board file, `[device.NAME]`, where their addresses and interrupts \
     stand, or as the PCIe functions of the description.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let Some(board) = &draft.board else { return };
    let functions = draft.functions.iter();
    let functions = functions.map(|function| function.name.value.as_str());
    let names: Vec<_> = board
        .devices
        .iter()
        .map(|device| device.name.as_str())
        .chain(functions)
        .collect();
    let lists = draft
        .partitions
        .iter()
        .filter_map(|partition| partition.devices.given());
    for name in lists.flat_map(|list| &list.value) {
        if !names.contains(&name.value.as_str()) {
            report.add(
                RULE.at(
                    &name.span,
                    format!("`{}` has no device `{}`", board.name, name.value),
                )
                .here("unknown device")
                .help(advice(&name.value, "device", &names)),
            );
        }
    }
}
