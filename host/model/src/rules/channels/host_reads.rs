//! The host reads recorders only

use crate::diagnostic::Report;
use crate::draft::{Draft, HOST};
use bulkhead_abi::guest::ChannelKind;

crate::rules::declaration::rule! {
    Error, "host-reads",
    "the host reads recorders only",
    "A reader of any other kind writes a cursor, and the machine must not wait for the host. A recorder \
     is read without a trace; a reader that is too slow loses records, and knows how many.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    for channel in &draft.channels {
        let Some(kind) = channel.kind.given() else {
            continue;
        };
        let host = channel.readers().find(|reader| reader.value == HOST);
        if let Some(host) = host.filter(|_| kind.value != ChannelKind::Recorder) {
            report.add(
                RULE.at(&host.span, "the host reads recorders only")
                    .here("reader")
                    .label(&kind.span, "not this kind")
                    .help("write `kind = \"recorder\"`"),
            );
        }
    }
}
