//! Only recorders and plain memory have several readers

use crate::diagnostic::Report;
use crate::draft::Draft;
use bulkhead_abi::guest::ChannelKind;

crate::rules::declaration::rule! {
    Error, "many-readers",
    "four-slot, ring and mailbox have one reader",
    "Their reader writes its cursor into the shared memory; two readers would take each other's \
     messages. Give each reader a channel of its own, or use a recorder, which any number may read.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for channel in &draft.channels {
        let Some(kind) = channel.kind.given() else {
            continue;
        };
        if matches!(kind.value, ChannelKind::Recorder | ChannelKind::Memory) {
            continue;
        }
        if let Some(second) = channel.readers().nth(1) {
            let message = format!("channel `{}` has several readers", channel.name.value);
            report.add(
                RULE.at(&second.span, message)
                    .here("second reader")
                    .label(&kind.span, "this kind has one")
                    .help("one channel for each reader, or `kind = \"recorder\"`"),
            );
        }
    }
}
