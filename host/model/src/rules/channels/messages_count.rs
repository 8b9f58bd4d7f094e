//! Rings and recorders say how much they hold, others do not

use crate::diagnostic::Report;
use crate::draft::{ChannelDraft, Draft};
use bulkhead_abi::guest::ChannelKind;

crate::rules::declaration::rule! {
    Error, "messages-count",
    "rings and recorders say how many messages they hold; the other kinds have a fixed number",
    "Four-slot has four slots, a mailbox one, plain memory is what it is.",
    check
}

fn check(draft: &Draft, report: &mut Report) {
    draft
        .channels
        .iter()
        .for_each(|channel| check_one(channel, report));
}

fn check_one(channel: &ChannelDraft, report: &mut Report) {
    let Some(kind) = channel.kind.given() else {
        return;
    };
    let counted = matches!(kind.value, ChannelKind::Ring | ChannelKind::Recorder);
    let name = &channel.name.value;
    if counted && channel.messages.is_absent() {
        report.add(
            RULE.at(
                &channel.name.span,
                format!("channel `{name}` does not say how much it holds"),
            )
            .label(&kind.span, "this kind must say")
            .help("add `messages = 256`"),
        );
    }
    let Some(messages) = channel.messages.given() else {
        return;
    };
    if !counted {
        report.add(
            RULE.at(
                &messages.span,
                format!("channel `{name}` has a fixed number of messages"),
            )
            .here("not for this kind")
            .label(&kind.span, "the kind")
            .help("leave `messages` out"),
        );
    } else if messages.value == 0 {
        let found = RULE.at(
            &messages.span,
            format!("channel `{name}` would hold nothing"),
        );
        report.add(
            found
                .here("at least 1")
                .help("for example `messages = 256`"),
        );
    }
}
