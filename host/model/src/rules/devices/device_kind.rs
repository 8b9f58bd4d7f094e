//! A described device is of a kind there is

use crate::diagnostic::Report;
use crate::draft::Draft;
use crate::suggestion::advice;

crate::rules::declaration::rule! {
    Error, "device-kind",
    "a described device is a PCIe function of a kind that the board lists",
    "The board file says what can be plugged in, `[pcie.kind.NAME]`, with its registers. Devices that \
     the board has anyway are not described again.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let Some(board) = &draft.board else { return };
    let kinds = board.pcie.iter().flat_map(|pcie| &pcie.kinds);
    let names: Vec<_> = kinds.map(|kind| kind.name.as_str()).collect();
    for function in &draft.functions {
        let taken = |device: &&crate::board::Device| device.name == function.name.value;
        if let Some(device) = board.devices.iter().find(taken) {
            let message = format!("`{}` has a device `{}` already", board.name, device.name);
            report.add(
                RULE.at(&function.name.span, message)
                    .here("described again")
                    .help("choose another name; to own the board's, list it among `devices`"),
            );
        }
        let Some(kind) = function.kind.given() else {
            continue;
        };
        if board.pcie.is_none() {
            let message = format!(
                "`{}` has no PCIe host bridge: `{}` cannot be plugged in",
                board.name, function.name.value
            );
            report.add(
                RULE.at(&kind.span, message)
                    .here("on this board")
                    .help("choose a board that has one, or leave the device and what uses it out"),
            );
        } else if !names.contains(&kind.value.as_str()) {
            let message = format!(
                "`{}` takes no function of kind `{}`",
                board.name, kind.value
            );
            report.add(
                RULE.at(&kind.span, message)
                    .here("unknown kind")
                    .help(advice(&kind.value, "kind", &names)),
            );
        }
    }
}
