//! A real and an emulated UART are not at one address

use crate::diagnostic::Report;
use crate::draft::Draft;

crate::rules::declaration::rule! {
    Error, "console-conflict",
    "a partition owns no device at the address of its console but that console",
    "Guests find their UART, emulated or real, where the board has its first one. A partition that owns \
     that one has it as its console.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let Some(board) = &draft.board else { return };
    for partition in &draft.partitions {
        let hidden = draft
            .devices(partition)
            .find(|(_, device)| device.covers(board.guest.uart));
        let Some((name, _)) = hidden else { continue };
        let console = partition.console.given();
        let Some(console) = console.filter(|one| one.value != name.value && one.value != "memory")
        else {
            continue;
        };
        let message = format!("the console would hide `{}`", name.value);
        report.add(
            RULE.at(&console.span, message)
                .here("shown to the guest at the same address")
                .label(&name.span, "owned here")
                .help(format!(
                    "write `console = \"{}\"`, or give the device up",
                    name.value
                )),
        );
    }
}
