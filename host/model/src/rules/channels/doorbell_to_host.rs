//! The host has no doorbell

use crate::diagnostic::Report;
use crate::draft::{Draft, HOST};

crate::rules::declaration::rule! {
    Error, "doorbell-to-host",
    "a channel that only the host reads has no doorbell",
    "The host is outside of the machine and looks at recorders by itself.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for channel in &draft.channels {
        let mut readers = channel.readers().peekable();
        if readers.peek().is_none() || readers.any(|reader| reader.value != HOST) {
            continue;
        }
        let bells = [&channel.doorbell, &channel.reply_doorbell];
        for doorbell in bells.into_iter().filter_map(|bell| bell.given()) {
            report.add(
                RULE.at(
                    &doorbell.span,
                    "the host neither rings doorbells nor receives them",
                )
                .here("only the host reads")
                .help("leave the doorbell out"),
            );
        }
    }
}
