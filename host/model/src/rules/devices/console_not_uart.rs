//! A console device is a UART

use crate::diagnostic::Report;
use crate::draft::Draft;
use bulkhead_abi::device::Class;

crate::rules::declaration::rule! {
    Error, "console-not-uart",
    "a console device is a UART",
    "The guest and the tool speak to a console as to a UART.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    let Some(board) = &draft.board else { return };
    for console in draft
        .partitions
        .iter()
        .filter_map(|partition| partition.console.given())
    {
        let device = board
            .devices
            .iter()
            .find(|device| device.name == console.value);
        if let Some(device) = device.filter(|device| !device.is(Class::Uart)) {
            report.add(
                RULE.at(
                    &console.span,
                    format!("`{}` cannot be a console", device.name),
                )
                .here(format!("this is a `{}`", device.kind))
                .help("name a UART it owns, or \"memory\" or \"emulated\""),
            );
        }
    }
}
